"""Plans for runs of unknown length remain within their budget, wherever the run ends."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.core.errors import CaseError
from airshed.inverse import CostOfFunction, gradient
from airshed.inverse.checkpoints.actions import Advance, Bytes, Sizes
from airshed.inverse.checkpoints.plans import Budget, OnlinePlan, as_executed, fewest_repetitions
from airshed.inverse.gradient import Options, Watcher

from .plan_simulator import PlanError, simulate
from .small import small

WEST_EUROPE = Sizes(restart=46_000_000, level=15_200_000)
budgets = st.builds(
    Budget, st.builds(Sizes, st.integers(1, 6), st.integers(1, 4)), st.integers(0, 90), st.sampled_from([0, 0, 5, 40])
)


@given(st.integers(1, 300), budgets, st.none() | st.integers(1, 300))
def test_a_run_of_any_length_is_reversed_within_the_budget(steps, budget, expected):
    try:
        plan = as_executed(OnlinePlan(budget, expected), steps)
    except CaseError:
        return
    machine = simulate(steps, plan.actions, budget.sizes, Bytes(budget.memory, budget.disk))
    assert machine.forward_steps == plan.forward_steps
    assert Bytes(**machine.greatest) == plan.greatest(budget.sizes)


@pytest.mark.parametrize("memory", [14_000_000_000, 3_200_000_000, 1_500_000_000, 800_000_000, 300_000_000])
@pytest.mark.parametrize("expected", [None, 841, 600, 1200])
def test_an_unknown_end_costs_little(memory, expected):
    """An unknown end costs the levels of the last stretch, and a spacing that is a power of 2: 10 % more than that."""
    budget = Budget(WEST_EUROPE, memory)
    known, online = fewest_repetitions(841, budget), as_executed(OnlinePlan(budget, expected), 841)
    assert online.recomputation_factor <= max(2.0, 1.1 * known.recomputation_factor)


def test_an_end_that_is_expected_saves_the_last_stretch():
    budget = Budget(WEST_EUROPE, 14_000_000_000)
    assert as_executed(OnlinePlan(budget, 841), 841).recomputation_factor == 1.0


def test_the_spacing_doubles_as_restarts_are_dropped():
    budget = Budget(Sizes(3, 1), 60)
    spacings = [
        each.last - each.first for each in islice(OnlinePlan(budget).first_run(), 400) if isinstance(each, Advance)
    ]
    apart = list(dict.fromkeys(spacing for spacing in spacings if spacing))
    assert apart[:4] == [1, 2, 4, 8]


def test_too_small_a_budget_is_reported_during_the_run():
    with pytest.raises(CaseError, match="a step would be run more than 100 times; increase them"):
        as_executed(OnlinePlan(Budget(Sizes(3, 1), 5)), 50)


def test_a_run_beyond_its_end_is_detected():
    budget = Budget(Sizes(3, 1), 60)
    plan = as_executed(OnlinePlan(budget), 50)
    with pytest.raises(PlanError, match="beyond step 49"):
        simulate(49, plan.actions, budget.sizes, Bytes(budget.memory, 0))


def test_every_level_is_stored_in_the_forward_run_in_memory_then_on_disk(tmp_path, monkeypatch):
    """The number of steps is unknown in advance."""
    asked, lines = gradient.__globals__, []

    def small_budget(section, sizes):
        return Budget(sizes, sizes.restart + 5 * sizes.level, 10 * sizes.level if section.plan == "all" else 2**30)

    monkeypatch.setitem(asked, "storage_budget", small_budget)

    class PlanRecorder(Watcher):
        def on_plan(self, line):
            lines.append(line)

    def found(**adjoint):
        case, options = small(tmp_path, adjoint=adjoint), Options(read=False, watcher=PlanRecorder())
        return gradient(case, CostOfFunction(1800.0, ["O3"], mean_and_slope), options=options)

    kept, other = found(plan="all"), found(plan="two-level")
    assert kept.recomputed == 0
    assert lines[0].startswith(f"all levels: {kept.steps} steps")
    assert "on disk" in lines[0]
    assert kept.value == other.value
    assert np.array_equal(kept.adjoints.initial, other.adjoints.initial)
    monkeypatch.setitem(asked, "storage_budget", lambda section, sizes: Budget(sizes, sizes.restart + 5 * sizes.level))
    with pytest.raises(CaseError, match=r"have space for 5 of .* GB and a restart"):
        found(plan="all")


def mean_and_slope(q):
    return float(q["O3"].mean()), {"O3": np.ones_like(q["O3"]) / q["O3"].size}
