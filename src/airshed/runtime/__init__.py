"""Runs models: the clock, output, restarts, and what the commands bench, verify and box do."""
