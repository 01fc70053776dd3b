"""Runs of models: the clock, the simulation, and its files."""
