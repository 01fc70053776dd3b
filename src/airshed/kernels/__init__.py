"""C++ kernels: generated, compiled once, called without Python's interpreter lock."""
