"""The model grid: columns on the sphere, layers above ground, and the metrics for fluxes."""

from airshed.grid.grid import Grid, default_layers
from airshed.grid.mapping import GridMapping, LonLat, Metrics

__all__ = ["Grid", "GridMapping", "LonLat", "Metrics", "default_layers"]
