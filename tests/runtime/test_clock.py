"""Steps end where something is due, for intervals that binary numbers do not hold exactly too."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.core.alarm import INSTANT, Alarm
from airshed.runtime.clock import Clock


class SteppingModel:
    """Model with steps of at most `longest` [s], and with a forcing that changes at multiples of `change` [s]."""

    def __init__(self, longest, change=3600.0):
        self.seconds, self._longest, self._change = 0.0, longest, change

    def next_change(self):
        return (self.seconds // self._change + 1.0) * self._change

    def longest_step(self, until):
        return self._longest


def ends_of_steps(due, *, end, longest, change=3600.0, most=lambda: 1, until=()):
    """Return the ends of all steps in batches of `most()` until each of `until`, and the times within steps."""
    model = SteppingModel(longest, change)
    clock, times, looks, shown = Clock(model, due, end), [0.0], [], 0.0
    for target in [*until, end]:
        while shown < target:
            count, look = most(), min(target, *(every.next_after(shown) for every in due))
            ends = clock.next_steps(look, count)
            assert len(ends) <= count
            assert all(end <= look + INSTANT for end in ends)
            if ends:
                times += ends
                shown = model.seconds = ends[-1]
            else:
                looks.append(look)
                shown = look
    return times, looks


@pytest.mark.parametrize("interval", [0.1, 3599.4, 59.99 * 60.0, 3599.9, 1000.0 / 3.0, 8.2 * 60.0])
def test_every_multiple_is_met_once_and_no_step_is_a_sliver(interval):
    end = max(50.3 * interval, 4000.0)
    times, looks = ends_of_steps([Alarm(interval)], end=end, longest=300.0)
    met = sum(Alarm(interval).is_due(time) for time in [*times, *looks])
    assert met == int(end / interval) + 1
    lengths = [after - before for before, after in pairwise(times)]
    assert min(lengths[:-1]) >= 0.25 * min(300.0, interval)


def test_the_same_moment_by_two_intervals_is_one_event():
    third = 3600.0 / 3.0 + 1e-10
    times, looks = ends_of_steps([Alarm(third)], end=7200.0, longest=1e4)
    assert times == pytest.approx([1200.0 * number for number in range(7)])
    assert looks == []
    assert times[3] >= 3600.0  # not before the change of the forcing
    assert Alarm(third).is_due(times[3])


def test_steps_between_changes_are_equal_and_no_longer_than_allowed():
    times, looks = ends_of_steps([Alarm(420.0), Alarm(1500.0)], end=5000.0, longest=100.0)
    assert times[-1] == 5000.0
    assert max(after - before for before, after in pairwise(times)) <= 100.0
    assert times[1:6] == pytest.approx([84.0 * number for number in range(1, 6)])
    assert looks == []


def test_what_is_due_shortly_before_a_change_is_looked_at_amid_a_step():
    times, looks = ends_of_steps([Alarm(3599.0)], end=10800.0, longest=100.0)
    assert looks == pytest.approx([3599.0, 7198.0, 10797.0])
    assert times == pytest.approx([100.0 * number for number in range(109)])


@given(interval=st.floats(0.5, 1e5), number=st.integers(-1000, 1000))
def test_the_next_due_time_lies_ahead(interval, number):
    every, now = Alarm(interval), number * interval
    assert every.is_due(now)
    assert now + 0.5 * interval < every.next_after(now) < now + 1.5 * interval
    assert not every.is_due(now + 0.4 * interval)
    assert [every.last_until(now + part * interval) for part in (-0.4, 0.0, 0.4)] == [number - 1, number, number]


@given(
    interval=st.floats(200.0, 5000.0), longest=st.floats(30.0, 2000.0), data=st.data(),
    until=st.lists(st.floats(1.0, 9999.0), max_size=3).map(sorted),
)  # fmt: skip
def test_neither_stops_nor_how_many_steps_are_asked_for_change_the_steps(interval, longest, data, until):
    due, alike = [Alarm(interval)], {"end": 10000.0, "longest": longest}
    alone, looks = ends_of_steps(due, **alike)
    often, more = ends_of_steps(due, **alike, until=until, most=lambda: data.draw(st.integers(1, 9)))
    assert often == alone
    assert set(looks) <= set(more)
    seen = [*often, *more]
    assert all(min(abs(target - time) for time in seen) <= INSTANT for target in until)


def test_the_next_steps_end_with_what_is_due():
    model = SteppingModel(100.0)
    clock = Clock(model, [Alarm(450.0)], 7200.0)
    assert clock.next_steps(7200.0, 3) == [90.0, 180.0, 270.0]
    assert clock.next_steps(7200.0, 50) == [90.0, 180.0, 270.0, 360.0, 450.0]
    assert clock.next_steps(200.0, 50) == [90.0, 180.0]
    model.seconds = 180.0
    assert clock.next_steps(200.0, 50) == []  # a time within the next step
    assert clock.planned == [270.0, 360.0, 450.0]


def test_steps_that_a_restart_left_are_made_as_they_were_to_be():
    model = SteppingModel(100.0)
    model.seconds = 120.0
    clock = Clock(model, [Alarm(450.0)], 7200.0, [150.0, 170.0, 450.0])
    assert clock.next_steps(7200.0, 2) == [150.0, 170.0]
    model.seconds = 150.0
    assert clock.next_steps(7200.0, 9) == clock.planned == [170.0, 450.0]


def test_nothing_is_due_before_the_first_time():
    every = Alarm(600.0, first=0.0)
    assert not every.is_due(-600.0)
    assert every.next_after(-3600.0) == 0.0
    assert every.is_due(0.0)


def test_the_division_of_a_year_does_not_look_at_all_of_it():
    """Its cost would else grow with the square of the length: the steps of a year, for each output."""

    class CountingModel(SteppingModel):
        asked = 0

        def longest_step(self, until):
            self.asked += 1
            return 300.0

    model = CountingModel(300.0, change=1e9)
    clock = Clock(model, [Alarm(600.0)], 3.2e7)
    assert clock.next_steps(600.0, 8) == [300.0, 600.0]
    assert len(clock.planned) == 2
    assert model.asked == 4  # with the steps of a run without an end
