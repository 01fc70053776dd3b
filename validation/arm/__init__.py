"""Kernels of another processor, emulated: see README.md."""
