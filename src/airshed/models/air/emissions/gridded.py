"""Gridded emission: fields of a dataset or a netCDF file, regridded to the grid of the case."""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from airshed.core.arrays import Array
from airshed.core.constants import EARTH_RADIUS
from airshed.core.data import is_dataset, kind, numbers, without_round_off
from airshed.core.errors import CaseError, DataError
from airshed.core.text import listed, suggestion
from airshed.core.units import quantity
from airshed.grid import Grid
from airshed.grid.coordinates import to_degrees, unique_longitudes
from airshed.grid.regrid import Regridder
from airshed.io.netcdf import load_netcdf
from airshed.models.air.emissions.periods import read_periods
from airshed.models.air.emissions.sources import MappedEmissions

if TYPE_CHECKING:
    import xarray as xr


_UNITS = ("mol/s", "kg/s", "mol/m2/s", "kg/m2/s")
MOST_FROM_A_CELL = 1e12  # upper limit of emission from a cell [mol/s]; global emission of CO2 is 3e7
_LEAST_SHARE = 1e-9
_NAMES = {"latitude": "lat", "longitude": "lon"}


class GriddedEmissions(MappedEmissions):
    """Source with emission fields by species on a separate longitude-latitude grid.

    Each variable with the dimensions (time, level, lat, lon), time and level optional, is a species. Its attribute
    ``units`` is mol s-1 or kg s-1 (per cell of the dataset), mol m-2 s-1 or kg m-2 s-1; a mass also needs
    ``molar_mass`` [kg/mol]. Level n is the model layer n, the lowest first; without levels the emission is in the
    lowest layer. A field is valid for a period, see :func:`read_periods`; without times, or with one, it is constant.
    Emission outside the grid is cut; the rest is conserved. The spin-up before the start repeats the first day.
    """

    kind = "gridded files"

    def __init__(
        self, data: "xr.Dataset | str | Path", grid: Grid, start: np.datetime64, species: Iterable[str] | None = None,
        *, climatology: bool = False, compounds: Collection[str] = (),
    ) -> None:  # fmt: skip
        """Read and regrid the fields; ``species`` are the known names, to check the variables.

        climatology  whether twelve months are used for every year
        compounds    names of an inventory: a variable with such a name is omitted if the mechanism has no such species

        Raises DataError for an unreadable file, a missing axis, unit or molar mass, an invalid value, with its
        location, and fields outside the grid; CaseError for an unknown species.
        """
        self._place = "the emission dataset" if is_dataset(data) else str(data)
        dataset = self._open(data)
        known = None if species is None else tuple(species)
        fields = {str(name): field for name, field in dataset.items() if {"lat", "lon"} <= set(field.dims)}
        emitted = [name for name, field in fields.items() if name in (known or ()) or not _is_area(field)]
        without = [name for name in emitted if known is not None and name not in known and name in compounds]
        self.species = tuple(name for name in emitted if name not in without)
        if not emitted:
            raise DataError(f"{self._place} has no variable with the dimensions lat and lon")
        for name in self.species if known is not None else ():
            if name not in (known or ()):
                raise CaseError(
                    f"{self._place}: {name!r} is not a species of the mechanism; {suggestion(name, known or ())}"
                )
        periods = read_periods(dataset, start, self._place)
        self._periods = periods.as_climatology(self._place) if climatology and periods.begin.size else periods
        self.changes = self._periods.changes
        self._notices: list[str] = [f"{self._place}: no species for {', '.join(without)}: left out"] if without else []
        self._notices += [f"{self._place}: {gap}" for gap in [self._periods.gap()] if gap]
        self._field = self._regrid(dataset, grid)
        self.levels = self._field.shape[2]

    def rate(self, seconds: float) -> Array:
        """Emission [mol/s per cell], shape (species, levels, lat, lon), constant between its times; read-only.

        Raises DataError for a time that the dataset does not cover.
        """
        return np.asarray(self._field[self._periods.at(seconds, self._place)])

    def notes(self) -> list[str]:
        """Return the notices, and the interpretation of the times."""
        told = self._periods.told
        return [*self._notices, *([f"{self._place}: its fields are for {told}"] if told else [])]

    def _open(self, data: "xr.Dataset | str | Path") -> "xr.Dataset":
        dataset = data if is_dataset(data) else load_netcdf(Path(data))
        dataset = dataset.rename({old: new for old, new in _NAMES.items() if old in dataset.dims})
        for axis in ("lat", "lon"):
            if axis not in dataset.coords or dataset[axis].dims != (axis,) or dataset[axis].size < 2:
                raise DataError(f"{self._place} needs a coordinate {axis!r} with at least two values")
            degrees = to_degrees(axis, dataset[axis].values, dataset[axis].attrs, self._place)
            dataset = dataset.assign_coords({axis: (axis, degrees)})
        return dataset

    def _regrid(self, dataset: "xr.Dataset", grid: Grid) -> Array:
        """Return all fields in mol/s on the grid, shape (times, species, levels, lat, lon)."""
        west, east, *_ = grid.bounds
        middle = 0.5 * (west + east)
        dataset = dataset.assign_coords(lon=(dataset.lon - middle + 180.0) % 360.0 - 180.0 + middle)
        dataset = dataset.sortby(["lat", "lon"])
        dataset = dataset.isel(lon=unique_longitudes(dataset.lon.values))
        meridians, parallels = (_faces(dataset[axis].values.astype(np.float64)) for axis in ("lon", "lat"))
        parallels = np.clip(parallels, -90.0, 90.0)
        strips = EARTH_RADIUS**2 * np.diff(np.sin(np.radians(parallels)))
        area = np.outer(strips, np.radians(np.diff(meridians)))
        move = Regridder(meridians, parallels, grid)
        share = self._covered(float(move(area).sum() / move.target_area.sum()), grid, dataset)
        if "level" in dataset.coords and dataset["level"].dims == ("level",):
            given = dataset["level"].values
            if not any(np.array_equal(given, first + np.arange(given.size)) for first in (0, 1)):
                raise DataError(
                    f"{self._place}: its levels are {listed([str(each) for each in given], 4)}; they must be the "
                    "indices of the layers, 0, 1 ... from the lowest one"
                )
        levels = dataset.sizes.get("level", 1)
        if levels > grid.shape[0]:
            raise DataError(f"{self._place} has {levels} levels, but the grid has only {grid.shape[0]} layers")
        fields = np.zeros((dataset.sizes.get("time", 1), len(self.species), levels, *grid.shape[1:]))
        whole = np.zeros(len(self.species))
        for index, name in enumerate(self.species):
            moles = self._moles(name, dataset, area)
            fields[:, index, : moles.shape[1]] = move(moles)
            whole[index] = moles.sum()
        self._note_outside(share, whole, fields.sum(axis=(0, 2, 3, 4)))
        fields.setflags(write=False)
        return fields

    def _covered(self, share: float, grid: Grid, dataset: "xr.Dataset") -> float:
        """Return the fraction of the grid's area that the dataset covers; raises DataError if it is zero."""
        own, asked = extent(dataset.lon.values, dataset.lat.values), str(grid)
        if share < _LEAST_SHARE:
            exchanged = _meet(dataset.lat.values, grid.corner_lon) and _meet(dataset.lon.values, grid.corner_lat)
            hint = "; are its lat and lon exchanged?" if exchanged else ""
            raise DataError(f"{self._place} lies outside the area: it covers {own}, the area is {asked}{hint}")
        if share < 1.0 - 1e-6:
            self._notices.append(
                f"{self._place} covers {100.0 * share:.3g} % of the area: {own} of {asked}; the rest gets nothing of it"
            )
        return share

    def _note_outside(self, share: float, whole: Array, inside: Array) -> None:
        """Add a notice with the fraction of the emission outside the area, unless the dataset covers it."""
        emitting = whole > 0.0
        if not emitting.any():
            self._notices.append(f"{self._place} emits nothing: all of its values are 0")
        elif not inside[emitting].any():
            self._notices.append(f"{self._place} emits nothing in the area: all of its emission is outside")
        elif share < 1.0 - 1e-6:
            shares = 100.0 * (1.0 - inside[emitting] / whole[emitting])
            names = [name for name, emits in zip(self.species, emitting, strict=True) if emits]
            told = listed([f"{share:.3g} % of {name}" for name, share in zip(names, shares, strict=True)])
            self._notices.append(f"{self._place}: outside the area are {told}")

    def _moles(self, name: str, dataset: "xr.Dataset", area: Array) -> Array:
        """Return a species in mol/s per cell of the dataset, (times, levels, lat, lon); times and levels may be 1."""
        field = dataset[name]
        where = f"{self._place}: {name}"
        surplus = sorted(str(dim) for dim in set(field.dims) - {"time", "level", "lat", "lon"})
        if surplus:
            raise DataError(f"{where} has the dimension {', '.join(surplus)}; only time, level, lat and lon are valid")
        if field.dtype.kind not in "fiu":
            raise DataError(f"{where} has values of type {kind(field.dtype)}; give the emission as numbers")
        missing = [dim for dim in ("time", "level") if dim not in field.dims]
        ordered = field.expand_dims(missing).transpose("time", "level", "lat", "lon").values
        values = without_round_off(numbers(ordered, where))
        wrong = ~(np.isfinite(values) & (values >= 0.0))
        if wrong.any():
            time, level, row, column = (int(i) for i in np.argwhere(wrong)[0])
            at = f"lat {float(dataset.lat[row]):g}, lon {float(dataset.lon[column]):g}, level {level}"
            if "time" in field.dims:
                at = f"{np.datetime64(dataset['time'].values[time], 'm')}, {at}"
            raise DataError(f"{where} is {values[wrong][0]:g} at {at}; emission must be a number of 0 or more")
        try:
            unit = quantity(f"1 {field.attrs.get('units', '')}", _UNITS, where=f"{where}: units")
        except CaseError as error:
            month = "month" in str(field.attrs.get("units", ""))
            hint = "; months have several lengths: divide by the seconds of each month" if month else ""
            raise DataError(f"{error}{hint}") from error
        factor = unit.value / (_molar_mass(field, where) if "kg" in unit.unit else 1.0)
        moles = values * factor * (area if "m2" in unit.unit else 1.0)
        if moles.size and not moles.max() <= MOST_FROM_A_CELL:
            raise DataError(
                f"{where} is {moles.max():g} mol/s from a cell, more than {MOST_FROM_A_CELL:g} mol/s; "
                f"check its values and its units, {field.attrs['units']!r}"
            )
        return moles


def _molar_mass(field: "xr.DataArray", where: str) -> float:
    given = field.attrs.get("molar_mass")
    if given is None:
        raise DataError(f"{where} is a mass: it needs the attribute molar_mass in kg/mol, such as 0.046")
    mass = np.asarray(given)
    if mass.size != 1 or mass.dtype.kind not in "fiu" or not 1e-3 <= float(mass.item()) <= 1.0:
        raise DataError(
            f"{where} is a mass: its attribute molar_mass must be in kg/mol, such as 0.046, not {given!r:.40}"
        )
    return float(mass.item())


def _is_area(field: "xr.DataArray") -> bool:
    """Return True if a field is the area of cells, which many inventories contain."""
    return field.attrs.get("standard_name") == "cell_area" or str(field.attrs.get("units", "")) in ("m2", "m**2", "m^2")


def extent(lon: Array, lat: Array) -> str:
    """Return the extent of an area, for messages."""
    return f"{np.min(lon):g} to {np.max(lon):g} E, {np.min(lat):g} to {np.max(lat):g} N"


def _meet(some: Array, others: Array) -> bool:
    return bool(np.min(some) < np.max(others) and np.max(some) > np.min(others))


def _faces(centres: Array) -> Array:
    """Return faces half-way between the centres; the outermost cells are symmetric."""
    inner = 0.5 * (centres[1:] + centres[:-1])
    return np.concatenate([[2.0 * centres[0] - inner[0]], inner, [2.0 * centres[-1] - inner[-1]]])
