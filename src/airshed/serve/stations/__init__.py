"""Observations of stations next to the model: series, values and scores of a session so far."""
