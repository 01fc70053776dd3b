"""The model grid: columns on the sphere and layers above ground, with the metrics that fluxes need."""

from airshed.grid.grid import Grid, default_layers
from airshed.grid.mapping import GridMapping, LonLat, Metrics

__all__ = ["Grid", "GridMapping", "LonLat", "Metrics", "default_layers"]
