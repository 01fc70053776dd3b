"""A small store: 8 x 6 cells, 40 of them on land, 150 days with a new year, random values."""

from pathlib import Path

import numpy as np

from airshed.grid.land import LandGrid
from airshed.models.pasture.classes import published
from airshed.models.pasture.inputs.block import DAILY, PACKINGS
from airshed.models.pasture.inputs.contents import Inputs
from airshed.models.pasture.inputs.store import new_store
from airshed.models.pasture.weather.calendar import Calendar

NAMES = ("rain", "pan_evaporation", "radiation", "vapour_pressure", "min_temperature", "max_temperature")


def small_grid() -> LandGrid:
    mask = np.ones((8, 6), bool)
    mask[0, :4] = mask[3, 2:6] = False
    return LandGrid(-20.0 + 0.1 * np.arange(8), 140.0 + 0.1 * np.arange(6), mask)


def contents(**changes) -> Inputs:
    grid = small_grid()
    cells = np.arange(grid.cells)
    given = {
        "grid": grid,
        "calendar": Calendar(np.datetime64("2019-11-20"), 150),
        "names": NAMES,
        "soils": {name: dict(published("soil")[name]) for name in list(published("soil"))[:2]},
        "pastures": {name: dict(published("pasture")[name]) for name in list(published("pasture"))[:3]},
        "maps": {
            "soil_class": (cells % 2).astype(np.uint16),
            "pasture_class": (cells % 3).astype(np.uint16),
            "tree_basal_area": 0.5 * cells,
        },
        "initial": {"water_1": 10.0 + cells, "litter": 500.0 - cells},
        "attributes": {"title": "Random cells", "source": "drawn at random", "license": "none needed"},
    }
    return Inputs(**{**given, **changes})


def values_of(what: Inputs) -> dict[str, np.ndarray]:
    """Return random weather that is stored without rounding."""
    random = np.random.default_rng(3)
    rows = {name: what.calendar.days if name in DAILY else what.calendar.weeks for name in what.names}
    numbers = {name: random.integers(0, 255, (rows[name], what.grid.cells)) for name in what.names}
    return {name: PACKINGS[name].unpacked(each, np.float64) for name, each in numbers.items()}


def save_small(path: Path, layout: str = "land", **changes) -> dict[str, np.ndarray]:
    """Write a store and return the weather in it."""
    what = contents(**changes)
    values = values_of(what)
    with new_store(path, what, layout=layout) as store:
        for name, each in values.items():
            store.put(name, 0, each)
    return values
