"""Benchmarks of the live server: messages of a client, and many readers of a model; see docs/how-to/serve.md."""
