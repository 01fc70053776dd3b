"""The wind that is shown is the one that was given."""

from pathlib import Path

import numpy as np
import pytest

from airshed.core.constants import EARTH_RADIUS
from airshed.parallel.communicator import SingleRank
from airshed.runtime.registry import load_case
from airshed.runtime.simulation import Simulation

DAY = 86400.0


@pytest.mark.parametrize("eastward", [0.0, 5.0])
def test_winds_of_turning_air_are_those_that_the_case_gives(eastward: float) -> None:
    case = load_case(Path("cases/tracer-rotation"), [f"meteorology.eastward={eastward} m/s"])
    simulation = Simulation(case, ranks=SingleRank())
    try:
        east, north = simulation.values("eastward_wind"), simulation.values("northward_wind")
    finally:
        simulation.close()
    degree = EARTH_RADIUS * np.pi / 180.0
    places = -4.0 + 0.2 * (np.arange(40) + 0.5)
    lat, lon = np.meshgrid(places, places, indexing="ij")
    turn = 2.0 * np.pi / DAY * degree
    # Rigid rotation on a plane; on the sphere it differs away from the middle, at 4 degrees by a part in 300.
    assert np.abs(east[0] - (eastward - turn * lat)).max() < 0.004 * turn * 4
    assert np.abs(north[0] - turn * lon).max() < 0.004 * turn * 4
    assert np.abs(north[0] - turn * lat).max() > turn  # the check distinguishes another field
