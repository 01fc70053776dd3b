"""The implicit part of a step in columns: sweeps and operators, their adjoints, and the reference implementation."""
