"""Steps end where something is due, for intervals that binary numbers do not hold exactly too."""

from itertools import pairwise
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.core.every import INSTANT, Every
from airshed.runtime.clock import Clock


def ends_of_steps(due, *, end, longest, change=3600.0, most=lambda: 1, until=()):
    """The ends of all steps; they are asked for `most()` at a time, and until each time of `until` in turn."""
    model = SimpleNamespace(seconds=0.0, longest_step=lambda target: longest)
    model.next_change = lambda: (model.seconds // change + 1.0) * change
    clock, times = Clock(model, due, end), [0.0]
    for target in [*until, end]:
        while model.seconds < target:
            count = most()
            ends = clock.next_steps(target, count)
            assert clock.next_step(target) == ends[0]
            assert 1 <= len(ends) <= count
            assert ends[-1] <= min(target, model.next_change()) + INSTANT
            times += ends
            model.seconds = times[-1]
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


@given(
    interval=st.floats(200.0, 5000.0), longest=st.floats(30.0, 2000.0), data=st.data(),
    until=st.lists(st.floats(1.0, 9999.0), max_size=3).map(sorted),
)  # fmt: skip
def test_how_many_steps_are_asked_for_at_once_changes_none_of_them(interval, longest, data, until):
    alike = {"end": 10000.0, "longest": longest, "until": until}
    one_by_one = ends_of_steps([Every(interval)], **alike)
    assert ends_of_steps([Every(interval)], **alike, most=lambda: data.draw(st.integers(1, 9))) == one_by_one
    assert all(target in one_by_one for target in until)


def test_the_next_steps_end_with_what_is_due():
    model = SimpleNamespace(seconds=0.0, longest_step=lambda until: 100.0, next_change=lambda: 3600.0)
    clock = Clock(model, [Every(450.0)], 7200.0)
    assert clock.next_steps(7200.0, 3) == [90.0, 180.0, 270.0]
    assert clock.next_steps(7200.0, 50) == [90.0, 180.0, 270.0, 360.0, 450.0]
    assert clock.next_steps(120.0, 50) == [60.0, 120.0]
    model.seconds = 120.0
    assert clock.stretch == []
    assert clock.next_steps(7200.0, 50) == [202.5, 285.0, 367.5, 450.0]


def test_steps_that_a_restart_left_are_made_as_they_were_to_be():
    model = SimpleNamespace(seconds=120.0, longest_step=lambda until: 100.0, next_change=lambda: 3600.0)
    clock = Clock(model, [Every(450.0)], 7200.0, [150.0, 170.0, 450.0])
    assert clock.next_steps(7200.0, 2) == [150.0, 170.0]
    model.seconds = 150.0
    assert clock.next_steps(7200.0, 9) == clock.stretch == [170.0, 450.0]


def test_nothing_is_due_before_the_first_time():
    every = Every(600.0, first=0.0)
    assert not every.is_due(-600.0)
    assert every.next_after(-3600.0) == 0.0
    assert every.is_due(0.0)
