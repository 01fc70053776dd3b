"""Meteorology from ERA5 fields on model or pressure levels."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from airshed.core.arrays import Array
from airshed.core.constants import GAS_CONSTANT, GRAVITY
from airshed.core.saturation import mixed_phase_saturation, saturation_vapour_pressure
from airshed.grid import Grid
from airshed.grid.window import Window
from airshed.io.era5 import full_level_pressure
from airshed.models.air.weather import atmosphere
from airshed.models.air.weather.atmosphere import total_cover
from airshed.models.air.weather.columns import (
    Columns,
    above_ground,
    layer_means,
    pressure_of_height,
    thickness_temperature,
)
from airshed.models.air.weather.diagnose import Diagnosis, Instant
from airshed.models.air.weather.era5_data import Era5Data
from airshed.models.air.weather.fields import WeatherField
from airshed.models.air.weather.placement import Area
from airshed.models.air.weather.points import Points
from airshed.models.air.weather.state import CheckedSeries, around

Given = Mapping[str, Array]
"""Fields of an instant at the points of the data, by their names in ERA5."""

_ACCUMULATION = 3600.0
_WATER = 1000.0


class Era5Meteorology(CheckedSeries):
    """ERA5 on the model grid; linear between its times.

    ``dataset`` is from ``read_era5``, or from ``open_era5``, which reads an instant on request, or from ``open_part``
    for the same grid, start, length and window. ``MeteorologyWrapper.take`` prefetches instants on a thread.

    ``length`` [s] is the period that the case needs; if the data ends less than one interval before its end, the last
    instant is repeated. ``land_fraction`` (nlat, nlon) is that of the whole grid, by default ``lsm`` of the file, or
    else 1. With a ``window`` the states contain only its columns, bitwise identical to the whole grid. ``extra`` are
    fields that processes request, also given to ``open_part``: a state has those cell fields that are in the files.
    raises  DataError if the data does not cover the grid or the time, or lacks fields for heights
    """

    def __init__(
        self,
        dataset: xr.Dataset | Era5Data,
        grid: Grid,
        start: np.datetime64,
        *,
        length: float | None = None,
        land_fraction: Array | None = None,
        window: Window | None = None,
        extra: Sequence[WeatherField] = (),
    ) -> None:
        data = dataset
        if not isinstance(data, Era5Data):
            data = Era5Data.of(data, grid, start, length, window, extra)
        area, land = Area.of(grid, window), data.head.land if land_fraction is None else land_fraction
        columns = Era5Columns(data, area, start, land)
        times, self._data = data.head.period.times, data
        self._diagnosis = Diagnosis(area.grid, area.land(land), start, times, columns.instant)
        super().__init__(times, area, self._diagnosis.state, data.head.provenance)

    def take(self, moments: Sequence[float]) -> None:
        """Load the states at some times; see :meth:`airshed.models.air.weather.state.MeteorologyWrapper.take`.

        Data without the boundary-layer height needs the heat of all earlier instants: instants that the run skipped are
        read one by one.
        """
        wanted = list(dict.fromkeys(index for moment in moments for index in around(self.times, moment)))
        if self._data.head.needs_heat:
            for index in wanted:
                if index - 1 not in wanted:
                    self._sum_heat(index - 1)
            self._diagnosis.forget_heat(wanted)
        self._data.instants.take(wanted)

    def close(self) -> None:
        """Close the files."""
        self._data.instants.close()

    def _sum_heat(self, last: int) -> None:
        for index in range(self._diagnosis.summed_before(last), last + 1):
            self._data.instants.take([index])
            self._diagnosis.sum_heat(index)


class Era5Columns:
    """Interpolation of instants from the points and levels of the data to a part of the model grid."""

    def __init__(self, data: Era5Data, area: Area, start: np.datetime64, land: Array | None) -> None:
        """Prepare the weights; ``land`` is the land fraction of the cells of the whole grid, None for land only."""
        head = data.head
        self._grid, self._points, self._head = area.grid, Points(head.lat, head.lon, area), head
        self._start, self._instants = start.astype("datetime64[ns]"), data.instants
        self._land_at_points = self._points.from_cells(np.ones(area.whole.shape[1:]) if land is None else land)
        self._rotation = None if head.rotation is None else self._points.of(head.rotation)

    def instant(self, index: int) -> Instant:
        """Return the data of an instant on the model grid."""
        given = {name: np.asarray(values, np.float64) for name, values in self._instants(index).items()}
        self._turn_winds(given)
        cells, extra = self._points.cells, self._head.extra

        def surface(name: str) -> Array | None:
            return cells(given[name]) if name in given else None

        # Means over the layers of the model.
        columns = self._columns(given, index)
        face_pressure, means = layer_means(columns, self._grid.layer_faces)
        winds = means.pop("east"), means.pop("north")
        water_vapour, temperature = np.maximum(cells(means.pop("water_vapour")), 0.0), cells(means.pop("temperature"))
        density = atmosphere.hydrostatic_density(cells(face_pressure), water_vapour, self._grid.thickness)

        # Total cloud cover, of the data or from levels.
        cloud = surface("tcc")
        if cloud is None and "cc" in given:
            cloud = cells(total_cover(above_ground(columns.pressure, columns.surface_pressure, given["cc"])))
        found = {
            "eastward_wind": self._points.wind("x", *winds),
            "northward_wind": self._points.wind("y", *winds),
            "temperature": temperature, "pressure": density * GAS_CONSTANT * temperature, "water_vapour": water_vapour,
            "surface_pressure": cells(columns.surface_pressure), "air_density": density, "cloud_cover": cloud,
            "surface_temperature": surface("t2m"), "friction_velocity": surface("zust"),
            "boundary_layer_height": surface("blh"), "precipitation": self._rate(given, "tp", _WATER),
            "evaporation": self._rate(given, "e", -_WATER), "solar radiation": self._rate(given, "ssrd", 1.0),
            "sensible heat flux": self._rate(given, "sshf", -1.0),
            "wind at 10 m": cells(np.hypot(given["u10"], given["v10"])) if {"u10", "v10"} <= given.keys() else None,
            **{name: cells(values) for name, values in means.items()},
            **{each.name: cells(given[name]) for each, name in extra if each.place == "surface"},
        }  # fmt: skip
        fields = {name: values for name, values in found.items() if values is not None}
        return Instant(fields, temperature_is_read=bool({"t", "z", "gh"} & given.keys()))

    def _turn_winds(self, given: dict[str, Array]) -> None:
        """Replace winds along the axes of the data by those to the east and north."""
        if self._rotation is None:
            return
        cosine, sine = np.cos(self._rotation), np.sin(self._rotation)
        for x, y in (("u", "v"), ("u10", "v10")):
            if {x, y} <= given.keys():
                given[x], given[y] = cosine * given[x] - sine * given[y], sine * given[x] + cosine * given[y]

    def _rate(self, given: Given, name: str, factor: float) -> Array | None:
        """Return the rate of a quantity that ERA5 accumulates over the hour before each time.

        At an instant it is the mean of the hour before and the hour after.
        """
        if name not in given:
            return None
        hours = given[name]
        hour = hours[0] if len(hours) == 1 else 0.5 * (hours[0] + hours[1])
        rate = self._points.cells(hour) * (factor / _ACCUMULATION)
        return np.maximum(rate, 0.0) if name in ("tp", "ssrd") else rate

    def _columns(self, given: Given, index: int) -> Columns:
        """Return the levels of an instant at the data's points."""
        levels, on_model_levels = self._head.levels, self._head.on_model_levels
        when = self._start + np.timedelta64(round(self._head.period.times[index] * 1e9), "ns")
        surface_pressure = given["sp"] if "sp" in given else np.exp(given["lnsp"]) if "lnsp" in given else None

        # Pressure of levels, and at the ground: at its height, which is sea level if the data does not have it.
        if on_model_levels:
            assert surface_pressure is not None
            pressure = full_level_pressure(levels, surface_pressure)
        else:
            pressure = np.broadcast_to(levels[:, None, None].astype(np.float64), given["u"].shape)
        geopotential = None if on_model_levels else given.get("z")
        if geopotential is None and not on_model_levels and "gh" in given:
            geopotential = GRAVITY * given["gh"]
        if surface_pressure is None:
            assert geopotential is not None
            ground = given["zs"] / GRAVITY if "zs" in given else given.get("orog", np.zeros(pressure.shape[1:]))
            dry = thickness_temperature(pressure, geopotential, np.zeros(pressure.shape))
            surface_pressure = pressure_of_height(pressure, geopotential / GRAVITY, dry, ground)

        # The wind at 10 m, and dew point and temperature at 2 m, are used at the ground if the lowest level is higher.
        low_wind = None if on_model_levels or not {"u10", "v10"} <= given.keys() else (given["u10"], given["v10"])
        temperature, ground_vapour = given.get("t"), None
        vapour = self._vapour(given, when, pressure, surface_pressure, geopotential)
        if "d2m" in given and not on_model_levels:
            ground_vapour = saturation_vapour_pressure(given["d2m"]) / surface_pressure
        low_temperature = given.get("t2m") if temperature is not None and not on_model_levels else None
        if temperature is None:
            temperature = self._temperature(given, when, pressure, surface_pressure, vapour, geopotential)
        extra = {each.name: given[name] for each, name in self._head.extra if each.place == "cells"}
        return Columns(
            pressure,
            surface_pressure,
            given["u"],
            given["v"],
            vapour,
            temperature,
            geopotential,
            low_wind,
            ground_vapour,
            low_temperature,
            extra=extra,
        )

    def _vapour(
        self, given: Given, when: np.datetime64, pressure: Array, surface_pressure: Array, geopotential: Array | None
    ) -> Array:
        """Return water vapour [mol/mol] of the data, or at the standard relative humidity."""
        if "q" in given:
            return atmosphere.mole_fraction(np.maximum(given["q"], 0.0))
        temperature = given.get("t")
        if "r" in given and (temperature is not None or geopotential is not None):
            if temperature is None:
                assert geopotential is not None
                temperature = thickness_temperature(pressure, geopotential, np.zeros(pressure.shape))
            saturated = np.minimum(mixed_phase_saturation(temperature) / pressure, 1.0)
            return np.asarray(np.clip(given["r"], 0.0, 1.2) * saturated)
        if temperature is None:
            sea_level = atmosphere.sea_level_temperature(when, self._points.lat)[:, None]
            temperature = atmosphere.standard_lapse(sea_level, pressure)
        return atmosphere.standard_water_vapour(pressure, temperature, surface_pressure)

    def _temperature(
        self, given: Given, when: np.datetime64, pressure: Array, surface_pressure: Array, vapour: Array,
        geopotential: Array | None,
    ) -> Array:  # fmt: skip
        """Return the temperature [K] of the geopotential, or from date, latitude, hour and humidity."""
        if geopotential is not None:
            return thickness_temperature(pressure, geopotential, vapour)
        assert self._head.air_mass is not None
        humid = self._points.of(self._head.air_mass.at(when))
        sea_level = np.maximum(atmosphere.sea_level_temperature(when, self._points.lat)[:, None], humid)
        if "t2m" in given:
            near_ground = given["t2m"] - atmosphere.standard_lapse(sea_level, surface_pressure)
        else:
            near_ground = atmosphere.diurnal_wave(when, self._points.lat, self._points.lon, self._land_at_points)
        return atmosphere.temperature_profile(pressure, surface_pressure, sea_level, near_ground, vapour)
