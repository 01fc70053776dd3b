"""Kernels on an emulated processor of another kind: see README.md."""
