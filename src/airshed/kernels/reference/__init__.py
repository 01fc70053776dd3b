"""The slow, obvious twin of the compiled kernels: the same step in plain NumPy, written from the equations.

All arrays are (species, level, lat, lon) or parts of it, in double; nothing is packed, shared out or factored. Reading
order: ``transport`` (limited face fluxes and their budgets), ``column`` (rate constants, tri-diagonal block
Gauss-Seidel), ``step`` (the two-step formula), ``trial`` (random inputs for a kernel and its twin). Chemistry of
independent cells: ``rosenbrock`` (one cell, a dense matrix), ``cells`` (the compiled solver on plain arrays). It exists
to be compared with and to be read; nothing in a run calls it.
"""
