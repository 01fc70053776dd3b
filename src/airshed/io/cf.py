"""The layout of an output file, by the CF conventions 1.11: as data, and as a netCDF-4 file.

source  Eaton et al. 2023, NetCDF Climate and Forecast Metadata Conventions 1.11
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

import netCDF4
import numpy as np
from numpy.typing import NDArray

from airshed.core.version import __version__
from airshed.fields.spec import FieldSpec
from airshed.grid import Grid
from airshed.grid.window import Window
from airshed.io.hdf5 import hdf5

CONVENTIONS: Final = "CF-1.11"
_ZLIB: Final[dict[str, Any]] = {"zlib": True, "complevel": 1, "shuffle": True}
_CHUNK_BYTES: Final = 32 * 1024

Compression = Literal["zlib", "none"]


@dataclass(frozen=True)
class Variable:
    """A variable of a file; ``data`` are its values, None where each record brings its own."""

    name: str
    dtype: Literal["f4", "f8"]
    dims: tuple[str, ...]
    attributes: Mapping[str, str | float]
    data: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Description:
    """All that a file holds but its records; the dimension that grows with them, "time", has the size None."""

    dims: Mapping[str, int | None]
    variables: tuple[Variable, ...]
    attributes: Mapping[str, str]

    def shape(self, variable: Variable) -> tuple[int, ...]:
        """Return the shape of a variable, of one record where it has records."""
        sizes = (self.dims[dim] for dim in variable.dims)
        return tuple(size for size in sizes if size is not None)


@dataclass(frozen=True)
class Layout:
    """What an output file is to hold: chosen layers of chosen fields on a grid.

    levels      numbers of the layers
    start       the time from which seconds are counted, UTC
    attributes  global ones, beside those that every file has
    """

    grid: Grid
    levels: tuple[int, ...]
    fields: tuple[FieldSpec, ...]
    start: np.datetime64
    attributes: Mapping[str, str]

    @property
    def whole(self) -> Window:
        """All columns of the grid."""
        return Window.whole(*self.grid.shape[1:])

    def shape(self, spec: FieldSpec, window: Window) -> tuple[int, ...]:
        """Return the shape of one record of a field in a window."""
        rows, columns = window.shape
        return spec.shape({"level": len(self.levels), "lat": rows, "lon": columns})

    def describe(self, *, complete: bool, window: Window | None = None) -> Description:
        """Return what a file of these columns holds; a run that is not ``complete`` is marked as interrupted."""
        window = window or self.whole
        grid, levels = self.grid, list(self.levels)
        faces = np.stack([grid.layer_faces[:-1], grid.layer_faces[1:]], axis=1)
        rows, columns = window.shape
        south = grid.lat_faces[window.south : window.north + 1]
        west = grid.lon_faces[window.west : window.east + 1]
        variables = [
            self._time(),
            *_axis("level", grid.level[levels], faces[levels], _LEVEL),
            *_axis("lat", grid.lat[window.rows], np.stack([south[:-1], south[1:]], axis=1), _LAT),
            *_axis("lon", grid.lon[window.columns], np.stack([west[:-1], west[1:]], axis=1), _LON),
            *(_field(spec) for spec in self.fields),
        ]
        attributes = {
            "Conventions": CONVENTIONS,
            "source": f"Airshed {__version__}",
            **self.attributes,
            "history": f"written by airshed {__version__} run",
            "airshed_run": "complete" if complete else "interrupted",
        }
        dims = {"time": None, "bnds": 2, "level": len(levels), "lat": rows, "lon": columns}
        return Description(dims, tuple(variables), attributes)

    def _time(self) -> Variable:
        attributes = {
            "standard_name": "time",
            "long_name": "time (UTC)",
            "units": f"seconds since {np.datetime_as_string(self.start, unit='s')}Z",
            "calendar": "proleptic_gregorian",
            "units_metadata": "leap_seconds: none",
            "axis": "T",
        }
        return Variable("time", "f8", ("time",), attributes)


@cache
def own_names() -> frozenset[str]:
    """Return the names of the dimensions and variables that every file has of its own, which no field may have."""
    grid = Grid.regular((0.0, 1.0), (0.0, 1.0), 1.0, (100.0,))
    described = Layout(grid, (0,), (), np.datetime64(0, "s"), {}).describe(complete=True)
    return frozenset({*described.dims, *(variable.name for variable in described.variables)})


@contextmanager
def create(path: Path, description: Description, compression: Compression = "zlib") -> Iterator[netCDF4.Dataset]:
    """Give a new netCDF-4 file, open for writing, with its coordinates and empty variables.

    In the block no other thread is in the library, see :mod:`airshed.io.hdf5`.
    """
    with hdf5(), netCDF4.Dataset(path, "w", format="NETCDF4") as file:
        file.setncatts(description.attributes)
        for name, size in description.dims.items():
            file.createDimension(name, size)
        for variable in description.variables:
            _add(file, variable, description.shape(variable), _ZLIB if compression == "zlib" else {})
        yield file


def _add(file: netCDF4.Dataset, variable: Variable, shape: tuple[int, ...], compression: Mapping[str, Any]) -> None:
    options: dict[str, Any] = {}
    if variable.name == "time":
        options = {"chunksizes": (512,)}
    elif variable.data is None:
        options = {"chunksizes": (1, *_chunks(shape)), "fill_value": False, **compression}
    made = file.createVariable(variable.name, variable.dtype, variable.dims, **options)
    made.setncatts(variable.attributes)
    if variable.data is not None:
        made[:] = variable.data


_LEVEL: Final = {
    "standard_name": "height",
    "long_name": "height of the layer's centre above the ground",
    "units": "m",
    "positive": "up",
    "axis": "Z",
}
_LAT: Final = {"standard_name": "latitude", "long_name": "latitude", "units": "degrees_north", "axis": "Y"}
_LON: Final = {"standard_name": "longitude", "long_name": "longitude", "units": "degrees_east", "axis": "X"}


def _axis(
    name: str, centres: NDArray[np.float64], bounds: NDArray[np.float64], text: Mapping[str, str]
) -> tuple[Variable, Variable]:
    return (
        Variable(name, "f8", (name,), {**text, "bounds": f"{name}_bnds"}, centres),
        Variable(f"{name}_bnds", "f8", (name, "bnds"), {}, bounds),
    )


def _field(spec: FieldSpec) -> Variable:
    attributes: dict[str, str | float] = {
        "long_name": spec.text, "units": spec.unit, "cell_methods": "time: point",
    }  # fmt: skip
    if spec.unit == "K":
        attributes["units_metadata"] = "temperature: on_scale"
    if spec.standard_name is not None:
        attributes["standard_name"] = spec.standard_name
    if spec.molar_mass is not None:
        attributes["molar_mass"] = spec.molar_mass  # [kg mol-1]; turns the mixing ratio into a mass concentration
    return Variable(spec.name, "f4", ("time", *spec.dims), attributes)


def _chunks(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Whole maps of a few levels each: maps read fast, and a chunk stays in the processor's cache while compressed."""
    if len(sizes) < 3:
        return sizes
    map_bytes = 4 * sizes[1] * sizes[2]
    return (min(sizes[0], max(1, _CHUNK_BYTES // map_bytes)), *sizes[1:])
