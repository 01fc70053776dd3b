"""Generated SIMD code and its slow reference implementation; knows terms and layouts, no chemistry names.

Reading order: ``backend`` and ``cell_backend`` (what a model asks), ``layout`` (arrays in memory), ``step`` (what all
backends share: what a step is given, in which order species are solved, rate constants, operators), ``cpu`` (one
backend: C++ text, compiler, calls on threads), ``chemistry`` (cells by themselves), ``reference`` (the same in NumPy).
"""
