"""The implicit part of a step in a column: sweeps and operators, their adjoints, and the reference in NumPy."""
