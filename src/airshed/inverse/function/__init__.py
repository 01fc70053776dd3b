"""A run of a case as a differentiable function of chosen inputs."""
