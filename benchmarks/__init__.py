"""Benchmarks of `airshed bench`: speed and work of a run, chemistry, input and output, ranks, redistribution."""
