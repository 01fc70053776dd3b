"""Scenarios: the names of changed runs, states before changes, and the effect of a change in numbers."""
