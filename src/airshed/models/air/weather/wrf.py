"""Meteorology from output of WRF: winds at the faces of its own grid; interpolated and rotated on any other grid."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from airshed.core.arrays import Array
from airshed.core.constants import GAS_CONSTANT, GAS_CONSTANT_DRY_AIR, GRAVITY, HEAT_CAPACITY_DRY_AIR
from airshed.core.errors import DataError
from airshed.grid import Grid
from airshed.grid.coordinates import around_meridian
from airshed.grid.weights import PointWeights
from airshed.grid.window import Window
from airshed.io.grid_file import FileGrid
from airshed.io.wrf import WrfFiles
from airshed.models.air.weather import atmosphere
from airshed.models.air.weather.atmosphere import total_cover
from airshed.models.air.weather.boundary_layer import LATENT_HEAT
from airshed.models.air.weather.columns import Columns, layer_means
from airshed.models.air.weather.diagnose import Diagnosis, Instant
from airshed.models.air.weather.era5_times import ForcingTimes
from airshed.models.air.weather.fields import WeatherField, wrf_provenance
from airshed.models.air.weather.placement import Area
from airshed.models.air.weather.state import CheckedSeries

_BASE_TEMPERATURE: Final = 300.0
"""WRF's T is the potential temperature minus this [K]."""
_BASE_PRESSURE: Final = 1e5
_KAPPA: Final = GAS_CONSTANT_DRY_AIR / HEAT_CAPACITY_DRY_AIR
_RAIN: Final = (("RAINC", "I_RAINC"), ("RAINNC", "I_RAINNC"), ("RAINSH", ""))
"""Accumulated precipitation [mm] and the number of full buckets of each."""
_SURFACE: Final = (
    ("surface_temperature", "T2", 1.0), ("boundary_layer_height", "PBLH", 1.0), ("friction_velocity", "UST", 1.0),
    ("sensible heat flux", "HFX", 1.0), ("solar radiation", "SWDOWN", 1.0), ("evaporation", "QFX", 1.0),
    ("evaporation", "LH", 1.0 / LATENT_HEAT),
)  # fmt: skip
"""Fields of the ground, their variables, and factors to the units of the model; of two the first that a file has."""
_ROUND_OFF: Final = 1e-3
"""Round-off of accumulated precipitation in single precision [mm]."""
_ALIGNED: Final = 1e-3
"""Largest distance between faces of the same grid, relative to the spacing."""


class WrfMeteorology(CheckedSeries):
    """The atmosphere of WRF on the model grid; linear between its times.

    On WRF's own grid, or a part of it, U and V are the winds at the faces, without interpolation. On another grid
    winds are interpolated from the mass points, bilinear in WRF's projection, and rotated to the axes of the grid.
    Layers of the model are means of profiles that are linear in the height above ground, from PH + PHB.

    Parameters
    ----------
    paths : sequence of Path
        Files of one domain.
    grid : Grid
        The whole grid of the case.
    start : datetime64
        Start of the case, UTC.
    length : float, optional
        Time that the case needs [s].
    land_fraction : array (ny, nx), optional
        Of the whole grid; without it all is land.
    window : Window, optional
        Columns of the states; they are bitwise identical to those of the whole grid.
    extra : sequence of WeatherField
        Fields that processes request; of these WRF has cloud water.

    Raises
    ------
    DataError
        Where the files do not cover the grid or the time, or lack a variable.
    """

    def __init__(
        self, paths: Sequence[Path], grid: Grid, start: np.datetime64, *, length: float | None = None,
        land_fraction: Array | None = None, window: Window | None = None, extra: Sequence[WeatherField] = (),
    ) -> None:  # fmt: skip
        self._files = WrfFiles(paths)
        period = ForcingTimes.of(self._files.times, start, length)
        area = Area.of(grid, window)
        columns = _WrfColumns(self._files, area, period, extra)
        diagnosis = Diagnosis(area.grid, area.land(land_fraction), start, period.times, columns.instant)
        super().__init__(period.times, area, diagnosis.state, wrf_provenance(self._files.names, extra))

    def close(self) -> None:
        """Close the files."""
        self._files.close()


class _Places(NamedTuple):
    """Mass points that an area needs at one time, and how they reach its cells and faces.

    weights  from points to "cells", "x" and "y" faces; None on WRF's own grid, whose points are the cells
    rotation angle from east to WRF's x [rad] at the points (y, x)
    """

    window: Window
    weights: Mapping[str, PointWeights] | None
    rotation: Array

    @classmethod
    def of(cls, file: FileGrid, area: Area, where: Path) -> "_Places":
        """Return the points around an area; raise DataError where the domain does not cover it."""
        own = _own_box(file, area)
        if own is not None:
            return cls(own, None, np.zeros(own.shape))
        x, y = (0.5 * (faces[1:] + faces[:-1]) for faces in (file.x_faces, file.y_faces))
        targets = {}
        for key, name in (("cells", "cells"), ("x", "east"), ("y", "north")):
            lat, lon = area.places(name)
            at_x, at_y = file.mapping.from_lonlat(lon, lat)
            if np.isfinite(file.mapping.period):
                at_x = around_meridian(at_x, float(x.mean()))
            targets[key] = at_x, at_y
        columns = _needed("x", x, file.x_faces, [each[0] for each in targets.values()], where)
        rows = _needed("y", y, file.y_faces, [each[1] for each in targets.values()], where)
        weights = {key: PointWeights.in_plane(y[rows], x[columns], each[1], each[0]) for key, each in targets.items()}
        rotation = file.mapping.metrics(file.x_faces, file.y_faces).rotation[rows, columns]
        return cls(Window(rows.start, rows.stop, columns.start, columns.stop), weights, np.asarray(rotation))

    def cells(self, field: Array) -> Array:
        """Return a field of the points (..., y, x) at the cells."""
        return field if self.weights is None else self.weights["cells"](field)


def _own_box(file: FileGrid, area: Area) -> Window | None:
    """Return the window of mass points that are the cells of the area; None where the grids differ."""
    whole, window = area.whole, area.window
    if type(whole.mapping) is not type(file.mapping) or dict(whole.mapping.parameters) != dict(file.mapping.parameters):
        return None
    offsets = []
    for own, theirs in ((whole.y_faces, file.y_faces), (whole.x_faces, file.x_faces)):
        size = theirs[1] - theirs[0]
        offset = (own[0] - theirs[0]) / size
        number = round(offset)
        last = number + own.size - 1
        ends = abs(offset - number), abs((own[-1] - theirs[0]) / size - last)
        if max(ends) > _ALIGNED or number < 0 or last > theirs.size - 1:
            return None
        offsets.append(number)
    south, west = offsets
    return Window(south + window.south, south + window.north, west + window.west, west + window.east)


def _needed(axis: str, nodes: Array, faces: Array, places: Sequence[Array], where: Path) -> slice:
    """Return the nodes around all places, with one more at each side; raise DataError for places outside the faces."""
    low, high = min(float(each.min()) for each in places), max(float(each.max()) for each in places)
    if low < faces[0] or high > faces[-1]:
        raise DataError(
            f"{where} covers {axis} from {faces[0]:.6g} to {faces[-1]:.6g} of its projection, the grid needs "
            f"{low:.6g} to {high:.6g}; take a smaller grid, or the files of an outer domain"
        )
    first = max(int(np.searchsorted(nodes, low)) - 2, 0)
    return slice(first, min(int(np.searchsorted(nodes, high)) + 2, nodes.size))


class _WrfColumns:
    """Brings one instant after the other from WRF's points and levels onto a part of the model grid."""

    def __init__(self, files: WrfFiles, area: Area, period: ForcingTimes, extra: Sequence[WeatherField]) -> None:
        self._files, self._area, self._period = files, area, period
        self._extra = [each for each in extra if each.name == "cloud_water" and "QCLOUD" in files.names]
        self._rain = [pair for pair in _RAIN if pair[0] in files.names]
        self._places = dict[tuple[float, float], _Places]()

    def instant(self, index: int) -> Instant:
        """Return the data of an instant on the model grid."""
        place, faces = self._period.source[index], self._area.grid.layer_faces
        places = self._at(place)

        # Means over the layers of the model.
        columns = self._columns(place, places)
        _, means = layer_means(columns, faces)
        water_vapour = np.maximum(places.cells(means["water_vapour"]), 0.0)
        # WRF is not hydrostatic: differences of pressure over a thin layer would give another density
        temperature, density = places.cells(means["temperature"]), places.cells(means["air_density"])

        # Winds along x and y at the faces.
        if (at := places.weights) is None:
            along_x, along_y = (self._own_wind(place, places, columns, axis) for axis in ("x", "y"))
        else:
            along_x, along_y = (
                self._area.wind_along(axis, at[axis](means["east"]), at[axis](means["north"])) for axis in ("x", "y")
            )
        found = {
            "eastward_wind": along_x, "northward_wind": along_y, "temperature": temperature,
            "pressure": density * GAS_CONSTANT * temperature, "water_vapour": water_vapour, "air_density": density,
            "surface_pressure": places.cells(columns.surface_pressure), **self._surface(place, places),
            **{each.name: places.cells(means[each.name]) for each in self._extra},
        }  # fmt: skip
        return Instant(found, temperature_is_read=True)

    def _at(self, place: int) -> _Places:
        """Return the points of a time, which are other ones where the domain has moved."""
        file = self._files.grid(place)
        corner = float(file.x_faces[0]), float(file.y_faces[0])
        if corner not in self._places:
            self._places[corner] = _Places.of(file, self._area, self._files.file(place))
        return self._places[corner]

    def _columns(self, place: int, places: _Places) -> Columns:
        """Return the levels of the mass points, with eastward and northward winds there."""

        def read(name: str) -> Array:
            return self._files.read(name, place, places.window)

        pressure, mixing_ratio = read("P") + read("PB"), np.maximum(read("QVAPOR"), 0.0)
        staggered = (read("PH") + read("PHB")) / GRAVITY
        temperature = (read("T") + _BASE_TEMPERATURE) * (pressure / _BASE_PRESSURE) ** (
            GAS_CONSTANT_DRY_AIR / HEAT_CAPACITY_DRY_AIR
        )
        along_x, along_y = read("U"), read("V")
        along_x, along_y = 0.5 * (along_x[..., 1:] + along_x[..., :-1]), 0.5 * (along_y[:, 1:] + along_y[:, :-1])
        cosine, sine = np.cos(places.rotation), np.sin(places.rotation)
        return Columns(
            pressure, read("PSFC"), cosine * along_x - sine * along_y, sine * along_x + cosine * along_y,
            atmosphere.mole_fraction(mixing_ratio / (1.0 + mixing_ratio)), temperature,
            heights=0.5 * (staggered[1:] + staggered[:-1]) - staggered[0],
            extra={
                "air_density": pressure / (GAS_CONSTANT * temperature),
                **{each.name: read("QCLOUD") / (1.0 + mixing_ratio) for each in self._extra},
            },
        )  # fmt: skip

    def _own_wind(self, place: int, places: _Places, columns: Columns, axis: str) -> Array:
        """Return the mean wind of the layers along an axis of WRF's own grid, at the faces that it crosses."""
        wind, along = self._files.read("U" if axis == "x" else "V", place, places.window), -1 if axis == "x" else -2

        def at_faces(field: Array) -> Array:
            moved = np.moveaxis(field, along, 0)
            faces = np.concatenate([moved[:1], 0.5 * (moved[1:] + moved[:-1]), moved[-1:]])
            return np.moveaxis(faces, 0, along)

        assert columns.heights is not None
        faces = Columns(
            at_faces(columns.pressure), at_faces(columns.surface_pressure), wind, wind, at_faces(columns.water_vapour),
            at_faces(columns.temperature), heights=at_faces(columns.heights),
        )  # fmt: skip
        return layer_means(faces, self._area.grid.layer_faces)[1]["east"]

    def _surface(self, place: int, places: _Places) -> dict[str, Array]:
        """Return the fields of the ground that the files have."""
        names, found = self._files.names, dict[str, Array]()

        def read(name: str) -> Array:
            return self._files.read(name, place, places.window)

        for name, variable, factor in _SURFACE:
            if variable in names and name not in found:
                found[name] = places.cells(factor * read(variable))
        if {"U10", "V10"} <= names:
            found["wind at 10 m"] = places.cells(np.hypot(read("U10"), read("V10")))
        if "CLDFRA" in names:
            found["cloud_cover"] = places.cells(total_cover(np.clip(read("CLDFRA"), 0.0, 1.0)))
        if self._rain and (rate := self._rain_rate(place)) is not None:
            found["precipitation"] = rate
        return found

    def _rain_rate(self, place: int) -> Array | None:
        """Return the precipitation at the cells [kg m-2 s-1]: the mean over the intervals before and after a time."""
        times, rates = self._files.times, []
        for first, second in ((place - 1, place), (place, place + 1)):
            if first < 0 or second >= len(times):
                continue
            before, after = self._rain_until(first), self._rain_until(second)
            # a restarted run accumulates from 0 again
            amount = np.where(after < before - _ROUND_OFF, after, np.maximum(after - before, 0.0))
            rates.append(amount / float((times[second] - times[first]) / np.timedelta64(1, "s")))
        return np.asarray(np.mean(rates, axis=0)) if rates else None

    def _rain_until(self, place: int) -> Array:
        """Return the precipitation at the cells since the start of WRF's run [kg m-2], with full buckets."""
        places = self._at(place)
        total = np.zeros(places.window.shape)
        for name, buckets in self._rain:
            total += self._files.read(name, place, places.window)
            if self._files.bucket > 0.0 and buckets in self._files.names:
                total += self._files.bucket * self._files.read(buckets, place, places.window)
        return places.cells(total)
