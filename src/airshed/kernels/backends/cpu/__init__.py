"""The CPU backend: C++ that is generated, compiled, and called on threads; ``backend`` is its interface."""
