"""Sweeps: repeated runs of a case with varied settings, with the results in one dataset."""
