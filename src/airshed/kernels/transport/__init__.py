"""Transport through faces: the compiled scheme, its adjoint, and the reference implementation in NumPy."""
