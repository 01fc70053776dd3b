"""Airshed: a parallel, differentiable, steerable air-quality model."""

__version__ = "0.1.0"
