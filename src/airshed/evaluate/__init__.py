"""Evaluation of runs against observations: pairing, statistics, ensemble scores, and the report."""
