"""The emission of a window's cells has the bits of the whole grid's."""

import numpy as np
import pytest
import xarray as xr
from tests.models.air.emissions.gridded_files import gridded

from airshed.grid import Grid
from airshed.grid.window import Window
from airshed.models.air.emissions import (
    GriddedEmissions,
    InventorySettings,
    PointEmissions,
    PointSource,
    build_inventory,
)
from airshed.models.air.emissions.biogenic import isoprene_emission

START = np.datetime64("2022-08-31T00:00:00")
GRID = Grid.regular((2.0, 8.0), (49.0, 52.0), 0.25, [20.0, 100.0, 400.0, 1000.0, 3000.0])
ROWS, COLUMNS = GRID.shape[1:]
WINDOWS = [
    Window.whole(ROWS, COLUMNS), Window(0, 1, 0, COLUMNS), Window(ROWS - 1, ROWS, COLUMNS - 1, COLUMNS),
    Window(5, 6, 7, 8), Window(0, ROWS, COLUMNS - 3, COLUMNS),
    *(Window(s, s + 6, w, w + 8) for s in (0, 6) for w in (0, 8, 16)),
]  # fmt: skip


@pytest.fixture(scope="module")
def inventory(tmp_path_factory, small_inventory, species):
    folder = small_inventory(tmp_path_factory.mktemp("inventory") / "small")
    return build_inventory(InventorySettings(folder), GRID, START, species)


def fields():
    random = np.random.default_rng(5)
    coords = {
        "time": START + np.array([0, 2], "timedelta64[h]"),
        "level": [0, 1],
        "lat": np.arange(48.8, 52.3, 0.2),
        "lon": np.arange(1.2, 9.0, 0.31),
    }
    shape = [len(values) for values in coords.values()]
    return gridded(xr.Dataset({"CO": (list(coords), random.random(shape), {"units": "mol s-1"})}, coords), GRID, START)


def points():
    return PointEmissions([PointSource("CO", 2.0, 49.0, 0.0, 1.0), PointSource("NO", 7.9, 51.99, 150.0, 2.0)], GRID)


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_a_parts_rate_is_the_wholes_cut(inventory, window):
    for source in (inventory, fields(), points()):
        part = source.part(window)
        assert (part.species, part.levels) == (source.species, source.levels)
        for seconds in (0.0, 7.5 * 3600.0):
            if not isinstance(source, GriddedEmissions) or seconds == 0.0:
                rate = part.rate(seconds)
                assert rate.flags.c_contiguous
                assert not rate.flags.writeable
                assert rate.tobytes() == window.of(source.rate(seconds)).tobytes()


def test_a_parts_report_is_the_wholes(inventory):
    part = inventory.part(WINDOWS[1])
    assert part.summary() == inventory.summary()
    assert part.country_totals() == inventory.country_totals()
    assert part.rate(0.0).sum() < inventory.rate(0.0).sum()


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_the_isoprene_of_a_part_of_the_grid_is_the_wholes_cut(window):
    class Met:
        def __init__(self, temperature, cloud):
            self.surface_temperature, self.cloud_cover = temperature, cloud

    random = np.random.default_rng(6)
    temperature, cloud, sun, land = (random.random((ROWS, COLUMNS)) for _ in range(4))
    area = np.broadcast_to(GRID.cell_area, (ROWS, COLUMNS))
    whole = isoprene_emission(Met(280.0 + 20.0 * temperature, cloud), sun, land, area)
    temperature, cloud, sun, land = (np.ascontiguousarray(window.of(each)) for each in (temperature, cloud, sun, land))
    part = isoprene_emission(Met(280.0 + 20.0 * temperature, cloud), sun, land, window.of(area))
    assert part.tobytes() == window.of(whole).tobytes()
