"""Formulas of cells by NumPy, step by step: the reference implementation of :mod:`airshed.kernels.cells.formulas`."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from airshed.formula import evaluate_all
from airshed.formula.trace import Traced
from airshed.kernels.cells.formula_code import DTYPES
from airshed.kernels.cells.formulas import Rows
from airshed.kernels.host import AnyArray


class ReferenceCells:
    """Formulas of cells, see :class:`airshed.kernels.cells.formulas.CellFormulas`, whose arguments it takes."""

    def __init__(
        self, traced: Traced, precision: str = "double", *, names: Sequence[str] = (), steady: Collection[str] = (),
        threads: int = 1,
    ) -> None:  # fmt: skip
        self.traced, self.names, self.dtype = traced, tuple(names), DTYPES[precision]
        self._of_steps = set(traced.inputs).difference(steady, names)

    def advance(
        self, values: Mapping[str, Any], steps: int, out: Sequence[AnyArray | None] | None = None,
        *, each: Mapping[str, AnyArray | Rows] | None = None,
    ) -> list[AnyArray]:  # fmt: skip
        """Return the values after some steps."""
        current = {name: np.asarray(values[name], self.dtype) for name in self.traced.inputs}
        rows = {name: current[name] for name in self._of_steps if current[name].ndim}
        shape = np.broadcast_shapes(
            *(array.shape[1:] if name in rows else array.shape for name, array in current.items())
        )
        found: dict[str, AnyArray] = {}
        for step in range(steps):
            now = {**current, **found, **{name: array[step] for name, array in rows.items()}}
            made = evaluate_all(self.traced.outputs, now, dtype=self.dtype)
            found = dict(zip(self.names, (np.broadcast_to(one, shape) for one in made), strict=True))
            for name, record in (each or {}).items():
                array, row = (record.values, record.of[step]) if isinstance(record, Rows) else (record, step)
                if row >= 0:
                    array[row] = found[name]
        results = [np.empty(shape, self.dtype) if array is None else array for array in out or [None] * len(self.names)]
        for array, one in zip(results, found.values(), strict=True):
            array[...] = one
        return results

    def close(self) -> None:
        """Do nothing: there are no threads."""
