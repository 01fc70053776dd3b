"""Summary: advice on settings, budgets that can be summed by hand, and an empty lowest layer."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray

from airshed.core.report import Table
from airshed.mechanism import ReactionNetwork, load_mechanism
from airshed.models.air.case import Case
from airshed.models.air.report import _advice
from airshed.runtime.simulation import Simulation

NAMES = ("nitrogen", "sulphur")
COARSE = ("grid.spacing=1 deg",)


@dataclass
class Parts:
    case: Case
    network: ReactionNetwork


@dataclass
class Model:
    """Stub of a model with 100 mol of nitrogen and of sulphur, all as NO and SO2."""

    parts: Parts
    families: tuple[str, ...] = ("N", "S")
    held: dict[str, float] = field(default_factory=lambda: {"NO": 100.0, "SO2": 100.0})

    def amounts(self) -> NDArray[np.float64]:
        return np.array([self.held.get(name, 0.0) for name in self.parts.network.names])


def advice(
    *settings: str, drift: Sequence[float] = (0.0, 0.0), clipped: Sequence[float] = (0.0, 0.0), emitted: float = 1000.0
) -> str:
    model = Model(Parts(Case.load("west-europe", settings), load_mechanism("emep")))
    terms = {"drift": drift, "clipped": clipped, "emitted": [emitted, emitted]}
    budget = {name: dict(zip(NAMES, values, strict=True)) for name, values in terms.items()}
    budget["throughput"] = dict.fromkeys(model.parts.network.names, 0.0)
    return _advice(model, budget)  # type: ignore[arg-type]


def test_below_the_limits_there_is_none() -> None:
    assert advice() == ""
    assert advice(drift=(4.9, -4.9), clipped=(0.009, 0.009)) == ""
    assert advice(drift=(7.0, 7.0), emitted=0.0) == "", "nothing emitted to compare the drift with"


def test_a_drift_asks_for_sweeps_shorter_steps_or_a_spin_up() -> None:
    said = (
        "the iteration drifts by 0.7 % of the sulphur emitted; take chemistry.sweeps = 4, a shorter time.maximum_step"
    )
    assert advice(drift=(6.0, -7.0)) == said
    assert advice("time.spinup=0 h", drift=(6.0, -7.0)) == f"{said}, or a time.spinup"
    assert advice("time.step=60 s", drift=(6.0, -7.0)).endswith("a shorter time.step")


def test_clipping_asks_for_a_smaller_courant_number() -> None:
    expected = "clipping of negative values added 0.2 % of the nitrogen; take a smaller time.courant, or a shorter"
    assert advice(clipped=(0.2, 0.11)) == f"{expected} time.maximum_step"
    assert advice("time.step=60 s", clipped=(0.2, 0.11)).endswith("of the nitrogen; take a shorter time.step")
    assert advice(drift=(6.0, 0.0), clipped=(0.2, 0.0)).count("; take") == 2


@pytest.mark.parametrize(("clipped", "says"), [(0.0011, "0.011 % of the TRACER2"), (0.0009, "")])
def test_where_nothing_reacts_tracers_are_looked_at(clipped: float, says: str) -> None:
    network = load_mechanism("tracer")
    model = Model(Parts(Case.load("tracer-rotation"), network), (), {"TRACER": 100.0, "TRACER2": 10.0})
    terms = {"drift": [0.0, 0.0], "clipped": [0.0, clipped], "emitted": [0.0, 0.0], "throughput": [200.0, 20.0]}
    budget = {name: dict(zip(network.names, values, strict=True)) for name, values in terms.items()}
    said = _advice(model, budget)  # type: ignore[arg-type]
    assert says in said
    assert bool(said) == bool(says)


def budget_table(sim: Simulation) -> Table:
    return next(table for table in sim.summary().tables if table.title.startswith("Main budgets"))


def test_the_main_budgets_can_be_summed_by_hand() -> None:
    """They have the clipped amount where one is not zero, and a note with the sum."""
    with Simulation(Case.load("tracer-rotation", [*COARSE, "time.length=20 min"])) as sim:
        sim.run()
        table = budget_table(sim)
        assert "clipped" not in table.columns
        assert "change = inflow - outflow + emitted - deposited + chemistry;" in table.note
        assert "clipping" not in sim.summary(brief=True).facts
        row = list(sim.model.budget.signs).index("clipped")
        sim.model.budget.amounts[row, 0] += 12.0  # mol, of 1200 mol emitted
        table, facts = budget_table(sim), sim.summary(brief=True).facts
    values = dict(zip(table.columns, table.rows[0], strict=True))
    assert values["clipped"] == pytest.approx(1.2e-5)
    assert "+ chemistry + clipped;" in table.note
    assert facts["clipping"] == "negative values set to 0 added 1 % of the TRACER, other species less"


@pytest.mark.parametrize(
    ("diffusivity", "fact"), [("0 m2/s", "holds no TRACER: the vertical diffusivity is 0"), ("5 m2/s", "")]
)
def test_a_plume_above_an_empty_lowest_layer_is_reported(diffusivity: str, fact: str) -> None:
    settings = ("emissions.point.0.height=300 m", f"meteorology.diffusivity={diffusivity}", "time.length=20 min")
    with Simulation(Case.load("tracer-rotation", [*COARSE, *settings])) as sim:
        sim.run()
        found = str(sim.summary(brief=True).facts.get("lowest layer", ""))
    assert found.startswith(fact)
    assert bool(found) == bool(fact)
