"""Values of cells, and the runner of the stage of a model of points: its updates, many steps in one pass."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from airshed.kernels.cells.formulas import CellFormulas, Rows
from airshed.kernels.host import AnyArray
from airshed.program.stage import Stage

Values = Mapping[str, npt.ArrayLike]
Copy = Mapping[str, AnyArray]


class CellValues(dict[str, AnyArray]):
    """Arrays of cells by name, changed in place: the working state of a walk over a program, or its adjoint."""

    def copy(self) -> dict[str, AnyArray]:
        """Return a copy of all arrays."""
        return {name: array.copy() for name, array in self.items()}

    def put(self, value: Copy | None) -> None:
        """Replace the values by a copy of them; None is zero."""
        for name, array in self.items():
            array[...] = 0.0 if value is None else value[name]

    def accumulate(self, value: Copy) -> None:
        """Add a copy."""
        for name, array in self.items():
            array += value[name]

    def add_up(self, coefficients: Sequence[float], values: Sequence[Copy]) -> None:
        """Replace the values by a linear combination of copies."""
        for name, array in self.items():
            array[...] = sum(share * each[name] for share, each in zip(coefficients, values, strict=True))

    def split(self, coefficients: Sequence[float], record: Any) -> list[dict[str, AnyArray]]:
        """Return the adjoint of each value of a linear combination, of which these are the adjoint."""
        return [{name: share * array for name, array in self.items()} for share in coefficients]


@dataclass(frozen=True)
class Batch:
    """Steps that one call makes.

    values   inputs that they do not change: parameters, numbers, and of each step its weather
    records  (steps, cells) by names of results: filled with those of each step; or Rows, of which steps fill some
    """

    steps: int
    values: Values
    records: Mapping[str, AnyArray | Rows] = field(default_factory=dict)


class Updates:
    """Runner of compiled formulas on values of cells; satisfies :class:`airshed.program.execute.Runner`.

    A result whose name is that of a value replaces it; other results are in `records` of a batch, and in `last`.
    """

    def __init__(self, formulas: CellFormulas, values: CellValues) -> None:
        self.formulas, self._values = formulas, values
        self.last: dict[str, AnyArray] = {}

    def run(self, number: int, stage: Stage, given: Batch) -> Batch:
        """Make the steps of a batch; it is also the record of the stage."""
        out = [self._values.get(name, self.last.get(name)) for name in self.formulas.names]
        found = self.formulas.advance({**given.values, **self._values}, given.steps, out, each=given.records)
        self.last = dict(zip(self.formulas.names, found, strict=True))
        return given
