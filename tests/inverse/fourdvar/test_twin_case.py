"""Shipped twin experiment: its observations are those of the true factors with the given noise."""

from pathlib import Path

import numpy as np
import pytest

from airshed import load_case
from airshed.inverse.fourdvar.study import StudyObservations, open_study
from airshed.inverse.fourdvar.twin import truth

pytestmark = pytest.mark.thorough


def test_departures_from_the_truth_equal_the_observation_errors() -> None:
    case = load_case("assimilation-twin")
    seen = StudyObservations.of_case(case)
    assert (len(seen.observations), seen.rejected) == (60 * 18, ())
    assert seen.withheld is not None
    with open_study(case, seen) as study:
        true = truth(study.case, study.control)
        assert ((true["nox"] > 0.6) & (true["nox"] < 1.6)).all()
        for observations in (seen.observations, seen.withheld):
            departures = (observations.value - study.simulated(true, observations)) / observations.sigma
            assert abs(np.mean(departures**2) - 1.0) < 4.0 * np.sqrt(2.0 / departures.size)
            assert abs(departures.mean()) < 4.0 / np.sqrt(departures.size)
    assert not list(Path(case.base).glob("*.npz"))
