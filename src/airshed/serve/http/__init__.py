"""HTTP and WebSocket: the server, its routes and connections."""
