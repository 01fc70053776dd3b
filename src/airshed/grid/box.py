"""A box of cells along the dimensions that ranks divide: what one of them holds of a whole."""

from dataclasses import dataclass
from math import prod
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True)
class Box:
    """Cells first <= n < last along each divided dimension, by their numbers; (first, last) for each of them.

    A domain that divides latitude and longitude has boxes of two dimensions, a row of points has boxes of one, and a
    domain without space has the box () of none, which is all there is.
    """

    ends: tuple[tuple[int, int], ...]

    @classmethod
    def whole(cls, *sizes: int) -> Self:
        """Return the box that holds all of so many cells along each dimension."""
        return cls(tuple((0, size) for size in sizes))

    @classmethod
    def of_numbers(cls, *numbers: int) -> Self:
        """Return the box of `numbers`: first and last of one dimension after the other."""
        return cls(tuple(zip(numbers[::2], numbers[1::2], strict=True)))

    @property
    def numbers(self) -> tuple[int, ...]:
        """First and last of one dimension after the other."""
        return tuple(number for ends in self.ends for number in ends)

    @property
    def first(self) -> tuple[int, ...]:
        """The number of the first cell along each dimension."""
        return tuple(first for first, _ in self.ends)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of cells along each dimension."""
        return tuple(last - first for first, last in self.ends)

    @property
    def cells(self) -> int:
        """The number of cells."""
        return prod(self.shape)

    @property
    def slices(self) -> tuple[slice, ...]:
        """The cells along each dimension."""
        return tuple(slice(first, last) for first, last in self.ends)

    def of(self, field: npt.NDArray[T]) -> npt.NDArray[T]:
        """Return the part of a field whose last axes are the divided dimensions: a view."""
        index: Any = (..., *self.slices)
        part: npt.NDArray[T] = field[index]
        return part

    def of_leading(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the part of an array whose first axes are the divided dimensions: a view."""
        index: Any = (*self.slices, ...)
        part: npt.NDArray[Any] = array[index]
        return part

    def undivided(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return what stands in the shape of a field before the divided dimensions."""
        return shape[: len(shape) - len(self.ends)]

    def common(self, other: "Box") -> "Box | None":
        """Return the cells that two boxes share; None where there are none."""
        pairs = zip(self.ends, other.ends, strict=True)
        ends = tuple((max(a, b), min(c, d)) for (a, c), (b, d) in pairs)
        return Box(ends) if all(first < last for first, last in ends) else None

    def within(self, outer: "Box") -> "Box":
        """Return the same cells by their numbers in an outer box that holds them."""
        pairs = zip(self.ends, outer.ends, strict=True)
        return Box(tuple((first - begin, last - begin) for (first, last), (begin, _) in pairs))
