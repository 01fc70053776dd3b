"""The weather that a case asks for, or that is given in its place."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from airshed.core.constants import SECONDS_PER_DAY
from airshed.core.data import is_dataset
from airshed.core.errors import CaseError, DataError
from airshed.grid import Grid
from airshed.grid.window import Window
from airshed.models.air.case import Case
from airshed.models.air.light import Light
from airshed.models.air.weather import Meteorology, RepeatedDay
from airshed.models.air.weather.daily_mixing import DailyMixing
from airshed.models.air.weather.dataset import DatasetMeteorology
from airshed.models.air.weather.extra import WeatherNeeds
from airshed.models.air.weather.function import CallableMeteorology, Calls
from airshed.models.air.weather.uniform import uniform_meteorology
from airshed.models.air.weather.wrapped import OneAtATime, WindowOf
from airshed.parallel.subdomain import Subdomain

if TYPE_CHECKING:
    import xarray as xr

Array = npt.NDArray[np.float64]
Given: TypeAlias = "xr.Dataset | Callable[[float], xr.Dataset] | Meteorology | None"


NOTHING_MORE = WeatherNeeds()
"""What processes want that do with the fields that every state holds, and with their own columns."""


def weather_of(
    case: Case, grid: Grid, subdomain: Subdomain, land: Array, given: Given, needs: WeatherNeeds = NOTHING_MORE
) -> OneAtATime:
    """Return the air over the columns held here, of a case on the whole `grid`; all ranks call together.

    It may be asked by several threads: `at` for the columns held here, `around` for those with the margin of `needs`,
    as far as the whole reaches. Both have the bits of the whole area's.

    land   (lat, lon) [1] land fraction of the whole grid
    given  what takes the place of the case's weather
    needs  what processes want besides
    raises CaseError for what cannot be weather, DataError where data does not cover the grid or the time
    """
    base = _of_window(case, grid, subdomain, land, given, needs)
    days = int(np.ceil(case.time.spinup.value / SECONDS_PER_DAY))
    repeated = RepeatedDay(base, days) if days and len(base.times) > 1 else base
    wider = subdomain.window.grown(needs.margin, *grid.shape[1:])
    return OneAtATime(repeated, None if subdomain.alone or needs.margin == 0 else subdomain.window.within(wider))


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
        return given if window is None else WindowOf(given, window, grid)
    if settings.kind == "era5":
        from airshed.models.air.weather.era5 import Era5Meteorology
        from airshed.models.air.weather.era5_data import Reading, open_part

        files, length = case.files(settings.files, "meteorology.files"), case.time.length.value
        windows = [wider(tile.window) for tile in subdomain.decomposition.tiles()]
        reading = Reading(windows, subdomain.ranks, case.parallel.input)
        data = open_part(files, grid, start, length, reading, needs.fields)
        return Era5Meteorology(data, grid, start, length=length, land_fraction=land, window=window)
    if settings.kind == "uniform":
        steady = uniform_meteorology(settings, grid, start, land, window, needs.fields)
        return _with_daily_mixing(case, grid if window is None else grid.part(window), steady)
    raise CaseError(
        "this case waits for its meteorology: give it to Simulation(case, meteorology=...), or set "
        'meteorology.kind to "era5" or "uniform"'
    )


def _with_daily_mixing(case: Case, grid: Grid, steady: Meteorology) -> Meteorology:
    """Steady air with the mixing by the sun that a case asks for, as long as it lasts, a whole day with a spin-up."""
    settings = case.meteorology
    if settings.daily_mixing.value == 0.0:
        return steady
    light = Light(grid.lon, grid.lat[:, None], case.time.start, clouds=False)
    last = max(case.time.length.value, SECONDS_PER_DAY if case.time.spinup.value > 0.0 else 0.0)
    depth, largest = settings.mixed_layer.value, settings.daily_mixing.value
    return DailyMixing(steady, grid, light, depth=depth, largest=largest, last=last)


def _check_end(meteorology: Meteorology, length: float) -> None:
    """Raise DataError where data ends more than an interval before the case; for one the last state is held."""
    times = meteorology.times
    if len(times) > 1 and 2.0 * times[-1] - times[-2] < length - 1.0:
        raise DataError(
            f"the meteorology ends {times[-1]:g} s after the start, the case lasts {length:g} s; give data to its end, "
            "or shorten time.length"
        )
