"""Where adjoints of what operators read are added up: of numbers, and of fields at the instants of the forcing."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from airshed.kernels.host import AnyArray, address, aligned_zeros
from airshed.kernels.layout import Layout
from airshed.kernels.operators import Member
from airshed.kernels.step.data import FieldAdjoint, Pair

Array = npt.NDArray[np.float64]

Structure = Any
"""The C structure, whose last members depend on the operators of the kernel."""


class ReadAdjoints:
    """The adjoints of all that operators read.

    numbers  by the name that the operator has for it, [lat][block][value];  they add up over steps
    passes   over the area so far
    """

    def __init__(self, layout: Layout, members: Sequence[Member]) -> None:
        self._layout, self._members = layout, members
        columns = layout.rows, layout.blocks
        self.numbers = {each.key: np.zeros((*columns, max(each.species, 1))) for each in members if each.shape is None}
        self._fields: dict[tuple[str, int], FieldAdjoint] = {}
        self._used: dict[tuple[str, int], int] = {}
        self.passes = 0

    @property
    def fields(self) -> list[FieldAdjoint]:
        """What fields at each instant are worth."""
        return list(self._fields.values())

    @property
    def last_passes(self) -> list[int]:
        """The number of the pass that each of these fields was in last."""
        return [self._used[key] for key in self._fields]

    def restore(self, fields: Sequence[tuple[FieldAdjoint, int]], passes: int) -> None:
        """Restore fields with the number of their last pass, and the number of passes so far."""
        for each, last in fields:
            key = each.name, id(each.field)
            self._fields[key], self._used[key] = each, last
        self.passes = passes

    def clear(self) -> None:
        """Begin with zero."""
        self._fields.clear()
        self._used.clear()
        for each in self.numbers.values():
            each[...] = 0.0

    def place(self, call: Structure, implicit: Mapping[str, Pair] | None, explicit: Mapping[str, Pair] | None) -> None:
        """Set the places of a pass: of fields that columns read in this step, and transport in the one after it."""
        self.passes += 1
        for member in self._members:
            name = f"adjoint_{member.name}"
            if member.shape is None:
                setattr(call, name, address(self.numbers[member.key]))
                continue
            fields = explicit if member.explicit else implicit
            if fields is not None:
                ends = [address(self._of(member.key, each)) for each in fields[member.key]]
                setattr(call, name, tuple(ends))

    def _of(self, name: str, field: AnyArray) -> AnyArray:
        """The adjoint of a packed field at an instant, which steps of the two intervals around it share."""
        key = name, id(field)
        if key not in self._fields:
            self._fields[key] = FieldAdjoint(name, field, aligned_zeros(field.shape, field.dtype))
        self._used[key] = self.passes
        return self._fields[key].adjoint
