"""Generated SIMD code, its derivatives and NumPy references, independent of the names of species.

Reading order: ``backend`` (the interface to other packages), ``layout`` and ``step.arguments`` (arrays in memory and
inputs of a step), ``operators``, ``rates`` and ``schedule`` (the input of code generation), ``abi`` (structures that
Python and C++ share), ``cpp`` (the writer of C++), ``transport``, ``column``, ``cells`` (each with its adjoint and its
reference implementation), ``step`` (transport and columns in one pass), ``toolchain`` and ``cache`` (compiler and
stored libraries), ``backends/cpu`` (kernels, threads, calls).
"""
