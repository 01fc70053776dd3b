"""Timelines: the same values forwards, backwards and in jumps; few are held, and the next ones are read ahead."""

from concurrent.futures import ThreadPoolExecutor
from math import inf
from threading import current_thread

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.io.timeline import InstantSpans, Timeline

TIMES = [0.0, 10.0, 15.0, 40.0, 41.0, 90.0]


class Made:
    """Source of numbers for instants, which records its calls by thread."""

    def __init__(self):
        self.calls = []

    def __call__(self, begin):
        self.calls.append((begin, current_thread().name.startswith("aside")))
        return np.random.default_rng(int(begin)).random(3)


def linear(timeline, seconds):
    before, after, weight = timeline.at(seconds)
    return (1.0 - weight) * before + weight * after


def expected(seconds):
    values = np.array([Made()(time) for time in TIMES])
    return [np.interp(seconds, TIMES, column) for column in values.T]


@given(st.lists(st.floats(-5.0, 100.0), min_size=1, max_size=30), st.integers(2, 4))
def test_in_any_order_there_is_the_same(moments, keep):
    timeline, straight = (
        Timeline(InstantSpans(TIMES), Made(), keep=keep),
        Timeline(InstantSpans(TIMES), Made(), keep=99),
    )
    for seconds in moments:
        assert np.array_equal(linear(timeline, seconds), linear(straight, seconds))
        assert linear(timeline, seconds) == pytest.approx(expected(seconds))
        assert len(timeline._kept) <= keep


@pytest.mark.parametrize("way", [1, -1])
def test_either_way_each_is_made_once_and_beside_the_one_who_asks(way):
    made = Made()
    timeline = Timeline(InstantSpans(TIMES), made)
    with ThreadPoolExecutor(1, "aside") as pool:
        for seconds in np.arange(1.0, 100.0, 3.0)[::way]:
            timeline.travel(seconds)
            timeline.of(InstantSpans(TIMES).begin_of(seconds))
            timeline.read_ahead(seconds, pool)
    assert sorted(begin for begin, _ in made.calls) == TIMES
    own = [begin for begin, aside in made.calls if not aside]
    # backwards the direction is known from the second call on, which is still in the last span
    assert own == [TIMES[0] if way == 1 else TIMES[-1]]


def test_the_wrong_way_everything_would_be_made_by_the_one_who_asks(monkeypatch):
    """Negative control: with a timeline that moves forwards alone, the caller computes everything."""
    monkeypatch.setattr(Timeline, "travel", lambda timeline, seconds: False)
    with pytest.raises(AssertionError):
        test_either_way_each_is_made_once_and_beside_the_one_who_asks(-1)


def test_what_is_made_aside_fails_where_it_is_asked_for_and_ranks_meet_there():
    met = []

    def finish(make):
        met.append(current_thread().name)
        return make()

    def spoilt(begin):
        raise ValueError(f"no data at {begin:g}")

    timeline = Timeline(InstantSpans(TIMES), float, ahead=spoilt, finish=finish)
    with ThreadPoolExecutor(1, "aside") as pool:
        assert timeline.of(0.0) == 0.0
        timeline.read_ahead(0.0, pool)
        with pytest.raises(ValueError, match="no data at 10"):
            timeline.of(10.0)
        assert timeline.of(10.0) == 10.0
    assert set(met) == {current_thread().name}


def test_spans_and_their_ends():
    spans = InstantSpans(TIMES)
    assert [spans.begin_of(time) for time in (-1.0, 0.0, 14.9, 15.0, 1e9)] == [0.0, 0.0, 10.0, 15.0, 90.0]
    assert [spans.next_change(time) for time in (-1.0, 0.0, 41.0, 90.0)] == [0.0, 10.0, 90.0, inf]
    timeline = Timeline(spans, float)
    assert timeline.at(27.5) == (15.0, 40.0, 0.5)
    assert (timeline.at(-3.0), timeline.at(200.0)) == ((0.0, 0.0, 0.0), (90.0, 90.0, 0.0))
