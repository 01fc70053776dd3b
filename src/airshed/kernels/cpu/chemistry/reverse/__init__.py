"""Accepted steps of a Rosenbrock method in reverse: compiled adjoints, made on demand and apart from the solver."""
