"""Plans are valid in the simulator, which detects planted errors, and need no more storage than reported."""

from dataclasses import replace
from functools import cache
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.core.errors import CaseError
from airshed.inverse.checkpoints.actions import (
    Advance,
    Bytes,
    DiscardLevels,
    DiscardRestart,
    Restore,
    Reverse,
    Sizes,
)
from airshed.inverse.checkpoints.plans import Budget, Capacities, as_executed, checkpoint_plan, fewest_repetitions
from airshed.inverse.checkpoints.trajectory import storage_budget
from airshed.models.air.case.sections import AdjointSection

from .plan_simulator import PlanError, simulate

WEST_EUROPE = Sizes(restart=46_000_000, level=15_200_000)
KINDS = (Reverse, DiscardLevels, DiscardRestart)


def all_levels(steps, budget):
    return as_executed(checkpoint_plan("all", budget), steps)


def two_levels(steps, budget):
    return as_executed(checkpoint_plan("two-level", budget), steps)


MAKERS = (all_levels, two_levels, fewest_repetitions)

steps = st.integers(1, 120)
sizes = st.builds(Sizes, st.integers(1, 6), st.integers(1, 4))
budgets = st.builds(
    Budget, sizes, st.integers(0, 90), st.sampled_from([0, 0, 7, 30, 500]), st.sampled_from(["memory", "disk"]),
    st.sampled_from(["memory", "disk", "both"]),
)  # fmt: skip


def most(budget):
    return Bytes(budget.memory, budget.disk)


@pytest.mark.parametrize("make", MAKERS)
@given(steps, budgets)
def test_any_plan_reverses_a_run_within_its_budget_as_reported(make, count, budget):
    try:
        plan = make(count, budget)
    except CaseError:
        return
    machine = simulate(count, plan.actions, budget.sizes, most(budget))
    assert machine.forward_steps == plan.forward_steps == pytest.approx(plan.recomputation_factor * count)
    assert Bytes(**machine.greatest) == plan.greatest(budget.sizes)


def fewest_steps(count, budget):
    """Return the minimum number of forward steps over all placements of restarts, by exhaustive search."""

    @cache
    def fewest(count, held):
        if count <= budget.levels_with(held):
            return count
        if budget.levels_with(held + 1) < 1:
            return 10**9
        return min(cut + fewest(cut, held) + fewest(count - cut, held + 1) for cut in range(1, count))

    return fewest(count, 1)


@given(st.integers(1, 40), sizes, st.integers(12, 60))
def test_no_placement_of_restarts_is_much_better(count, sizes, memory):
    budget = Budget(sizes, memory)
    least = fewest_steps(count, budget)
    if least >= 10**9:
        with pytest.raises(CaseError):
            fewest_repetitions(count, budget)
        return
    assert least <= fewest_repetitions(count, budget).forward_steps <= 1.15 * least


@given(st.integers(2, 30), st.integers(1, 10), st.integers(1, 6))
def test_with_levels_as_large_as_restarts_capacities_are_binomial(memory, held, repetitions):
    units = memory - held
    expected = comb(units + repetitions - 1, repetitions) if units > 0 else 0
    assert Capacities(Budget(Sizes(1, 1), memory)).of(repetitions, held) == expected


def test_a_day_of_west_europe():
    """Two levels need a tenth of the storage of all levels, and less than two forward runs."""
    plan = fewest_repetitions(841, Budget(WEST_EUROPE, 1_500_000_000))
    assert plan.name == "two levels"
    assert plan.recomputation_factor < 1.93
    assert fewest_repetitions(841, Budget(WEST_EUROPE, 1_120_000_000)).name == "two levels"
    assert plan.line(WEST_EUROPE) == (
        "two levels: 841 steps, up to 11 restarts at a time and stretches of up to 92 steps; 1.49 GB in memory; "
        "1.92 runs forward"
    )


def test_restarts_go_to_disk_as_far_as_it_goes():
    budget = Budget(WEST_EUROPE, 700_000_000, 500_000_000)
    plan = fewest_repetitions(841, budget)
    kept = plan.greatest(WEST_EUROPE)
    assert 460_000_000 <= kept.disk <= 500_000_000
    assert plan.recomputation_factor < fewest_repetitions(841, replace(budget, disk=0)).recomputation_factor
    assert "on disk" in plan.line(WEST_EUROPE)


def planted_errors(actions):
    """Yield the message of each planted error, and the actions with it."""
    actions = list(actions)
    place = {kind: next(n for n, each in enumerate(actions) if isinstance(each, kind)) for kind in KINDS}
    reverse, levels, restart = (place[kind] for kind in KINDS)
    advance = next(n for n, each in enumerate(actions) if isinstance(each, Advance) and each.last > each.first)
    keep = next(n for n, each in enumerate(actions) if isinstance(each, Advance) and each.save_levels)
    yield "without level", [*actions[:keep], replace(actions[keep], save_levels=False), *actions[keep + 1 :]]
    yield "without level", [*actions[:reverse], actions[restart], *actions[reverse:]]
    yield "is not reversed", [each for each in actions if not isinstance(each, Reverse) or each.first > 0]
    yield "is reversed before", [*actions[:reverse], *actions[reverse + 1 :]]
    yield "are left", actions[:-1]
    yield "no such restart", [*actions[: restart + 1], *actions[restart:]]
    yield "no such restart", [actions[0], Restore(1, "memory"), *actions[1:]]
    yield "the model is before", [*actions[:advance], *actions[advance + 1 :]]
    yield "is not there", [*actions[:reverse], actions[levels], actions[levels]]
    yield "is there already", [actions[0], *actions]


def test_the_simulator_finds_planted_errors():
    budget = Budget(Sizes(3, 1), 30)
    plan = fewest_repetitions(60, budget)
    found = 0
    for told, actions in planted_errors(plan.actions):
        with pytest.raises(PlanError, match=told):
            simulate(60, actions, budget.sizes, most(budget))
        found += 1
    assert found == 10
    with pytest.raises(PlanError, match="bytes are stored in memory, more than"):
        simulate(60, plan.actions, budget.sizes, Bytes(plan.greatest(budget.sizes).memory - 1, 0))


@pytest.mark.parametrize("name", ["auto", "all", "two-level"])
def test_too_small_a_budget_is_reported(name):
    with pytest.raises(CaseError, match=r"adjoint\..*(increase|set)"):
        as_executed(checkpoint_plan(name, Budget(WEST_EUROPE, 100_000_000), 841), 841)


@pytest.mark.parametrize(
    ("section", "places"),
    [
        ({}, {"memory"}),
        ({"disk": "200 MB"}, {"memory", "disk"}),
        ({"disk": "2 GB", "store": "files"}, {"disk"}),
        ({"disk": "14 GB", "plan": "all", "memory": "1 GiB"}, {"memory", "disk"}),
    ],
)
def test_a_case_selects_the_stores_of_checkpoints(section, places):
    section = AdjointSection(**section)
    plan = as_executed(checkpoint_plan(section.plan, storage_budget(section, WEST_EUROPE), 841), 841)
    kept = plan.greatest(WEST_EUROPE)
    assert {name for name in ("memory", "disk") if getattr(kept, name)} == places


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ({"store": "files"}, "needs disk space: give"),
        ({"plan": "disk-revolve"}, 'was removed: .*; take "auto"'),
        ({"memory": "5 kg"}, "an amount of data"),
        ({"memory": "1 KiB"}, "not be less than 1 MiB"),
    ],
)
def test_invalid_settings_of_checkpoints_are_refused(section, told):
    with pytest.raises(ValueError, match=told):
        AdjointSection(**section)
