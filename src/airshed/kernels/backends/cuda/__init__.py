"""The CUDA backend: the code of the CPU with a warp in the place of a pack, on a GPU, or on a shim for tests."""
