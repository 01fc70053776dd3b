"""The CUDA backend: the code of the CPU on a GPU or a shim for tests; a thread has a level of a column, or a cell."""
