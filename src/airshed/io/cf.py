"""Layout of an output file by the CF conventions 1.11: as data, and as a netCDF-4 file.

source  Eaton et al. 2023, NetCDF Climate and Forecast Metadata Conventions 1.11
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import netCDF4
import numpy as np
from numpy.typing import ArrayLike, NDArray

from airshed.core.fields import FieldSpec
from airshed.core.version import __version__
from airshed.grid.axes import GRID_MAPPING, Attributes, Axes, Coordinate
from airshed.grid.box import Box
from airshed.io.hdf5 import hdf5

CONVENTIONS: Final = "CF-1.11"
_ZLIB: Final[dict[str, Any]] = {"zlib": True, "complevel": 1, "shuffle": True}
_CHUNK_BYTES: Final = 32 * 1024

Compression = Literal["zlib", "none"]
Statistic = Literal["point", "mean", "maximum", "minimum"]
"""Statistic of a record, by the names of CF cell methods: at its time, or over the interval that ends there."""

TIME, TIME_BOUNDS = "time", "time_bnds"
CLOCK: Final = (TIME, TIME_BOUNDS)
"""Variables of the time of a record; all others along time are fields."""


@dataclass(frozen=True)
class Variable:
    """Variable of a file; ``data`` are its values, None if each record has its own."""

    name: str
    dtype: Literal["f4", "f8"]
    dims: tuple[str, ...]
    attributes: Attributes
    data: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Description:
    """Content of a file except its records; the unlimited dimension "time" has size None."""

    dims: Mapping[str, int | None]
    variables: tuple[Variable, ...]
    attributes: Mapping[str, str]

    def shape(self, variable: Variable) -> tuple[int, ...]:
        """Return the shape of a variable, per record if it has records."""
        sizes = (self.dims[dim] for dim in variable.dims)
        return tuple(size for size in sizes if size is not None)


@dataclass(frozen=True)
class Layout:
    """Specification of an output file: selected parts of fields on the axes of a domain.

    selection        selected indices along undivided dimensions; all if a dimension is not named
    start       reference time of the seconds, UTC
    every       seconds between records, which are at its multiples
    statistic   meaning of the values of a record; unless it is "point", records have time bounds
    attributes  global ones, in addition to those of every file
    history     lines on the history of the run
    """

    axes: Axes
    selection: Mapping[str, Sequence[int]]
    fields: tuple[FieldSpec, ...]
    start: np.datetime64
    attributes: Mapping[str, str]
    history: Sequence[str] = ()
    every: float = 1.0
    statistic: Statistic = "point"

    @property
    def whole(self) -> Box:
        """All cells along the divided dimensions."""
        return self.axes.whole

    def sizes(self, box: Box) -> dict[str, int]:
        """Return the number of cells along each dimension, in a box of the divided ones."""
        selection = {dim: len(indices) for dim, indices in self.selection.items()}
        return {**self.axes.sizes, **selection, **dict(zip(self.axes.divided, box.shape, strict=True))}

    def shape(self, spec: FieldSpec, box: Box) -> tuple[int, ...]:
        """Return the shape of one record of a field in a box."""
        return spec.shape(self.sizes(box))

    def clock(self, seconds: ArrayLike) -> dict[str, NDArray[np.float64]]:
        """Return the values of the time variables, for one record or several: the time, and bounds of intervals.

        The end of an interval is bitwise equal to the start of the next one.
        """
        end = np.asarray(seconds, np.float64)
        if self.statistic == "point":
            return {TIME: end}
        begin = (np.round(end / self.every) - 1.0) * self.every
        return {TIME: end, TIME_BOUNDS: np.stack([begin, end], axis=-1)}

    def describe(self, *, complete: bool, box: Box | None = None) -> Description:
        """Return the description of a file of these cells; a run that is not ``complete`` is marked as interrupted."""
        box = box or self.whole
        places = [variable for each in self.axes.coordinates for variable in self._coordinate(each, box)]
        auxiliary = [each for each in self.axes.coordinates if each.auxiliary]
        attributes = {
            "Conventions": CONVENTIONS,
            "source": f"Airshed {__version__}",
            **self.attributes,
            "history": "\n".join([f"written by airshed {__version__} run", *self.history]),
            "airshed_run": "complete" if complete else "interrupted",
        }
        bounded = self.statistic != "point" or any(each.bounds is not None for each in self.axes.coordinates)
        bounds = {"bnds": 2} if bounded else {}
        dims = {"time": None, **bounds, **self.sizes(box)}
        fields = (
            _field(
                spec, [each.name for each in auxiliary if set(each.dims) <= set(spec.dims)], self.statistic, self.axes
            )
            for spec in self.fields
        )
        if self.axes.mapping:
            places.append(Variable(GRID_MAPPING, "f8", (), self.axes.mapping, np.zeros(())))
        return Description(dims, (*self._time(), *places, *fields), attributes)

    def _coordinate(self, each: Coordinate, box: Box) -> Iterator[Variable]:
        """Yield the variable of a coordinate, and its bounds if any, for the selected indices in a box."""
        along = dict(zip(self.axes.divided, box.slices, strict=True))
        part: Any = tuple(along.get(dim, self.selection.get(dim, slice(None))) for dim in each.dims)
        bounds = {} if each.bounds is None else {"bounds": f"{each.name}_bnds"}
        yield Variable(each.name, "f8", each.dims, {**each.attributes, **bounds}, each.values[part])
        if each.bounds is not None:
            yield Variable(f"{each.name}_bnds", "f8", (*each.dims, "bnds"), {}, each.bounds[part])

    def _time(self) -> Iterator[Variable]:
        attributes = {
            "standard_name": "time",
            "long_name": "time (UTC)",
            "units": f"seconds since {np.datetime_as_string(self.start, unit='s')}Z",
            "calendar": "proleptic_gregorian",
            "units_metadata": "leap_seconds: none",
            "axis": "T",
        }
        if self.statistic == "point":
            yield Variable(TIME, "f8", (TIME,), attributes)
        else:
            yield Variable(TIME, "f8", (TIME,), attributes | {"bounds": TIME_BOUNDS})
            yield Variable(TIME_BOUNDS, "f8", (TIME, "bnds"), {})


def reserved_names(axes: Axes) -> frozenset[str]:
    """Return the reserved names of dimensions and variables, which no field may have."""
    described = Layout(axes, {}, (), np.datetime64(0, "s"), {}, statistic="mean").describe(complete=True)
    return frozenset({*described.dims, *(variable.name for variable in described.variables)})


@contextmanager
def create(path: Path, description: Description, compression: Compression = "zlib") -> Iterator[netCDF4.Dataset]:
    """Yield a new netCDF-4 file, open for writing, with its coordinates and empty variables.

    No other thread uses the library in the block, see :mod:`airshed.io.hdf5`.
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
    if variable.name in CLOCK:
        options = {"chunksizes": (512, *shape)}
    elif variable.data is None:
        options = {"chunksizes": (1, *_chunks(shape)) if shape else (512,), "fill_value": False, **compression}
    made = file.createVariable(variable.name, variable.dtype, variable.dims, **options)
    made.setncatts(variable.attributes)
    if variable.data is not None:
        made[:] = variable.data


def _field(spec: FieldSpec, auxiliary: Sequence[str], statistic: Statistic, axes: Axes) -> Variable:
    attributes: dict[str, str | float | tuple[float, ...]] = {
        "long_name": spec.text, "units": spec.unit, "cell_methods": f"time: {statistic}",
    }  # fmt: skip
    if spec.unit == "K":
        attributes["units_metadata"] = "temperature: on_scale"
    if spec.standard_name is not None:
        attributes["standard_name"] = spec.standard_name
    # No valid_min and valid_max: readers hide values outside, which users must see.
    if auxiliary:
        attributes["coordinates"] = " ".join(auxiliary)
    if axes.mapping and set(axes.divided) <= set(spec.dims):
        attributes["grid_mapping"] = GRID_MAPPING
    if spec.phase:
        attributes["phase"] = spec.phase
    if spec.particle is not None:  # [m], [kg m-3]
        attributes["particle_diameter"], attributes["particle_density"] = spec.particle
    if spec.molar_mass is not None:
        attributes["molar_mass"] = spec.molar_mass  # [kg mol-1], converts the mixing ratio to a mass concentration
    return Variable(spec.name, "f4", ("time", *spec.dims), attributes)


def _chunks(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Return chunks of whole maps of a few levels: maps read fast, and compression works in the processor's cache."""
    if len(sizes) != 3:
        return sizes
    map_bytes = 4 * sizes[1] * sizes[2]
    return (min(sizes[0], max(1, _CHUNK_BYTES // map_bytes)), *sizes[1:])
