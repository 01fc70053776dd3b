"""Steps end where something is due, for intervals that binary numbers do not hold exactly too."""

from itertools import pairwise
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.core.every import INSTANT, Every
from airshed.runtime.clock import Clock


def ends_of_steps(due, *, end, longest, change=3600.0):
    model = SimpleNamespace(seconds=0.0, longest_step=lambda until: longest)
    model.next_change = lambda: (model.seconds // change + 1.0) * change
    clock, times = Clock(model, due, end), [0.0]
    while model.seconds < end:
        model.seconds = clock.next_step(float("inf"))
        times.append(model.seconds)
    return times


@pytest.mark.parametrize("interval", [0.1, 3599.4, 59.99 * 60.0, 3599.9, 1000.0 / 3.0, 8.2 * 60.0])
def test_every_multiple_is_met_once_and_no_step_is_round_off(interval):
    end = max(50.3 * interval, 4000.0)
    times = ends_of_steps([Every(interval)], end=end, longest=300.0)
    assert sum(Every(interval).is_due(time) for time in times) == int(end / interval) + 1
    assert min(after - before for before, after in pairwise(times)) > INSTANT


def test_the_same_moment_by_two_intervals_is_one_event():
    third = 3600.0 / 3.0 + 1e-10
    times = ends_of_steps([Every(third)], end=7200.0, longest=1e4)
    assert times == pytest.approx([1200.0 * number for number in range(7)])
    assert times[3] >= 3600.0  # not before the change of the forcing
    assert Every(third).is_due(times[3])


def test_steps_of_a_stretch_are_equal_and_no_longer_than_allowed():
    times = ends_of_steps([Every(420.0), Every(1500.0)], end=5000.0, longest=100.0)
    assert times[-1] == 5000.0
    assert max(after - before for before, after in pairwise(times)) <= 100.0
    assert times[1:6] == pytest.approx([84.0 * number for number in range(1, 6)])


@given(interval=st.floats(0.5, 1e5), number=st.integers(-1000, 1000))
def test_the_next_due_time_lies_ahead(interval, number):
    every, now = Every(interval), number * interval
    assert every.is_due(now)
    assert now + 0.5 * interval < every.next_after(now) < now + 1.5 * interval
    assert not every.is_due(now + 0.4 * interval)
    assert [every.last_until(now + part * interval) for part in (-0.4, 0.0, 0.4)] == [number - 1, number, number]


def test_nothing_is_due_before_the_first_time():
    every = Every(600.0, first=0.0)
    assert not every.is_due(-600.0)
    assert every.next_after(-3600.0) == 0.0
    assert every.is_due(0.0)
