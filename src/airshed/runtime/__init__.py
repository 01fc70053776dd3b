"""Runs models: the clock, the simulation, and its files."""
