"""The model grid: longitude, latitude and layers above ground, with the metrics that fluxes need."""

from airshed.grid.grid import Grid
from airshed.grid.layers import default_layers

__all__ = ["Grid", "default_layers"]
