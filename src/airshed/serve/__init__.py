"""The live server: a running model behind HTTP and WebSocket, for browsers and programs."""
