"""Mechanisms without units, such as Robertson's and the Brusselator: accurate, and reported."""

from math import exp
from typing import Any

import pytest
from tests.models.box.toy import CLOSED

from airshed.mechanism import ReactionNetwork
from airshed.models.box import BoxConditions
from airshed.models.box.run import BoxRun

pytestmark = pytest.mark.standard

TOLD = "the mechanism has no units; solver.absolute_tolerance is set to 1e-10 of this value"


def decayed(toy: ReactionNetwork, start: str, **more: Any) -> tuple[float, BoxRun]:
    """Return A after 10 s of decay with a rate of 0.5 per s."""
    conditions = {
        "time": {"length": "10 s", "output_every": "10 s"},
        "initial": {"A": start},
        "rates": CLOSED | {"j_A": "0.5 1/s"},
        "fixed": {"X": "0 molecules/cm3"},
        **more,
    }
    run = BoxRun(toy, BoxConditions.from_dict(conditions))
    return float(run.run()["A"][-1]), run


@pytest.mark.parametrize("start", ["1.2 molecules/cm3", "40 molecules/cm3", "1e-9 molecules/cm3"])
def test_small_numbers_are_accurate(toy: ReactionNetwork, start: str) -> None:
    found, run = decayed(toy, start)
    assert found == pytest.approx(float(start.split()[0]) * exp(-5.0), rel=1e-5)
    assert any(TOLD in note for note in run.model.notes)


def test_a_tolerance_of_the_conditions_stays(toy: ReactionNetwork) -> None:
    """Negative control: the tolerance of concentrations does not resolve numbers of order one."""
    found, run = decayed(toy, "1.2 molecules/cm3", solver={"absolute_tolerance": "1 molecules/cm3"})
    assert found != pytest.approx(1.2 * exp(-5.0), rel=1e-2)
    assert not any(TOLD in note for note in run.model.notes)


def test_gases_have_the_tolerance_of_molecules(toy: ReactionNetwork) -> None:
    _, run = decayed(toy, "1e9 molecules/cm3")
    assert run.model.conditions.solver.absolute_tolerance.value == 1.0
    assert not any(TOLD in note for note in run.model.notes)
