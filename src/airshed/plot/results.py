"""A finished run for pictures: fields in the units of air quality, cell edges, times."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from airshed.core.arrays import Array
from airshed.core.data import numbers
from airshed.core.errors import AirshedError, DataError
from airshed.core.text import nearest
from airshed.core.toml_text import parse_toml
from airshed.core.units import to
from airshed.grid.coordinates import check_places, faces_around
from airshed.grid.packing import PackedGrid
from airshed.io.grid_file import FileGrid, is_projected, on_grid
from airshed.models.pasture.drought import DROUGHT, with_drought
from airshed.observations.observation import size_of_mole_fraction
from airshed.plot import units
from airshed.plot.cells import MapCells
from airshed.plot.geography import Area
from airshed.plot.limits import Scale, scale_of
from airshed.plot.units import (
    COMMON,
    DAILY,
    MIXING_RATIO_UNITS,
    Unit,
    mass_concentration,
    mass_unit,
    mixing_ratio_unit,
    written,
)

PREFERRED = ("O3", "NO2", "standing_dry_matter", DROUGHT, "growth", "soil_water_index")
"""Fields that are drawn by default, if the file has them."""

_LISTED = 30
_IN_MEMORY = 2**22
_NOTHING = 1e-15
"""Mixing ratio [mol/mol] or mass concentration [kg/m3], far below any measurement, at which a layer may be empty."""
_LEAST_RATIO = 1e9
"""Least ratio of the maximum to that of the lowest layer for which the lowest layer is empty."""
_AIR = ("air_pressure", "air_temperature")


@dataclass(frozen=True)
class Quantity:
    """Display of a field: its variable, its title, its short name, and its unit."""

    field: str
    title: str
    short: str
    unit: str


@dataclass(frozen=True)
class Greatest:
    """The maximum of a field at the ground, in the unit of `quantity`, with the indices of its time and cell."""

    value: float
    time: int
    row: int
    column: int


class Results:
    """The fields of one run on time, level, and rows and columns of a map; fields are read on demand."""

    def __init__(self, dataset: xr.Dataset, path: Path) -> None:
        """Check that there is something to draw; raises DataError when a dimension is missing or empty."""
        self.path = path
        self._grid: FileGrid | None = None
        if is_projected(dataset):
            dataset, self._grid = on_grid(dataset, path)
        self._dims = ("lat", "lon") if self._grid is None else self._grid.mapping.dims
        self._stored: tuple[str, ...] = self._dims
        self._packing = _packing(dataset)
        if self._packing is not None:
            self._stored = tuple(map(str, dataset["lat"].dims))
            lines = {"lat": ("lat", self._packing.lat), "lon": ("lon", self._packing.lon)}
            dataset = dataset.drop_vars(["lat", "lon"]).assign_coords(lines)
        for name in ("time", *self._dims):
            if name not in dataset.dims or name not in dataset.coords:
                raise DataError(f"{path} has no coordinate {name!r}; pictures need a run's output on time, lat and lon")
            if dataset.sizes[name] == 0:
                raise DataError(f"{path} has no {name} yet; let the run write its first output and try again")
        if not np.issubdtype(dataset["time"].dtype, np.datetime64):
            raise DataError(f"{path}: time is not in CF units such as 'seconds since 2022-08-31 00:00:00'")
        for name in ("lat", "lon", "level"):
            if name in dataset.dims and name in dataset.coords:
                check_places(name, numbers(dataset[name].values, f"{path}: its {name}"), str(path))
        dataset = with_drought(dataset)
        is_ascending = np.all(np.diff(dataset[self._dims[0]].values) > 0)
        self._data = dataset if is_ascending else dataset.sortby(self._dims[0])
        self._units: dict[str, Unit] = {}
        self._ground: dict[str, Array] = {}
        self._maxima: dict[tuple[str, int], tuple[float, int, int, int]] = {}
        self._layers: dict[str, int] = {}

    @property
    def fields(self) -> list[str]:
        """Return the names of the variables on time and the cells of the map."""
        return [str(name) for name, v in self._data.data_vars.items() if {"time", *self._stored} <= set(v.dims)]

    @cached_property
    def _settings(self) -> dict[str, Any]:
        """Return the settings of the case, as far as the file has them."""
        try:
            return parse_toml(str(self._data.attrs.get("airshed_case", "")))
        except AirshedError:
            return {}

    def is_plume(self, name: str) -> bool:
        """Return whether a field is a plume: a tracer, or any species where only point sources emit."""
        emissions = self._settings.get("emissions", {})
        only_points = bool(emissions.get("point")) and not any(
            emissions.get(each) for each in ("inventory", "gridded", "area", "biogenic")
        )
        return self._is_ratio(name) and (name not in COMMON or only_points)

    @cached_property
    def case(self) -> str:
        """Return the title of the case with its grid and its mechanism, as far as the file has them."""
        title, settings = str(self._data.attrs.get("title", "")), self._settings
        spacing = settings.get("grid", {}).get("spacing", {})
        lon, lat = spacing.get("lon", ""), spacing.get("lat", "")
        cells = f"{lon}" if lon == lat else f"{lon} x {lat}"
        mechanism = Path(str(settings.get("chemistry", {}).get("mechanism", ""))).name
        return ", ".join(text for text in (title, mechanism, cells.replace(" deg", "°")) if text)

    def chosen(self, names: Sequence[str] | None) -> list[str]:
        """Return the fields to draw: those named, else O3 and NO2, else all fields.

        Raises DataError for a field that is not in the file, and for a file with none.
        """
        there = self.fields
        for name in names or ():
            if name not in there:
                listed = ", ".join(there[:_LISTED]) + (" ..." if len(there) > _LISTED else "")
                match = nearest(name, there)
                hint = f"; did you mean {match}?" if match else ""
                raise DataError(f"{self.path} has no field {name!r}; it has: {listed or 'none'}{hint}")
        if not there:
            raise DataError(f"{self.path} has no field on time, {' and '.join(self._dims)} to draw")
        usual = [name for name in PREFERRED if name in there] or [name for name in there if self._is_ratio(name)]
        return list(dict.fromkeys(names or usual or there))

    @cached_property
    def times(self) -> NDArray[np.datetime64]:
        """Return the times [UTC]."""
        return np.asarray(self._data["time"].values).astype("datetime64[s]")

    @cached_property
    def cells(self) -> MapCells:
        """Return the cells of maps; longitudes ascend also across the date line."""
        if self._grid is not None:
            return MapCells(self._grid.x_faces, self._grid.y_faces, self._grid.mapping)
        lon, lat = (np.asarray(self._data[name].values, dtype=np.float64) for name in ("lon", "lat"))
        lon = np.unwrap(lon, period=360.0)
        return MapCells(np.unwrap(self._edges("lon", lon), period=360.0), np.clip(self._edges("lat", lat), -90.0, 90.0))

    @cached_property
    def height_edges(self) -> Array:
        """Return the lower and upper faces of the layers [m above ground]."""
        faces = self._edges("level", np.asarray(self._data["level"].values, dtype=np.float64))
        return np.maximum(faces, 0.0)

    def _edges(self, axis: str, centres: Array) -> Array:
        """Return the edges of the cells along an axis: those in the file where the cells touch, else midway."""
        name = self._data[axis].attrs.get("bounds", f"{axis}_bnds")
        if name in self._data and self._data[name].shape == (centres.size, 2):
            bounds = np.asarray(self._data[name].values, dtype=np.float64)
            if np.allclose(bounds[1:, 0], bounds[:-1, 1], atol=1e-9):
                return np.concatenate([bounds[:, 0], bounds[-1:, 1]])
        return faces_around(centres)

    @property
    def area(self) -> Area:
        """Return the rectangle that the cells cover."""
        return self.cells.area

    @property
    def is_difference(self) -> bool:
        """Return whether the fields are differences of two runs."""
        return False

    def palette(self, name: str) -> str:
        """Return the field whose colours show a field."""
        return name

    def scale(self, values: Array) -> Scale:
        """Return the colour scale of some values."""
        return scale_of(values)

    @property
    def is_land(self) -> bool:
        """Return whether cells are packed, as on land, without layers above."""
        return self._packing is not None

    def layer(self, name: str) -> int:
        """Return the layer of a field that maps show: the lowest one, or where that holds nothing, of the maximum."""
        if name not in self._layers:
            self._layers[name] = self._fullest(name) if self.has_levels(name) and self._is_ratio(name) else 0
        return self._layers[name]

    def _fullest(self, name: str) -> int:
        """Return the layer with the maximum of a mixing ratio where the lowest layer holds none of it, otherwise 0."""
        lowest = self._maximum(name, 0)[0]
        if lowest > _NOTHING:
            return 0
        maxima = [self._maximum(name, layer)[0] for layer in range(self._data.sizes["level"])]
        return int(np.argmax(maxima)) if max(maxima) > _LEAST_RATIO * lowest else 0

    def shown_height(self, name: str) -> float | None:
        """Return the height of the cell centres that maps show [m above ground], None for a field without levels."""
        if "level" not in self._data[name].dims or "level" not in self._data.coords:
            return None
        return float(self._data["level"].values[self.layer(name)])

    def has_levels(self, name: str) -> bool:
        """Return whether a field has at least two levels, as a curtain requires."""
        return "level" in self._data[name].dims and self._data.sizes["level"] > 1

    def quantity(self, name: str) -> Quantity:
        """Return the display of a field: mass concentration if possible, else mixing ratio, else as in the file."""
        unit = self._unit(name)
        known = COMMON.get(name)
        if known is None:
            words = str(self._data[name].attrs.get("long_name", "")) or name
            for beginning in ("mixing ratio of ", "mole fraction of "):
                words = words[len(beginning) :] if words.lower().startswith(beginning) else words
            title = words.split(";")[0].replace("_", " ").strip()
            short = name.replace("_", " ")
            if self.is_land and name in DAILY:
                title, short = f"{title} per day", f"{short} per day"
                unit = Unit(f"{unit.label} d⁻¹", unit.factor)
            return Quantity(name, title[:1].upper() + title[1:], short[:1].upper() + short[1:], unit.label)
        title = known.name if known.name == known.formula else f"{known.name} ({known.formula})"
        return Quantity(name, title, known.formula, unit.label)

    def ground(self, name: str) -> Array:
        """Return a field in its shown layer, the lowest one, (time, row, column), in the unit of `quantity`."""
        if name not in self._ground:
            self._ground[name] = self._si(name, self._pick(name, self.layer(name))) * self._unit(name).factor
        return self._ground[name]

    def greatest(self, name: str) -> Greatest:
        """Return the maximum of a field in its shown layer; a part of the times is in memory."""
        value, time, row, column = self._maximum(name, self.layer(name))
        return Greatest(value * self._unit(name).factor, time, row, column)

    def section(self, name: str, row: int, times: Sequence[int]) -> Array:
        """Return a field along one row of cells, (time, level, column), in the unit of `quantity`."""
        return self._si(name, {"time": list(times), self._dims[0]: row}) * self._unit(name).factor

    def fullest_row(self, name: str, times: Sequence[int]) -> int | None:
        """Return the row with the maximum of a field at some times; None for a field that is the same in all rows."""
        values = np.nan_to_num(np.abs(self._si(name, {"time": list(times)})))
        rows = values.max(axis=(0, 1, 3), initial=0.0)
        return int(np.argmax(rows)) if rows.max() > rows.min() * (1.0 + 1e-9) else None

    def boundary_layer(self, row: int, time: int) -> Array | None:
        """Return the height of the boundary layer along one row of cells [m], None where the file has none."""
        name = "boundary_layer_height"
        if name not in self.fields or "level" in self._data[name].dims:
            return None
        return np.asarray(self._si(name, {"time": [time], self._dims[0]: row})[0])

    def nearest(self, name: str, longitude: float, latitude: float) -> tuple[int, int]:
        """Return row and column of the nearest cell to a location that has a value of a field."""
        there, apart = np.isfinite(self.ground(name)[0]), self.cells.distances(longitude, latitude)
        row, column = np.unravel_index(np.argmin(np.where(there, apart, np.inf)), apart.shape)
        return int(row), int(column)

    def observed(self, name: str, values: Array, unit: str, time: int, cells: Array) -> Array:
        """Return observations in the unit of `quantity`, gases converted to the air of cells (n, 2) at a time.

        unit  of the values: "ppb", or "ug/m3" at 293 K and 101.3 kPa
        """
        attributes = self._data[name].attrs
        if not self._is_ratio(name):
            return values * to(f"1 {unit}", str(attributes["units"]), where=name)
        known = COMMON[name].molar_mass if name in COMMON else None
        ratios = values / size_of_mole_fraction(unit, "surface", attributes.get("molar_mass", known))
        mass = self._molar_mass(name)
        if mass is not None:
            air = (self._si(each, {"time": time, **self._pick(each, 0)}) for each in _AIR)
            ratios = mass_concentration(ratios, mass, *(each[cells[:, 0], cells[:, 1]] for each in air))
        return np.asarray(ratios * self._unit(name).factor)

    def wind(self, time: int, layer: int = 0) -> tuple[Array, Array] | None:
        """Return the wind in a layer (eastward, northward) [m/s], each (row, column), if the file has it."""
        names = ("eastward_wind", "northward_wind")
        if not set(names) <= set(self.fields):
            return None
        pick = {"time": time, "level": layer}
        east, north = (self._si(n, {k: v for k, v in pick.items() if k in self._data[n].dims}) for n in names)
        return east, north

    def _is_ratio(self, name: str) -> bool:
        attributes = self._data[name].attrs
        return str(attributes.get("units", "")) in MIXING_RATIO_UNITS or "molar_mass" in attributes

    def _molar_mass(self, name: str) -> float | None:
        """Return the molar mass [kg/mol] by which a field becomes a mass concentration, None where it cannot."""
        if not self._is_ratio(name) or not set(_AIR) <= set(self._data.data_vars):
            return None
        known = COMMON[name].molar_mass if name in COMMON else None
        mass = self._data[name].attrs.get("molar_mass", known)
        return None if mass is None else float(mass)

    def _unit(self, name: str) -> Unit:
        """Return the unit to show a field in, chosen by its largest value at the ground."""
        if name not in self._units:
            if self._molar_mass(name) is not None:
                self._units[name] = mass_unit(self._maximum(name, self.layer(name))[0])
            elif self._is_ratio(name):
                self._units[name] = mixing_ratio_unit(self._maximum(name, self.layer(name))[0])
            else:
                self._units[name] = Unit(written(str(self._data[name].attrs.get("units", ""))), 1.0)
        return self._units[name]

    def _maximum(self, name: str, layer: int) -> tuple[float, int, int, int]:
        """Return the maximum in a layer in SI units, 0 without values, and its time, row and column."""
        if (name, layer) not in self._maxima:
            best, level = (-np.inf, 0, 0, 0), self._pick(name, layer)
            count = max(1, _IN_MEMORY // (self.cells.y.size * self.cells.x.size))
            for first in range(0, self.times.size, count):
                times = list(range(first, min(first + count, self.times.size)))
                values = np.nan_to_num(self._si(name, {"time": times, **level}), nan=-np.inf, posinf=-np.inf)
                time, row, column = (int(i) for i in np.unravel_index(np.argmax(values), values.shape))
                if (value := float(values[time, row, column])) > best[0]:
                    best = (value, first + time, row, column)
            self._maxima[name, layer] = best if np.isfinite(best[0]) else (0.0, 0, 0, 0)
        return self._maxima[name, layer]

    def _pick(self, name: str, layer: int) -> dict[str, int]:
        return {"level": layer} if "level" in self._data[name].dims else {}

    def _si(self, name: str, pick: Mapping[str, int | list[int]]) -> Array:
        """Return part of a field in SI units: kg m-3 where its molar mass is known, else as in the file."""
        values = self._values(self._data[name], pick)
        mass = self._molar_mass(name)
        if mass is None:
            return values
        pressure, temperature = (self._values(self._data[air], pick) for air in _AIR)
        return mass_concentration(values, mass, pressure, temperature)

    def _values(self, variable: xr.DataArray, pick: Mapping[str, int | list[int]]) -> Array:
        order = [d for d in ("time", "level", *self._stored) if d in variable.dims]
        try:
            of_data = {dim: index for dim, index in pick.items() if dim in variable.dims}
            found = np.asarray(variable.transpose(*order).isel(of_data).values, dtype=np.float64)
            if self._packing is None:
                return found
            spread = self._packing.spread(found)  # rows of the map are no rows of the data
            return spread[..., pick["lat"], :] if "lat" in pick else spread
        except Exception as error:  # any damage of the file
            reason = str(error).splitlines()[0][:120] if str(error).strip() else type(error).__name__
            raise DataError(f"{self.path}: {variable.name} cannot be read ({reason}); run the case again") from error


def _packing(dataset: xr.Dataset) -> PackedGrid | None:
    """Return the packing of cells along one dimension, None where they are rows and columns of a map."""
    places = [dataset.coords[name] for name in ("lat", "lon") if name in dataset.coords]
    if len(places) < 2 or places[0].ndim != 1 or places[0].dims != places[1].dims:
        return None
    return PackedGrid.of(*(each.values for each in places))


def place_in_words(results: Results, field: str) -> str:
    """Return where the shown layer is: "at the ground", or its height when that is far from it; or "on land"."""
    if results.is_land:
        return "on land"
    height = results.shown_height(field)
    is_low = height is None or (results.layer(field) == 0 and height < 150)
    return "at the ground" if height is None or is_low else f"at {units.height(height)}"
