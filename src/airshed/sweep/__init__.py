"""Sweeps: a case run many times with varied settings, and the results gathered in one dataset."""
