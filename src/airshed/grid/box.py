"""Box of cells along the dimensions that ranks divide."""

from dataclasses import dataclass
from math import prod
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True)
class Box:
    """Cells first <= n < last along each divided dimension; (first, last) for each of them.

    Boxes have as many dimensions as the domain divides: two for latitude and longitude, one for a row of points. A
    domain without space has the empty box (), which denotes its only cell.
    """

    ends: tuple[tuple[int, int], ...]

    @classmethod
    def whole(cls, *sizes: int) -> Self:
        """Return the box of all cells, given the number along each dimension."""
        return cls(tuple((0, size) for size in sizes))

    @classmethod
    def of_numbers(cls, *numbers: int) -> Self:
        """Return the box of `numbers`: first and last for each dimension in turn."""
        return cls(tuple(zip(numbers[::2], numbers[1::2], strict=True)))

    @property
    def numbers(self) -> tuple[int, ...]:
        """First and last for each dimension in turn."""
        return tuple(number for ends in self.ends for number in ends)

    @property
    def first(self) -> tuple[int, ...]:
        """Number of the first cell along each dimension."""
        return tuple(first for first, _ in self.ends)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of cells along each dimension."""
        return tuple(last - first for first, last in self.ends)

    @property
    def cells(self) -> int:
        """Number of cells."""
        return prod(self.shape)

    @property
    def slices(self) -> tuple[slice, ...]:
        """Slice of the cells along each dimension."""
        return tuple(slice(first, last) for first, last in self.ends)

    def of(self, field: npt.NDArray[T]) -> npt.NDArray[T]:
        """Return the part of a field whose last axes are the divided dimensions, as a view."""
        index: Any = (..., *self.slices)
        part: npt.NDArray[T] = field[index]
        return part

    def of_leading(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the part of an array whose first axes are the divided dimensions, as a view."""
        index: Any = (*self.slices, ...)
        part: npt.NDArray[Any] = array[index]
        return part

    def undivided(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of a field without the divided dimensions."""
        return shape[: len(shape) - len(self.ends)]

    def common(self, other: "Box") -> "Box | None":
        """Return the intersection of two boxes; None if it is empty."""
        pairs = zip(self.ends, other.ends, strict=True)
        ends = tuple((max(a, b), min(c, d)) for (a, c), (b, d) in pairs)
        return Box(ends) if all(first < last for first, last in ends) else None

    def within(self, outer: "Box") -> "Box":
        """Return the same cells, numbered relative to an outer box that contains them."""
        pairs = zip(self.ends, outer.ends, strict=True)
        return Box(tuple((first - begin, last - begin) for (first, last), (begin, _) in pairs))
