"""The tangent of accepted steps, made on demand and apart from the solver."""
