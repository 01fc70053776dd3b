"""What one of several ranks needs of ERA5 files: the data around its window, and what only the whole tells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from airshed.air.meteorology.air_mass import humidity_plane
from airshed.air.meteorology.period import ForcingTimes
from airshed.air.meteorology.points import Points, covering
from airshed.air.meteorology.provenance import era5_provenance
from airshed.air.meteorology.window import Area
from airshed.core.errors import DataError
from airshed.grid import Grid
from airshed.grid.window import Window
from airshed.io.era5 import open_era5
from airshed.parallel.communicator import Communicator

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Era5Data:
    """The fields of ERA5 around a window of the grid, in memory.

    period    the instants of the case, and their places in the fields
    lat, lon  [degrees]  of the points around the whole grid
    levels    numbers of model levels, or pressures [Pa], from the ground up
    fields    (time, level, lat, lon) or less, of the points around the window; those in ``static`` have no time
    land      [1]  land fraction of the whole grid's cells that the data tells; None where it does not
    air_mass  [K]  at the points around the whole grid, see ``humidity_plane``; None where the data has a temperature
    """

    period: ForcingTimes
    lat: Array
    lon: Array
    levels: NDArray[Any]
    on_model_levels: bool
    fields: Mapping[str, NDArray[np.floating]]
    static: frozenset[str]
    land: Array | None
    air_mass: Array | None
    provenance: Mapping[str, str]

    @classmethod
    def of(
        cls, dataset: xr.Dataset, grid: Grid, start: np.datetime64, length: float | None, window: Window | None
    ) -> "Era5Data":
        """Return the data for a window, or for the whole grid; of a dataset that is not read yet no more is read.

        raises  DataError where the data does not cover the grid or the time, or lacks what heights need
        """
        return cls.parts(dataset, grid, start, length, [window])[0]

    @classmethod
    def parts(
        cls, dataset: xr.Dataset, grid: Grid, start: np.datetime64, length: float | None,
        windows: Sequence[Window | None],
    ) -> "list[Era5Data]":  # fmt: skip
        """Return the data for each of several windows."""
        period = ForcingTimes.of(dataset["time"].values, start, length)
        _require_pressure(dataset)
        first, last = period.source[0], period.source[-1]
        # a rate between two hours needs the hour after the last instant too
        around = covering(dataset, grid).isel(time=slice(first, last + 2))
        period_here = replace(period, source=tuple(place - first for place in period.source))
        lat, lon = (np.asarray(around[name].values, dtype=np.float64) for name in ("latitude", "longitude"))
        whole = cls(
            period_here, lat, lon, np.asarray(around["level"].values), around.attrs["level_kind"] == "model", {},
            frozenset(str(name) for name in around.data_vars if "time" not in around[name].dims),
            _land_of(around, grid), None if "t" in around else humidity_plane(around, period_here.source),
            era5_provenance(dataset, period.held),
        )  # fmt: skip
        places = [Points(lat, lon, Area.of(grid, window)).places for window in windows]
        return [replace(whole, fields=_fields_of(around.isel(where))) for where in places]


def read_part(
    files: Sequence[Path], grid: Grid, start: np.datetime64, length: float | None, windows: Sequence[Window],
    ranks: Communicator, strategy: Literal["parallel", "root"],
) -> Era5Data:  # fmt: skip
    """Return the data of files for this rank's window; all ranks call it together.

    windows   of all ranks, by rank
    strategy  "parallel": each rank opens the files and reads what it needs; "root": the first one reads everything, and
              sends each rank what it needs
    raises    DataError as ``open_era5`` and ``Era5Data.of``; under "root" on the first rank
    """
    if strategy == "parallel":
        with open_era5(files) as dataset:
            return Era5Data.of(dataset, grid, start, length, windows[ranks.rank])
    parts: list[Era5Data] | None = None
    if ranks.rank == 0:
        with open_era5(files) as dataset:
            parts = Era5Data.parts(dataset.load(), grid, start, length, windows)
    mine: Era5Data = ranks.scatter(parts)
    return mine


def _fields_of(dataset: xr.Dataset) -> dict[str, NDArray[np.floating]]:
    """Return the values of all fields, contiguous.

    Archives pack values into 16 bits; single precision holds them in half the memory of what xarray makes of them.
    """
    return {
        str(name): dataset[name].values.astype(np.float32 if dataset[name].ndim == 4 else np.float64)
        for name in dataset.data_vars
    }


def _require_pressure(dataset: xr.Dataset) -> None:
    """Raise DataError unless the heights of the levels can be found."""
    if dataset.attrs["level_kind"] == "model" and not {"sp", "lnsp"} & set(dataset):
        wind = dataset["u"].attrs["file"]
        raise DataError(f"{wind} has model levels, which need the surface pressure: add a file with sp or lnsp")
    if not {"sp", "lnsp", "z"} & set(dataset):
        raise DataError("pressure levels need the height of the ground: add a file with sp (surface pressure) or z")


def _land_of(dataset: xr.Dataset, grid: Grid) -> Array | None:
    """Return the land fraction of the grid's cells that the data tells, None where it does not."""
    if "lsm" not in dataset:
        return None
    mask = dataset["lsm"].isel(time=0) if "time" in dataset["lsm"].dims else dataset["lsm"]
    lat, lon = (np.asarray(dataset[name].values, dtype=np.float64) for name in ("latitude", "longitude"))
    cells = Points(lat, lon, Area.of(grid, None)).cells(np.asarray(mask.values, dtype=np.float64))
    return np.clip(cells, 0.0, 1.0)
