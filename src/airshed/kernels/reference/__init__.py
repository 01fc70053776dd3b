"""Reference implementation of the compiled kernels: the same step in plain NumPy, written from the equations.

All arrays are (species, level, lat, lon) or parts of it, in double; nothing is packed, shared out or factored. Reading
order: ``transport`` (limited face fluxes and their budgets), ``column`` (rate constants, tri-diagonal block
Gauss-Seidel), ``step`` (the two-step formula), ``trial`` (random inputs for a kernel and its reference). Chemistry of
independent cells: ``rosenbrock`` (one cell, a dense matrix), ``cells`` (the compiled solver on plain arrays). It exists
to be compared with and to be read; no run calls it. ``air.programs.reference`` runs whole programs with it.
"""
