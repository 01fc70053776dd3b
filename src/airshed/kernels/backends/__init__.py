"""Backends: compiled code on one kind of processor each; models enter them through :mod:`airshed.kernels.backend`."""
