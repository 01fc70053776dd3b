"""The schedules of checkpoint_schedules, as plans, hold on the simulator, and Revolve has its published count."""

import builtins
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airshed.core.errors import CaseError
from airshed.inverse.checkpoints.actions import Bytes, Sizes
from airshed.inverse.checkpoints.choice import make_plan
from airshed.inverse.checkpoints.plans import Room, fewest_repetitions
from airshed.inverse.checkpoints.schedules import SCHEDULES, packaged
from airshed.inverse.checkpoints.simulator import simulate

WEST_EUROPE = Sizes(restart=46_000_000, level=15_200_000)


@pytest.fixture(autouse=True, scope="module")
def package():
    pytest.importorskip("checkpoint_schedules")


@pytest.mark.parametrize("name", SCHEDULES)
@settings(max_examples=8)
@given(st.integers(1, 60), st.integers(1, 4), st.integers(1, 4), st.integers(5, 90), st.sampled_from([0, 20]))
def test_any_schedule_takes_a_run_back_within_its_room(name, steps, restart, level, memory, disk):
    room = Room(Sizes(restart, level), memory, disk)
    try:
        plan = packaged(name, steps, room)
    except CaseError:
        return
    allowed = Bytes(memory, 10**9 if name == "disk-revolve" else disk)
    machine = simulate(steps, plan.actions, room.sizes, allowed)
    assert machine.forward_steps == plan.forward_steps
    assert Bytes(**machine.greatest) == plan.greatest(room.sizes)


@given(st.integers(2, 80), st.integers(1, 10))
def test_revolve_runs_as_many_steps_as_griewank_and_walther_say(steps, snapshots):
    room = Room(Sizes(1, 1), snapshots + 2)
    repeats = next(t for t in range(steps) if comb(snapshots + t, t) >= steps)
    extra = repeats * steps - comb(snapshots + repeats, repeats - 1)
    assert packaged("revolve", steps, room, block=1).forward_steps == steps + extra


@pytest.mark.parametrize("memory", [3_200_000_000, 1_100_000_000, 500_000_000])
def test_stretches_of_many_levels_take_no_more_than_revolve(memory):
    room = Room(WEST_EUROPE, memory)
    assert fewest_repetitions(841, room).forward_steps <= packaged("revolve", 841, room).forward_steps


@pytest.mark.parametrize("name", SCHEDULES)
def test_too_little_room_is_told(name):
    with pytest.raises(CaseError, match="finds no room for two restarts"):
        make_plan(name, 841, Room(WEST_EUROPE, 60_000_000))


def test_a_package_that_is_not_there_is_told(monkeypatch):
    there = builtins.__import__

    def refuse(name, *rest):
        if name == "checkpoint_schedules":
            raise ImportError(name)
        return there(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(CaseError, match=r"pip install \"airshed\[schedules\]\", or take plan"):
        make_plan("revolve", 10, Room(WEST_EUROPE, 10**9))
