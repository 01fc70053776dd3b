"""The protocol between models and output: a readable field in the memory of its owner."""

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy.typing as npt

Indices = slice | Sequence[int]
"""Indices along an axis."""


@runtime_checkable
class FieldView(Protocol):
    """A field in the memory of a model, in the model's own layout."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of cells along each dimension."""
        ...

    def copy_to(self, target: npt.NDArray[Any], indices: Indices) -> None:
        """Fill an array with the values at some indices of the first dimension, in the array's precision."""
        ...
