"""Runs models: the clock, the simulation, and what it leaves on disk."""
