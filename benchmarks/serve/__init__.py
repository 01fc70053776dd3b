"""The live server: messages of one client, and many readers of one model; see docs/how-to/serve.md."""
