"""Synthetic weather, computed when it is requested: seeded, the same on any number of ranks, and fast.

A day of a cell is wet with the probability p. Its rain then has an exponential distribution:

    rain = amount max(0, E + log p)
    log p = log p0 + season + waves

E ~ Exp(1) is drawn for each cell and day. The season is a cosine of the year, and two waves have periods of a few days
and lengths of about 1000 km.

All other weather is weekly, from the same waves: warm, bright and dry where they cause no rain. `land` has the means.
The weather is for tests of speed and size, not for results; its attributes state that it is synthetic.

Random numbers are drawn for tiles of cells and blocks of days, each with its own generator. The values of a cell
therefore do not depend on the requested range.
"""

from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.grid.land import LandGrid
from airshed.models.pasture.forms import saturation_pressure
from airshed.models.pasture.inputs import land
from airshed.models.pasture.inputs.block import Block, WeatherSource
from airshed.models.pasture.inputs.contents import Inputs
from airshed.models.pasture.weather.calendar import Calendar

Single = npt.NDArray[np.float32]
TILE: Final = 4096
"""Number of cells that are drawn together: a block of them fits the second-level cache."""
DAYS: Final = 64
TEXT: Final = "The weather is synthetic, from random numbers (seed {seed}); it is not that of any location or year."
_WET_DAY: Final = 8.0  # [mm]
_SPREAD: Final = 0.7
"""Standard deviation of log p due to the waves."""

_SWING: Final = {"radiation": 6.0, "pan_evaporation": 2.3, "min_temperature": 7.0, "max_temperature": 5.5}
"""Half of the difference between January and July at 25 S, in the unit of the field."""

_WAVE: Final = {"radiation": -1.5, "pan_evaporation": -0.6, "min_temperature": 1.0, "max_temperature": -1.2}
"""Effect of a wave that causes rain, in the unit of the field."""


class SyntheticWeather(WeatherSource):
    """Synthetic weather of packed cells; see `WeatherSource`."""

    block_days, has_numbers = DAYS, False
    names = land.NAMES

    def __init__(self, grid: LandGrid, distance: Array, calendar: Calendar, seed: int = 1) -> None:
        self.calendar, self.cells, self._seed, self._lat = calendar, grid.cells, seed, grid.cell_lat
        self._means = {name: land.reference(name, grid.cell_lat, distance) for name in land.NAMES}
        east, north = np.radians(grid.cell_lon), np.radians(grid.cell_lat)
        waves = [np.cos(40.0 * east + 15.0 * north), np.sin(25.0 * north - 20.0 * east)]
        self._waves = np.stack(waves).astype(np.float32)

    def block(self, first: int, days: int, cells: tuple[int, int], dtype: npt.DTypeLike = np.float64) -> Block:
        """Return the values of the weather; see `WeatherSource`."""
        self.calendar.check(first, days, "the synthetic weather")
        low, high = int(self.calendar.week([first])[0]), int(self.calendar.week([first + days - 1])[0])
        weekly = self._weekly(slice(low, high + 1), slice(*cells))
        values = {name: each.astype(dtype, copy=False) for name, each in weekly.items()}
        rain = self._rain(first, days, cells).astype(dtype, copy=False)
        return Block(self.calendar, first, days, {"rain": rain}, values)

    def _rain(self, first: int, days: int, cells: tuple[int, int]) -> Single:
        """Return the rain of days and cells, from their tiles and blocks."""
        rain = np.empty((days, cells[1] - cells[0]), np.float32)
        for block in range(first // DAYS, (first + days - 1) // DAYS + 1):
            start, end = max(block * DAYS, first), min((block + 1) * DAYS, first + days)
            for tile in range(cells[0] // TILE, (cells[1] - 1) // TILE + 1):
                west, east = max(tile * TILE, cells[0]), min((tile + 1) * TILE, cells[1])
                drawn = self._drawn(block, tile)
                part = drawn[start - block * DAYS : end - block * DAYS, west - tile * TILE : east - tile * TILE]
                rain[start - first : end - first, west - cells[0] : east - cells[0]] = part
        return rain

    def _drawn(self, block: int, tile: int) -> Single:
        """Return the rain of a block of days in a tile of cells."""
        cells = slice(tile * TILE, min((tile + 1) * TILE, self.cells))
        days = np.arange(block * DAYS, min((block + 1) * DAYS, self.calendar.days))
        random = np.random.Generator(np.random.SFC64([self._seed, block, tile]))
        rain = random.standard_exponential((len(days), cells.stop - cells.start), np.float32)
        chance, swing, amount = (each[cells] for each in self._wetness)
        rain += chance
        term = np.empty_like(rain)
        season = np.cos(self._season(days)).astype(np.float32)
        for of_day, of_cell in ((season, swing), *zip(self._amplitudes[:, days], self._waves[:, cells], strict=True)):
            rain += np.multiply(of_day[:, None], of_cell, out=term)
        np.maximum(rain, 0.0, out=rain)
        return np.multiply(rain, amount, out=rain)

    def _weekly(self, rows: slice, cells: slice) -> dict[str, Single]:
        """Return the weekly weather (weeks, cells)."""
        north, south_of_tropics = self._lat[cells] + 25.0, -self._lat[cells] / 25.0
        season = np.cos(self._week_season[rows])[:, None].astype(np.float32)
        wave = sum(
            of_week[rows, None] * of_cell
            for of_week, of_cell in zip(self._week_amplitudes, self._waves[:, cells], strict=True)
        )
        fields = {}
        for name, swing in _SWING.items():
            far = np.maximum(south_of_tropics, 0.3).astype(np.float32) * np.float32(swing)
            values = self._means[name][cells].astype(np.float32) + season * far
            fields[name] = np.maximum(
                values + np.float32(_WAVE[name]) * wave, np.float32(-30.0 if name.endswith("temperature") else 0.5)
            )
        share = np.clip(0.85 - 0.004 * north, 0.6, 0.95).astype(np.float32)
        fields["vapour_pressure"] = (saturation_pressure(fields["min_temperature"]) * share).astype(np.float32)
        return fields

    @cached_property
    def _wetness(self) -> tuple[Single, Single, Single]:
        """Log p0 without season and waves, amplitude of the season, and rain of a wet day [mm]."""
        rain = self._means["rain"]
        often = np.clip(rain / 365.25 / _WET_DAY, 0.03, 0.4)
        swing = np.clip(0.6 + 0.09 * (self._lat + 25.0), 0.0, 1.6)  # summer rain in the tropics, no season far south
        spread = 0.5 * _SPREAD**2 * (self._waves.astype(np.float64) ** 2).sum(axis=0)
        chance = np.log(often) - np.log(np.i0(swing)) - spread
        return chance.astype(np.float32), swing.astype(np.float32), (rain / 365.25 / often).astype(np.float32)

    @cached_property
    def _amplitudes(self) -> Single:
        """Amplitudes of the waves on each day (2, days): random, with correlation between days."""
        random = np.random.default_rng([self._seed, 2**31]).standard_normal((2, self.calendar.days + 2))
        smooth = (random[:, :-2] + random[:, 1:-1] + random[:, 2:]) / np.sqrt(3.0)
        return np.asarray(_SPREAD * smooth, np.float32)

    @cached_property
    def _week_amplitudes(self) -> Single:
        """Normalised mean amplitudes of the waves in each week (2, weeks)."""
        weeks = self.calendar.week(np.arange(self.calendar.days))
        counts = np.bincount(weeks, minlength=self.calendar.weeks)
        sums = [np.bincount(weeks, each, self.calendar.weeks) / np.maximum(counts, 1) for each in self._amplitudes]
        return np.asarray(np.stack(sums) / _SPREAD, np.float32)

    @cached_property
    def _week_season(self) -> Array:
        weeks = self.calendar.week(np.arange(self.calendar.days))
        first = np.searchsorted(weeks, np.arange(self.calendar.weeks))
        return self._season(np.minimum(first + 3, self.calendar.days - 1))

    def _season(self, days: npt.ArrayLike) -> Array:
        """Return the angle of the year, 0 in the middle of January."""
        return np.asarray(2.0 * np.pi * (self.calendar.day_of_year(days) - 15.0) / 365.25)


def synthetic_inputs(area: str, spacing: float, calendar: Calendar, seed: int = 1) -> Inputs:
    """Return inputs of an area on a grid [degrees] with synthetic weather, maps and initial state."""
    grid = land.land_grid(area, spacing)
    weather = SyntheticWeather(grid, land.coast_distance(grid.cell_lat, grid.cell_lon), calendar, seed)
    attributes = {
        "title": f"Synthetic inputs of the pasture model: {area}, {spacing:g} degree",
        "source": "airshed.models.pasture.inputs.synthetic", "license": "none needed",
        "synthetic": f"{TEXT.format(seed=seed)} {land.MAP_TEXT.format(seed=seed)}",
    }  # fmt: skip
    return Inputs(
        grid, calendar, weather.names, **land.synthetic_land(grid, seed), attributes=attributes,
        source=weather, where="synthetic inputs",
    )  # fmt: skip
