"""The adjoint of a run: what is kept of the run forward, and where, so that it can be taken back."""
