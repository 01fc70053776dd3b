"""Places the names of points on a map so that none hides another: a greedy choice in order of importance."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Box(NamedTuple):
    """A rectangle in pixels, y upwards."""

    left: float
    bottom: float
    right: float
    top: float

    def meets(self, other: "Box") -> bool:
        """Return whether two boxes overlap."""
        return (
            self.left < other.right and other.left < self.right and self.bottom < other.top and other.bottom < self.top
        )

    def inside(self, other: "Box") -> bool:
        """Return whether this box is within another."""
        return (
            other.left <= self.left
            and self.right <= other.right
            and other.bottom <= self.bottom
            and self.top <= other.top
        )


@dataclass(frozen=True)
class Label:
    """A point that is shown, by its index, and the box of its name."""

    index: int
    box: Box


def place_labels(
    points: Sequence[tuple[float, float]],
    sizes: Sequence[tuple[float, float]],
    frame: Box,
    *,
    most: int,
    dot: float = 3.0,
    separation: float = 0.0,
) -> list[Label]:
    """Choose the points to show and where their names go, the first points first.

    A point is left out when every place for its name would leave the frame, touch another name or hide a shown dot,
    when its own dot would lie under a name, or when a shown point is nearer than `separation`.

    reads  points (n) centres and sizes (n) of the names (width, height), dot radius, separation [pixel]
    """
    shown: list[Label] = []
    dots: list[Box] = []
    for index, ((x, y), size) in enumerate(zip(points, sizes, strict=True)):
        if len(shown) == most:
            break
        own = Box(x - dot, y - dot, x + dot, y + dot)
        crowded = any(_near(own, other, separation) for other in dots)
        if crowded or not own.inside(frame) or any(own.meets(label.box) for label in shown):
            continue
        taken = [*dots, *(label.box for label in shown)]
        for box in _candidates(x, y, size, dot):
            if box.inside(frame) and not any(box.meets(other) for other in taken):
                shown.append(Label(index, box))
                dots.append(own)
                break
    return shown


def _candidates(x: float, y: float, size: tuple[float, float], dot: float) -> list[Box]:
    """Return the places for a name, best first: right, left, above, below, then the corners."""
    width, height = size
    right, left = x + 1.7 * dot, x - 1.7 * dot - width
    above, below, beside = y + 1.4 * dot, y - 1.4 * dot - height, y - height / 2
    corners = [(right, beside), (left, beside), (x - width / 2, above), (x - width / 2, below)]
    corners += [(x + dot, above), (x - dot - width, above), (x + dot, below), (x - dot - width, below)]
    return [Box(px, py, px + width, py + height) for px, py in corners]


def _near(a: Box, b: Box, separation: float) -> bool:
    dx, dy = a.left - b.left, a.bottom - b.bottom
    return dx * dx + dy * dy < separation * separation or a.meets(b)
