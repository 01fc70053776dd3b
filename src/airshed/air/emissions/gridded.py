"""Emission that a user prescribes: fields of a dataset or a netCDF file, brought onto the grid of the case."""

from collections.abc import Iterable
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from airshed.air.emissions.regrid import Regridder
from airshed.core.constants import EARTH_RADIUS
from airshed.core.data import is_dataset, kind, numbers
from airshed.core.errors import CaseError, DataError
from airshed.core.text import suggestion
from airshed.core.units import quantity
from airshed.grid import Grid
from airshed.grid.places import in_degrees
from airshed.grid.window import Window
from airshed.io.netcdf import load_netcdf

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[np.float64]

_UNITS = ("mol/s", "kg/s", "mol/m2/s", "kg/m2/s")
MOST_FROM_A_CELL = 1e12
"""Far more than all the world emits of anything [mol/s]; of CO2 it is 3e7."""

_NAMES = {"latitude": "lat", "longitude": "lon"}


class GriddedEmissions:
    """Emission fields by species on a longitude-latitude grid of their own; a source.

    Each variable with the dimensions (time, level, lat, lon), time and level optional, is a species. Its attribute
    ``units`` says mol s-1 or kg s-1 (per cell of the dataset), mol m-2 s-1 or kg m-2 s-1; for a mass, ``molar_mass``
    [kg/mol] too. Level n is the model layer n, the lowest first; without levels all goes to the lowest layer. A field
    holds from its time until the next, the last one as long as the one before; without times, or with one, it holds
    always. What lies outside the grid is cut; the rest is
    conserved.
    """

    def __init__(
        self,
        data: "xr.Dataset | str | Path",
        grid: Grid,
        start: np.datetime64,
        species: Iterable[str] | None = None,
    ) -> None:
        """Read and regrid; ``species`` are the known names, if the variables are to be checked against them.

        Raises DataError for a file that cannot be read, an axis, unit or molar mass that is missing, and for a value
        that is negative or not finite, naming its place; CaseError for a variable that is no known species.
        """
        self._place = "the emission dataset" if is_dataset(data) else str(data)
        self._start = start
        dataset = self._open(data)
        self.species = tuple(str(n) for n, field in dataset.items() if {"lat", "lon"} <= set(field.dims))
        if not self.species:
            raise DataError(f"{self._place} has no variable with the dimensions lat and lon")
        known = self.species if species is None else tuple(species)
        for name in self.species:
            if name not in known:
                raise CaseError(f"{self._place}: {name!r} is no species of the mechanism; {suggestion(name, known)}")
        self._times = self._read_times(dataset)
        self.changes = tuple(self._times.tolist())
        self._fields = self._regrid(dataset, grid)
        self.levels = self._fields.shape[2]

    def part(self, window: Window) -> "GriddedEmissions":
        """Return the emission of a window's cells."""
        part = copy(self)
        part._fields = np.ascontiguousarray(window.of(self._fields))
        part._fields.setflags(write=False)
        return part

    def rate(self, seconds: float) -> Array:
        """Emission [mol/s per cell], shape (species, levels, lat, lon), constant between its times; read-only.

        Raises DataError for a time that the dataset does not cover.
        """
        if self._times.size < 2:
            return self._at(0)
        index = int(np.searchsorted(self._times, seconds, side="right")) - 1
        if not 0 <= index < self._times.size - 1:
            asked, first, last = (
                self._start.astype("datetime64[s]") + np.timedelta64(round(time), "s")
                for time in (seconds, self._times[0], self._times[-1])
            )
            raise DataError(f"{self._place} covers {first} to {last} UTC, but emission is needed at {asked}")
        return self._at(index)

    def _at(self, index: int) -> Array:
        fields: Array = self._fields[index]
        return fields

    def _open(self, data: "xr.Dataset | str | Path") -> "xr.Dataset":
        dataset = data if is_dataset(data) else load_netcdf(Path(data))
        dataset = dataset.rename({old: new for old, new in _NAMES.items() if old in dataset.dims})
        for axis in ("lat", "lon"):
            if axis not in dataset.coords or dataset[axis].dims != (axis,) or dataset[axis].size < 2:
                raise DataError(f"{self._place} needs a coordinate {axis!r} with at least two values")
            degrees = in_degrees(axis, dataset[axis].values, dataset[axis].attrs, self._place)
            dataset = dataset.assign_coords({axis: (axis, degrees)})
        return dataset

    def _read_times(self, dataset: "xr.Dataset") -> Array:
        """The instants between which fields hold [s since the start]: one more than there are fields; or none.

        To a millisecond: hours as floats do not hold each second exactly.
        """
        if "time" not in dataset.dims:
            return np.zeros(0)
        if "time" not in dataset.coords:
            raise DataError(
                f"{self._place}: its dimension time has no values; give dates, such as hours since 2022-08-31"
            )
        times = dataset["time"].values
        dates = np.issubdtype(times.dtype, np.datetime64) and not np.isnat(times).any()
        seconds = np.round((times - self._start) / np.timedelta64(1, "s"), 3) if dates else np.zeros(0)
        if not dates or np.any(np.diff(seconds) <= 0.0):
            raise DataError(f"{self._place}: its times must be dates in rising order, such as hours since 2022-08-31")
        return np.append(seconds, 2.0 * seconds[-1] - seconds[-2]) if seconds.size > 1 else seconds

    def _regrid(self, dataset: "xr.Dataset", grid: Grid) -> Array:
        """All fields in mol/s on the grid, shape (times, species, levels, lat, lon)."""
        middle = 0.5 * (grid.lon_faces[0] + grid.lon_faces[-1])
        dataset = dataset.assign_coords(lon=(dataset.lon - middle + 180.0) % 360.0 - 180.0 + middle)
        dataset = dataset.sortby(["lat", "lon"])
        lon_faces, lat_faces = (_faces(dataset[axis].values.astype(np.float64)) for axis in ("lon", "lat"))
        lat_faces = np.clip(lat_faces, -90.0, 90.0)
        strips = EARTH_RADIUS**2 * np.diff(np.sin(np.radians(lat_faces)))
        area = np.outer(strips, np.radians(np.diff(lon_faces)))
        move = Regridder(lon_faces, lat_faces, grid)
        levels = dataset.sizes.get("level", 1)
        if levels > grid.shape[0]:
            raise DataError(f"{self._place} has {levels} levels, but the grid has only {grid.shape[0]} layers")
        fields = np.zeros((dataset.sizes.get("time", 1), len(self.species), levels, *grid.shape[1:]))
        for index, name in enumerate(self.species):
            values = move(self._moles(name, dataset, area))
            fields[:, index, : values.shape[1]] = values
        fields.setflags(write=False)
        return fields

    def _moles(self, name: str, dataset: "xr.Dataset", area: Array) -> Array:
        """One species in mol/s per cell of the dataset, shape (times, levels, lat, lon), either first axis maybe 1."""
        field = dataset[name]
        where = f"{self._place}: {name}"
        surplus = sorted(str(dim) for dim in set(field.dims) - {"time", "level", "lat", "lon"})
        if surplus:
            raise DataError(f"{where} has the dimension {', '.join(surplus)}; only time, level, lat and lon can be")
        if field.dtype.kind not in "fiu":
            raise DataError(f"{where} holds {kind(field.dtype)}, no numbers; give the emission as numbers")
        missing = [dim for dim in ("time", "level") if dim not in field.dims]
        values = numbers(field.expand_dims(missing).transpose("time", "level", "lat", "lon").values, where)
        wrong = ~(np.isfinite(values) & (values >= 0.0))
        if wrong.any():
            _, level, row, column = (int(i) for i in np.argwhere(wrong)[0])
            at = f"lat {float(dataset.lat[row]):g}, lon {float(dataset.lon[column]):g}, level {level}"
            raise DataError(f"{where} is {values[wrong][0]:g} at {at}; emission must be a number of 0 or more")
        try:
            unit = quantity(f"1 {field.attrs.get('units', '')}", _UNITS, where=f"{where}: units")
        except CaseError as error:
            raise DataError(str(error)) from error
        factor = unit.value / (_molar_mass(field, where) if "kg" in unit.unit else 1.0)
        moles = values * factor * (area if "m2" in unit.unit else 1.0)
        if moles.size and not moles.max() <= MOST_FROM_A_CELL:
            raise DataError(
                f"{where} is {moles.max():g} mol/s from a cell, more than {MOST_FROM_A_CELL:g} mol/s; "
                f"check its values and its units, {field.attrs['units']!r}"
            )
        return moles


def _molar_mass(field: "xr.DataArray", where: str) -> float:
    given = field.attrs.get("molar_mass", np.nan)
    mass = np.asarray(given)
    if mass.size != 1 or mass.dtype.kind not in "fiu" or not 1e-3 <= float(mass.item()) <= 1.0:
        raise DataError(
            f"{where} is a mass: its attribute molar_mass must be in kg/mol, such as 0.046, not {given!r:.40}"
        )
    return float(mass.item())


def _faces(centres: Array) -> Array:
    """Faces half-way between the centres; the outermost cells reach as far out as in."""
    inner = 0.5 * (centres[1:] + centres[:-1])
    return np.concatenate([[2.0 * centres[0] - inner[0]], inner, [2.0 * centres[-1] - inner[-1]]])
