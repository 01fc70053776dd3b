"""The shipped winter case runs from a clone: two hours around Zurich, without spin-up."""

import numpy as np
import pytest

import airshed
from airshed.models.air.case.estimate import idle_settings

PART = ["grid.area.lon=[7, 9]", "grid.area.lat=[46, 48]", "time.spinup=0 h", "run.threads=1"]


@pytest.mark.standard
def test_two_hours_around_zurich() -> None:
    case = airshed.load_case("west-europe-winter", PART)
    assert idle_settings(case) == []
    with airshed.Simulation(case) as simulation:
        simulation.run(until="2 h")
        nitrogen_dioxide, ozone = (simulation[name].values for name in ("NO2", "O3"))
        origin = simulation.model.parts.meteorology.provenance
    assert 5e-9 < nitrogen_dioxide[0].max() < 100e-9
    assert np.all(nitrogen_dioxide >= 0.0)
    assert 25e-9 < np.median(ozone[4:10]) < 55e-9
    assert origin["eastward wind at 10 m"].startswith("read")
    assert origin["temperature"].startswith("diagnosed")
