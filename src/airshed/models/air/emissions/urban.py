"""Spreads the inhabitants of cities over the land around them."""

from math import erf
from typing import Final

import numpy as np
from numpy.typing import NDArray

from airshed.grid.coverage import SPACING, FineWindow
from airshed.models.air.emissions.places import Cities

Array = NDArray[np.float64]

CITY_DENSITY: Final = 4000.0
"""Inhabitants per km2 in the middle of a city; with the population it sets how wide the city is."""


def spread(cities: Cities, window: FineWindow, share: Array) -> Array:
    """Inhabitants per cell of the country's land, each city a Gaussian with 4000 inhabitants per km2 in its middle.

    The width follows from the population P: sigma = sqrt(P / (2 pi 4000 km-2)); a cell receives the integral over its
    extent, times the country's ``share`` of it, and each city in the window keeps all of its people. A city without
    land of the country around it, on an island too small for the map, stays in its own cell.
    """
    field = np.zeros((window.nlat, window.nlon))
    sigma = np.sqrt(np.maximum(cities.population, 1.0) / (2.0 * np.pi * CITY_DENSITY))
    reach = np.ceil(3.0 * sigma / min(window.cell_size)).astype(int)
    for half in np.unique(reach):  # cities whose kernels reach equally far are spread together
        chosen = reach == half
        group = Cities(cities.lon[chosen], cities.lat[chosen], cities.population[chosen])
        _add(field, group, sigma[chosen], int(half), window, share)
    return field


def _add(field: Array, cities: Cities, sigma: Array, half: int, window: FineWindow, share: Array) -> None:
    rows, columns = window.cells(cities.lon, cities.lat)
    present = (rows >= 0) & (rows < window.nlat) & (columns >= 0) & (columns < window.nlon)
    rows, columns = rows[present], columns[present]
    lon, lat, people, sigma = (values[present] for values in (cities.lon, cities.lat, cities.population, sigma))
    row, column = rows[:, None] + np.arange(-half, half + 1), columns[:, None] + np.arange(-half, half + 1)
    along = _integral(row + window.south, lat, sigma / window.cell_size[1]) * ((row >= 0) & (row < window.nlat))
    across = _integral(column + window.west, lon, sigma / window.cell_size[0])
    across *= (column >= 0) & (column < window.nlon)
    row, column = np.clip(row, 0, window.nlat - 1)[:, :, None], np.clip(column, 0, window.nlon - 1)[:, None, :]
    weight = along[:, :, None] * across[:, None, :] * share[row, column]
    homeless = weight.sum(axis=(1, 2)) == 0.0
    weight[homeless, half, half] = 1.0
    weight *= (people / weight.sum(axis=(1, 2)))[:, None, None]
    np.add.at(field, (row, column), weight)


def _integral(cell: NDArray[np.int64], centre: Array, sigma: Array) -> Array:
    """Integral over neighbouring cells of Gaussians of width sigma [cells] around ``centre`` [degrees], as `cell`."""
    faces = np.concatenate([cell, cell[:, -1:] + 1], axis=1)
    scaled = (faces - (centre / SPACING)[:, None]) / (np.sqrt(2.0) * sigma[:, None])
    below = np.fromiter(map(erf, scaled.ravel().tolist()), np.float64, scaled.size)
    return np.asarray(0.5 * np.diff(below.reshape(scaled.shape), axis=1))
