"""Generated SIMD code, its derivatives and NumPy references, independent of the names of species.

Reading order: ``backend`` (the seam: what other packages use), ``layout`` and ``step.data`` (arrays in memory, inputs
of a step), ``operators``, ``rates`` and ``schedule`` (what code is generated from), ``abi`` (structures that Python and
C++ share), ``cpp`` (the writer of C++), ``transport``, ``column``, ``cells`` (each with its adjoint and its reference),
``step`` (transport and column as one pass), ``toolchain`` and ``cache`` (compiler, stored libraries), ``backends/cpu``
(kernels, threads, calls).
"""
