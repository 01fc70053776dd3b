"""The recorded days of shipped cases are those of the present model."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from airshed.core.arrays import AnyArray
from airshed.runtime.registry import load_case
from airshed.runtime.simulation import Simulation
from airshed.serve.records.recorded_day import FIELDS, FILE

TOLERANCE = 0.01
"""Greatest accepted distance: rounding, compilers and threads."""

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module", params=["west-europe", "west-europe-winter"])
def days(request: pytest.FixtureRequest) -> Iterator[tuple[xr.Dataset, dict[str, AnyArray]]]:
    """The recorded day of a case, and the first seven hours of the present model."""
    case = load_case(Path(request.param), ["run.threads=1"])
    with Simulation(case) as simulation, xr.open_dataset(case.base / FILE) as recorded:
        hours: dict[str, list[AnyArray]] = {name: [] for name in FIELDS}
        for hour in range(7):
            simulation.run(until=f"{hour} h")
            for name in FIELDS:
                hours[name].append(simulation[name][0].values)
        yield recorded.load(), {name: np.array(each) for name, each in hours.items()}


def distance(recorded: AnyArray, present: AnyArray) -> float:
    """Return the greatest difference relative to the size of the value and that of the field."""
    size = np.abs(present) + np.percentile(np.abs(present), 95.0)
    return float((np.abs(recorded - present) / size).max())


def test_the_recorded_day_is_that_of_the_present_model(days: tuple[xr.Dataset, dict[str, AnyArray]]) -> None:
    recorded, present = days
    for name in FIELDS:
        assert distance(recorded[name].values[:7, 0], present[name]) < TOLERANCE, name


def test_another_day_would_be_noticed(days: tuple[xr.Dataset, dict[str, AnyArray]]) -> None:
    recorded, present = days
    for name in ("O3", "NO2", "eastward_wind", "northward_wind"):
        values = recorded[name].values[:, 0]
        assert distance(values[1:8], present[name]) > TOLERANCE, name  # an hour later
    assert distance(1.03 * recorded["O3"].values[:7, 0], present["O3"]) > TOLERANCE
