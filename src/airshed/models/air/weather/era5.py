"""Meteorology from ERA5 fields on model or pressure levels."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from airshed.core.constants import GAS_CONSTANT, GRAVITY
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
from airshed.models.air.weather.placement import Area, Points
from airshed.models.air.weather.series import CheckedSeries, around

Array = NDArray[np.float64]

_ACCUMULATION = 3600.0
_WATER = 1000.0


class Era5Meteorology(CheckedSeries):
    """The atmosphere of ERA5 on the model grid; linear between its times.

    ``dataset`` is that of ``read_era5``, or of ``open_era5``, of which it reads an instant when it is asked for, or
    what ``open_part`` opened for the same grid, start, length and window. Of an instant that is taken in time (see
    ``ReadInTime``), a thread has read the data before.

    ``length`` [s] is the time that the case needs; where the data ends less than one of its intervals before that, the
    last instant is held. ``land_fraction`` (nlat, nlon) of the whole grid tells land from sea; without it the file's
    ``lsm`` does, and without that all is land. With a ``window`` the states are of its columns alone, the same to the
    bit as those of the whole grid there. ``extra`` are fields that processes ask for, to be named already where
    ``open_part`` opened the data: a state holds those of the cells that the files have.
    raises  DataError where the data does not cover the grid or the time, or lacks what heights need
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
        """Have the states at some times at hand; see ``ReadInTime``.

        Data that tells no depth of the boundary layer needs the heat of all instants before: where the run did not come
        by them, they are read one by one.
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
    """Brings one instant after the other from the data's points and levels onto a part of the model grid."""

    def __init__(self, data: Era5Data, area: Area, start: np.datetime64, land: Array | None) -> None:
        """``land`` is the land fraction of the whole grid's cells; None: all is land."""
        head = data.head
        self._grid, self._points = area.grid, Points(head.lat, head.lon, area)
        self._start = start.astype("datetime64[ns]")
        self._times, self._levels, self._on_model_levels = head.period.times, head.levels, head.on_model_levels
        self._fields, self._instants, self._extra = head.names, data.instants, head.extra
        self._land_at_points = self._points.from_cells(np.ones(area.whole.shape[1:]) if land is None else land)
        self._air_mass = None if head.air_mass is None else self._points.of(head.air_mass)

    def instant(self, index: int) -> Instant:
        """Return the data of an instant on the model grid."""
        columns = self._columns(index)
        means = layer_means(columns, self._grid.layer_faces)
        face_pressure = self._points.cells(means.face_pressure)
        water_vapour = np.maximum(self._points.cells(means.water_vapour), 0.0)
        density = atmosphere.hydrostatic_density(face_pressure, water_vapour, self._grid.thickness)
        layer_temperature = self._points.cells(means.temperature)
        return Instant(
            eastward_wind=self._points.wind_through_x_faces(means.east, means.north),
            northward_wind=self._points.wind_through_y_faces(means.east, means.north),
            temperature=layer_temperature,
            pressure=density * GAS_CONSTANT * layer_temperature,
            water_vapour=water_vapour,
            surface_pressure=self._points.cells(columns.surface_pressure),
            temperature_is_read="t" in self._fields or "z" in self._fields,
            air_density=density,
            surface_temperature=self._surface("t2m", index),
            wind_speed_10m=self._wind_speed(index),
            cloud_cover=self._cloud(index, columns),
            friction_velocity=self._surface("zust", index),
            boundary_layer_height=self._surface("blh", index),
            precipitation=self._rate("tp", index, _WATER),
            evaporation=self._rate("e", index, -_WATER),
            shortwave=self._rate("ssrd", index, 1.0),
            sensible_heat=self._rate("sshf", index, -1.0),
            extra={
                **{name: self._points.cells(values) for name, values in means.extra.items()},
                **{
                    each.name: self._points.cells(self._raw(name, index))
                    for each, name in self._extra
                    if each.place == "surface"
                },
            },
        )

    def _raw(self, name: str, index: int) -> Array:
        """Return a field of an instant at the data's points."""
        return np.asarray(self._instants(index)[name], dtype=np.float64)

    def _surface(self, name: str, index: int) -> Array | None:
        """Return a surface field of an instant in the model's cells, None where the data lacks it."""
        return self._points.cells(self._raw(name, index)) if name in self._fields else None

    def _wind_speed(self, index: int) -> Array | None:
        """Return the wind speed at 10 m in the model's cells [m/s]."""
        if not {"u10", "v10"} <= self._fields:
            return None
        return self._points.cells(np.hypot(self._raw("u10", index), self._raw("v10", index)))

    def _rate(self, name: str, index: int, factor: float) -> Array | None:
        """Return the rate of a quantity that ERA5 accumulates over the hour before each time.

        Between two hours of data it is the mean of the hour before and the hour after.
        """
        if name not in self._fields:
            return None
        hours = self._raw(name, index)
        hour = hours[0] if len(hours) == 1 else 0.5 * (hours[0] + hours[1])
        rate = self._points.cells(hour) * (factor / _ACCUMULATION)
        return np.maximum(rate, 0.0) if name in ("tp", "ssrd") else rate

    def _cloud(self, index: int, columns: Columns) -> Array | None:
        """Return the total cloud cover that the data gives, directly or as fractions of levels."""
        if "tcc" in self._fields:
            return self._surface("tcc", index)
        if "cc" in self._fields:
            layers = above_ground(columns.pressure, columns.surface_pressure, self._raw("cc", index))
            return self._points.cells(total_cover(layers))
        return None

    def _columns(self, index: int) -> Columns:
        """Return the levels of an instant at the data's points."""
        shape = (self._levels.size, self._points.lat.size, self._points.lon.size)
        surface_pressure = self._given_surface_pressure(index)
        if self._on_model_levels:
            assert surface_pressure is not None
            pressure = full_level_pressure(self._levels, surface_pressure)
        else:
            pressure = np.broadcast_to(self._levels[:, None, None].astype(np.float64), shape)
        geopotential = None if self._on_model_levels or "z" not in self._fields else self._raw("z", index)
        if surface_pressure is None:
            assert geopotential is not None
            surface_pressure = self._pressure_of_ground(index, pressure, geopotential)
        vapour = self._vapour(index, pressure, surface_pressure)
        return Columns(
            pressure=pressure,
            surface_pressure=surface_pressure,
            east=self._raw("u", index),
            north=self._raw("v", index),
            water_vapour=vapour,
            temperature=self._temperature(index, pressure, surface_pressure, vapour, geopotential),
            geopotential=geopotential,
            ground_wind=self._ground_wind(index),
            extra={each.name: self._raw(name, index) for each, name in self._extra if each.place == "cells"},
        )

    def _given_surface_pressure(self, index: int) -> Array | None:
        """Return the surface pressure [Pa] of the data."""
        if "sp" in self._fields:
            return self._raw("sp", index)
        return np.asarray(np.exp(self._raw("lnsp", index))) if "lnsp" in self._fields else None

    def _pressure_of_ground(self, index: int, pressure: Array, geopotential: Array) -> Array:
        """Return the pressure [Pa] at the height of the ground, which is sea level where the data does not say."""
        ground = self._raw("zs", index) / GRAVITY if "zs" in self._fields else np.zeros(pressure.shape[1:])
        dry = thickness_temperature(pressure, geopotential, np.zeros(pressure.shape))
        return pressure_of_height(pressure, geopotential / GRAVITY, dry, ground)

    def _vapour(self, index: int, pressure: Array, surface_pressure: Array) -> Array:
        """Return water vapour [mol/mol] of the data, or at the standard relative humidity."""
        if "q" in self._fields:
            return atmosphere.mole_fraction(np.maximum(self._raw("q", index), 0.0))
        if "t" in self._fields:
            given = self._raw("t", index)
        else:
            sea_level = atmosphere.sea_level_temperature(self._when(index), self._points.lat)[:, None]
            given = atmosphere.standard_lapse(sea_level, pressure)
        return atmosphere.standard_water_vapour(pressure, given, surface_pressure)

    def _temperature(
        self, index: int, pressure: Array, surface_pressure: Array, vapour: Array, geopotential: Array | None
    ) -> Array:
        """Return the temperature [K] of the data, of its geopotential, or from date, latitude, hour and humidity."""
        if "t" in self._fields:
            return self._raw("t", index)
        if geopotential is not None:
            return thickness_temperature(pressure, geopotential, vapour)
        assert self._air_mass is not None
        when = self._when(index)
        sea_level = np.maximum(atmosphere.sea_level_temperature(when, self._points.lat)[:, None], self._air_mass)
        if "t2m" in self._fields:
            near_ground = self._raw("t2m", index) - atmosphere.standard_lapse(sea_level, surface_pressure)
        else:
            near_ground = atmosphere.diurnal_wave(when, self._points.lat, self._points.lon, self._land_at_points)
        return atmosphere.temperature_profile(pressure, surface_pressure, sea_level, near_ground, vapour)

    def _ground_wind(self, index: int) -> tuple[Array, Array] | None:
        """Return the wind at 10 m, where the lowest level lies higher than that."""
        if self._on_model_levels or not {"u10", "v10"} <= self._fields:
            return None
        return self._raw("u10", index), self._raw("v10", index)

    def _when(self, index: int) -> np.datetime64:
        """Return the time of an instant, UTC."""
        return np.datetime64(self._start + np.timedelta64(round(self._times[index] * 1e9), "ns"))
