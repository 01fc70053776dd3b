"""Names on a map never hide each other, whatever the points."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.plot.geography import Area
from airshed.plot.labels import Box, Label, place_labels
from airshed.plot.panel import cities_on

FRAME = Box(0, 0, 400, 300)
DOT = 3.0
points = st.lists(st.tuples(st.floats(-20, 420), st.floats(-20, 320), st.floats(5, 120), st.floats(6, 14)), max_size=60)


def faults(places: list[tuple[float, float]], labels: list[Label], frame: Box, dot: float) -> list[str]:
    """Return the faults of a set of labels: names that overlap, leave the frame or hide a dot."""
    dots = {k.index: Box(*(places[k.index][i % 2] + (dot if i > 1 else -dot) for i in range(4))) for k in labels}
    found = [f"{a.index} meets {b.index}" for a, b in combinations(labels, 2) if a.box.meets(b.box)]
    found += [f"{k.index} outside" for k in labels if not k.box.inside(frame) or not dots[k.index].inside(frame)]
    found += [f"{k.index} on dot {i}" for k in labels for i, other in dots.items() if k.box.meets(other)]
    return found


@given(points, st.integers(0, 30), st.floats(0, 50))
def test_no_label_hides_another_or_a_dot(raw: list[tuple[float, ...]], most: int, apart: float) -> None:
    places, sizes = [(x, y) for x, y, _, _ in raw], [(w, h) for _, _, w, h in raw]
    labels = place_labels(places, sizes, FRAME, most=most, dot=DOT, separation=apart)
    assert faults(places, labels, FRAME, DOT) == []
    assert len(labels) <= most
    assert [label.index for label in labels] == sorted(label.index for label in labels)
    for a, b in combinations(labels, 2):
        (ax, ay), (bx, by) = places[a.index], places[b.index]
        assert (ax - bx) ** 2 + (ay - by) ** 2 >= apart**2 * (1 - 1e-9)


def test_the_checker_finds_labels_that_collide() -> None:
    places = [(100.0, 100.0), (110.0, 102.0), (395.0, 50.0)]
    naive = [Label(k, Box(x + 4, y - 6, x + 64, y + 6)) for k, (x, y) in enumerate(places)]
    assert len(faults(places, naive, FRAME, DOT)) >= 3


def test_the_most_important_point_is_named_first() -> None:
    labels = place_labels([(200, 150), (203, 150)], [(60, 10), (60, 10)], FRAME, most=5, dot=DOT)
    assert [label.index for label in labels] == [0]
    assert labels[0].box.left > 200  # to the right of its dot while there is space


def test_a_point_at_the_right_edge_is_named_on_its_left() -> None:
    (label,) = place_labels([(380, 150)], [(60, 10)], FRAME, most=5, dot=DOT)
    assert label.box.right < 380


@pytest.mark.parametrize("size", [(330.0, 515.0), (800.0, 1200.0), (40.0, 60.0)])
def test_cities_of_western_europe(size: tuple[float, float]) -> None:
    area = Area(0, 10, 45, 55)
    found, labels = cities_on(area, size, 7.5)
    places = [((c.longitude - 0) / 10 * size[0], (c.latitude - 45) / 10 * size[1]) for c in found]
    assert faults(places, labels, Box(0, 0, *size), 0.022 * 120) == []
    if size[0] > 300:
        assert {"Paris", "Milan", "Cologne"} <= {found[label.index].name for label in labels}
