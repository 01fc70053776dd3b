"""Checkpoints of a run for its backward pass: plans, stores, the executor of plans, and commits."""
