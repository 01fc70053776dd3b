"""Sources of gridded emission for tests, from datasets and files."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import xarray as xr

from airshed.grid import Grid
from airshed.models.air.emissions import FieldSettings, GriddedContext, GriddedEmissions, read_gridded
from airshed.models.air.emissions.targets import Targets


def gridded(
    data: xr.Dataset | Path, grid: Grid, start: np.datetime64, species: Iterable[str] | None = None,
    compounds: Iterable[str] = (), **settings: object,
) -> GriddedEmissions:  # fmt: skip
    """Return the one source of a file without sectors."""
    context = GriddedContext(Targets(None if species is None else tuple(species), compounds=tuple(compounds)))
    (source,) = read_gridded([data], grid, start, FieldSettings(**settings), context)
    return source
