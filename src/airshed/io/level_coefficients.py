"""Half-level coefficients of the 137 model levels of ECMWF's Integrated Forecasting System."""

import csv
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from airshed.core.errors import DataError

Array = NDArray[np.float64]

LEVELS = 137


@cache
def half_level_coefficients() -> tuple[Array, Array]:
    """Return a [Pa] and b [1] of the half levels 0 (top) to 137 (ground), (138,): p = a + b ps.

    source  ECMWF, L137 model level definitions, as in the pv array of its GRIB fields
    """
    text = files("airshed.io").joinpath("data/l137_half_levels.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))
    a = np.array([float(row["a_pa"]) for row in rows])
    b = np.array([float(row["b"]) for row in rows])
    return a, b


def full_level_pressure(levels: NDArray[np.int64], surface_pressure: Array) -> Array:
    """Return the pressure [Pa] of model levels, (level, ...): the mean of the half levels above and below.

    reads  levels            numbers from 1 (top) to 137 (at the ground)
           surface_pressure  [Pa]  (...)
    raises  DataError for numbers that the 137-level model does not have
    """
    if levels.min() < 1 or levels.max() > LEVELS:
        raise DataError(f"model levels {levels.min()} to {levels.max()}: the ERA5 model has levels 1 to {LEVELS}")
    a, b = half_level_coefficients()
    middle_a = 0.5 * (a[levels - 1] + a[levels])
    middle_b = 0.5 * (b[levels - 1] + b[levels])
    shape = (-1,) + (1,) * surface_pressure.ndim
    return np.asarray(middle_a.reshape(shape) + middle_b.reshape(shape) * surface_pressure)
