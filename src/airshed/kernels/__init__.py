"""Generated SIMD code and its slow NumPy twin; knows terms and layouts, no chemistry names.

Reading order: ``schedule`` (in which order species are solved), ``rates`` (rate constants as coefficient times shared
functions), ``terms`` (production and loss as factored sums), ``emit`` (C++ text), ``pipeline`` (all stages, timed),
``layout`` (arrays in memory), ``stepper`` (one time step on threads), ``reference`` (the same in NumPy).
"""
