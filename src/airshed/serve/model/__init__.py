"""The thread of the models: its requests, sessions, their simulations on all ranks, and their states on disk."""
