"""Weather of a case: analytic air, ERA5 files, or data of the user."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from airshed.core.arrays import Array
from airshed.core.constants import (
    GAS_CONSTANT,
    GRAVITY,
    MOLAR_MASS_DRY_AIR,
    MOLAR_MASS_WATER,
    SECONDS_PER_DAY,
)
from airshed.core.data import is_dataset
from airshed.core.errors import CaseError, DataError
from airshed.core.text import duration, number
from airshed.grid import Grid
from airshed.grid.window import Window
from airshed.models.air.case import Case
from airshed.models.air.case.sections import MeteorologySection
from airshed.models.air.case.steady_wind import steady_wind
from airshed.models.air.light import Light
from airshed.models.air.weather.dataset import CallableMeteorology, Calls, DatasetMeteorology
from airshed.models.air.weather.fields import WeatherField, WeatherNeeds, by_name
from airshed.models.air.weather.placement import Area, PlacedField
from airshed.models.air.weather.state import (
    CheckedSeries,
    LockedMeteorology,
    Meteorology,
    MeteorologyWindow,
    MetState,
    RepeatedDay,
)
from airshed.parallel.domain import Subdomain

if TYPE_CHECKING:
    import xarray as xr


WATER_DENSITY: Final = 1000.0
"""Density of rain [kg m-3]."""

MOST_WIND: Final = 1e3
"""Upper limit of wind speed [m/s], as for data."""


def uniform_meteorology(
    settings: MeteorologySection, grid: Grid, start: np.datetime64, land: Array, window: Window | None = None,
    extra: Sequence[WeatherField] = (),
) -> DatasetMeteorology:  # fmt: skip
    """Return steady air from the values of a case: isothermal, hydrostatic, with winds at the cell faces.

    p(z) = p0 exp(-g M z / (R T)); rotation with period P about the middle (lon0, lat0) of the area [m/s],

        u = -omega R cos(lat) (sin(lat) - sin(lat0)) / cos^2(lat0),  v = omega R cos^2(lat0) / cos(lat) (lon - lon0)

    with omega = 2 pi / P. In the equal-area coordinates longitude and sin(lat) this is a harmonic oscillator: the flow
    is non-divergent and periodic with P at any latitude, and a solid-body rotation near the middle. The middle is that
    of the whole ``grid``, also for the states of a ``window``. Raises CaseError for a wind above the limit.
    """
    lon, lat = grid.middle
    (at_x, at_y), whole = grid.face_centres, Area.of(grid, None)
    of_x, of_y = (steady_wind(settings, *np.radians(places), *np.radians([lon, lat])) for places in (at_x, at_y))
    wind_x, wind_y = whole.wind_along("x", *of_x), whole.wind_along("y", *of_y)
    fastest = max(float(np.abs(wind_x).max()), float(np.abs(wind_y).max()))
    if not fastest <= MOST_WIND:
        raise CaseError(
            f"meteorology.eastward, northward and rotation give a wind of {fastest:.3g} m/s, above the limit of "
            f"{MOST_WIND:g} m/s; take a slower one, or an area farther from the poles"
        )
    temperature, height = settings.temperature.value, grid.level
    pressure = settings.pressure.value * np.exp(-GRAVITY * MOLAR_MASS_DRY_AIR * height / (GAS_CONSTANT * temperature))
    ratio = settings.water_vapour.value
    humidity = ratio * MOLAR_MASS_WATER / (ratio * MOLAR_MASS_WATER + (1.0 - ratio) * MOLAR_MASS_DRY_AIR)
    y, x = grid.dims
    data: dict[str, PlacedField] = {
        "eastward_wind": PlacedField((y, f"{x}_face"), wind_x),
        "northward_wind": PlacedField((f"{y}_face", x), wind_y),
        "air_temperature": PlacedField(("level",), np.full(height.size, temperature)),
        "air_pressure": PlacedField(("level",), pressure),
        "specific_humidity": PlacedField(("level",), np.full(height.size, humidity)),
        "atmosphere_heat_diffusivity": PlacedField(("level",), np.full(height.size, settings.diffusivity.value)),
        "cloud_area_fraction": PlacedField((), np.asarray(settings.cloud_cover)),
    }
    if settings.precipitation.value > 0.0:
        data["precipitation_flux"] = PlacedField((), np.asarray(WATER_DENSITY * settings.precipitation.value))
    base, top = settings.cloud_base.value, settings.cloud_top.value
    if settings.cloud_water.value > 0.0:
        inside = np.minimum(grid.layer_faces[1:], top) - np.maximum(grid.layer_faces[:-1], base)
        part = np.maximum(inside, 0.0) / grid.thickness
        data[by_name()["cloud_water"].cf_name] = PlacedField(("level",), part * settings.cloud_water.value)
    if settings.updraught.value > 0.0:
        growth = np.minimum(grid.layer_faces / max(base, 1.0), 1.0)  # up to the cloud base
        flux = np.where(grid.layer_faces < top, growth, 0.0) * settings.updraught.value
        data[by_name()["updraught_mass_flux"].cf_name] = PlacedField(("level_face",), flux)
    return DatasetMeteorology(data, grid, start, land_fraction=land, window=window, extra=extra)


_HOUR = 3600.0
_PEAK = 27.0 / 4.0
"""Normalisation of s (1 - s)^2, whose maximum is at s = 1/3."""
_LEAST_DEPTH = 1e-3
"""Minimum depth of the mixed layer [m], below any face between layers."""


class DailyMixing(CheckedSeries):
    """Steady air with a turbulent layer that depends on the solar zenith angle; hourly instants, linear in between.

        K(z) = K0 + K1 c 27/4 s (1 - s)^2,   s = z / (depth c) < 1,   c = max(cos zenith angle, 0)

    with K0 the diffusivity of ``base``; the profile is that of O'Brien 1970, J. Atmos. Sci. 27, 1213-1215, with zero
    diffusivity at its top. It depends only on location and time, so that a part of the grid is bitwise identical.

    base   the steady air of ``grid``, which may be a part of the grid of a case
    depth  [m] of the layer with the sun overhead;  largest  [m2/s] its K1
    last   [s] since the start, the end of the period
    """

    def __init__(
        self, base: Meteorology, grid: Grid, light: Light, *, depth: float, largest: float, last: float
    ) -> None:  # fmt: skip
        self._base, self._light, self._depth, self._largest = base, light, depth, largest
        self._heights = grid.layer_faces[1:-1, None, None]
        count = int(np.ceil(last / _HOUR))
        text = f"diagnosed: up to {number(largest)} m2/s in a layer of up to {number(depth)} m, by solar zenith angle"
        super().__init__(
            tuple(_HOUR * hour for hour in range(count + 1)), Area.of(grid, None), self._state,
            {**base.provenance, "diffusivity": text},
        )  # fmt: skip

    def _state(self, hour: int) -> MetState:
        """Return the air at a full hour since the start."""
        steady = self._base.at(_HOUR * hour)
        height = np.maximum(self._light.cos_zenith(_HOUR * hour), 0.0)
        diffusivity = steady.diffusivity.copy()
        diffusivity[1:-1] += self._largest * height * mixing_profile(self._heights, self._depth * height)
        layer = np.maximum(steady.boundary_layer_height, self._depth * height)
        return steady.replaced(diffusivity=diffusivity, boundary_layer_height=layer)


def mixing_profile(heights: Array, depth: Array) -> Array:
    """Return 27/4 s (1 - s)^2 with s = height / depth [1], 0 above the depth; the maximum is 1 at s = 1/3."""
    part = np.minimum(heights / np.maximum(depth, _LEAST_DEPTH), 1.0)
    return np.asarray(_PEAK * part * (1.0 - part) ** 2)


Given: TypeAlias = "xr.Dataset | Callable[[float], xr.Dataset] | Meteorology | None"


NOTHING_MORE = WeatherNeeds()
"""Default needs of processes: no optional fields, and no margin of columns."""


def weather_of(
    case: Case, grid: Grid, subdomain: Subdomain, land: Array, given: Given, needs: WeatherNeeds = NOTHING_MORE
) -> LockedMeteorology:
    """Return the weather over the columns of this rank, for a case on the whole `grid`; collective.

    It is thread-safe: `at` is for the columns of this rank, `around` for these and the margin of `needs` within the
    grid. Both are bitwise identical to the whole area.

    land   (lat, lon) [1] land fraction of the whole grid
    given  data that replaces the weather of the case
    needs  additional fields that processes require
    raises CaseError for invalid weather, DataError if data does not cover the grid or the time
    """
    base = _of_window(case, grid, subdomain, land, given, needs)
    days = int(np.ceil(case.time.spinup.value / SECONDS_PER_DAY))
    repeated = RepeatedDay(base, days) if days and len(base.times) > 1 else base
    wider = subdomain.window.grown(needs.margin, *grid.shape[1:])
    return LockedMeteorology(repeated, None if subdomain.alone or needs.margin == 0 else subdomain.window.within(wider))


def _of_window(
    case: Case, grid: Grid, subdomain: Subdomain, land: Array, given: Given, needs: WeatherNeeds
) -> Meteorology:
    def wider(window: Window) -> Window:
        return window.grown(needs.margin, *grid.shape[1:])

    start, settings, window = case.start, case.meteorology, None if subdomain.alone else wider(subdomain.window)
    if is_dataset(given):
        dataset = DatasetMeteorology(given, grid, start, land_fraction=land, window=window, extra=needs.fields)
        _check_end(dataset, case.time.length.value)
        return dataset
    if callable(given):
        first, last = 0.0 - case.time.spinup.value, case.time.length.value
        every = min(3600.0, last / 24.0) if settings.every == "auto" else settings.every.value
        calls = Calls(start, every, first, last)
        return CallableMeteorology(given, grid, calls, land_fraction=land, window=window, extra=needs.fields)
    if given is not None:
        if not (hasattr(given, "at") and hasattr(given, "times")):
            raise CaseError(
                f"the meteorology is a {type(given).__name__}; give an xarray.Dataset with CF names such as "
                "eastward_wind, or a function that takes seconds and returns one"
            )
        return given if window is None else MeteorologyWindow(given, window, grid)
    if settings.kind in ("era5", "files"):
        from airshed.models.air.weather.era5 import Era5Meteorology
        from airshed.models.air.weather.era5_data import ReadingPlan, open_part

        files, length = case.files(settings.files, "meteorology.files"), case.time.length.value
        windows = [wider(tile.window) for tile in subdomain.decomposition.tiles()]
        reading = ReadingPlan(windows, subdomain.ranks, case.parallel.input)
        data = open_part(files, grid, start, length, reading, needs.fields)
        return Era5Meteorology(data, grid, start, length=length, land_fraction=land, window=window)
    if settings.kind == "wrf":
        from airshed.models.air.weather.wrf import WrfMeteorology

        files, length = case.files(settings.files, "meteorology.files"), case.time.length.value
        return WrfMeteorology(files, grid, start, length=length, land_fraction=land, window=window, extra=needs.fields)
    if settings.kind == "uniform":
        steady = uniform_meteorology(settings, grid, start, land, window, needs.fields)
        return _with_daytime_diffusivity(case, grid if window is None else grid.part(window), steady)
    raise CaseError(
        "this case has no meteorology: give it to Simulation(case, meteorology=...), or set "
        'meteorology.kind to "files", "wrf" or "uniform"'
    )


def _with_daytime_diffusivity(case: Case, grid: Grid, steady: Meteorology) -> Meteorology:
    """Return steady air with the daytime mixing of a case, for its length, and for a whole day with a spin-up."""
    settings = case.meteorology
    if settings.daytime_diffusivity.value == 0.0:
        return steady
    light = Light(grid.lon, grid.lat, case.time.start, clouds=False)
    last = max(case.time.length.value, SECONDS_PER_DAY if case.time.spinup.value > 0.0 else 0.0)
    depth, largest = settings.mixed_layer.value, settings.daytime_diffusivity.value
    return DailyMixing(steady, grid, light, depth=depth, largest=largest, last=last)


def _check_end(meteorology: Meteorology, length: float) -> None:
    """Raise DataError if data ends more than an interval before the case; the last state is valid for one interval."""
    times = meteorology.times
    if len(times) > 1 and 2.0 * times[-1] - times[-2] < length - 1.0:
        raise DataError(
            f"the meteorology ends {duration(times[-1])} after the start, but the case lasts {duration(length)}; give "
            "data for the whole period, or shorten time.length"
        )
