"""Formulas of cells, compiled into SIMD code that advances packs of cells by one or more steps.

    y_n(c) = f_n(x_1(c), x_2(c) ...)       for each cell c; a y with the name of an x is this x of the next step

During many steps the values of a block of cells stay in the cache; only inputs that vary between steps are read. Each
operation is rounded separately. The result of a cell therefore depends neither on other cells, nor on the number of
threads or of steps in a call. It differs from NumPy (:func:`airshed.formula.evaluate_all`) by a few units in the last
place if a formula has functions, powers, or a division by a number.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from airshed.core.errors import KernelError
from airshed.formula import cpp
from airshed.formula.invariant import split
from airshed.formula.trace import TracedFunction
from airshed.formula.tree import Call, Expression, Number, rewrite_all
from airshed.kernels import abi
from airshed.kernels.cpp import CELLS, GeneratedText, header, render
from airshed.kernels.host import AnyArray, address, processor
from airshed.kernels.toolchain import host_functions

Precision = Literal["double", "single"]

DTYPES: Final[dict[str, type[np.floating]]] = {"double": np.float64, "single": np.float32}

_BLOCK_BYTES: Final = 2**17
"""Size of the values of a block of cells, which stay in the second-level cache."""


def source(traced: TracedFunction, precision: Precision, names: Sequence[str], invariant: Collection[str]) -> str:
    """Return the C++ of formulas, see :class:`airshed.kernels.cells.formulas.CellFormulas` for its arguments."""
    parts = split(traced.outputs, invariant)
    slots = {name: slot for slot, name in enumerate((*traced.inputs, *parts.invariant))}
    places = _places(traced, names, slots)
    first = _statements(tuple(parts.invariant.values()), slots)
    then = _statements(parts.outputs, slots)
    count = max([len(slots), *(place + 1 for place in places)])
    lanes = width(precision)
    packs = max(1, _BLOCK_BYTES // (count * lanes * np.dtype(DTYPES[precision]).itemsize))
    return render(
        "cells/formulas.cpp.jinja", width=lanes, real="double" if precision == "double" else "float",
        inputs=traced.inputs, prepare=first, step=then, places=places, slots=count, packs=packs,
        head=header("step/pack.hpp"), structures=GeneratedText(abi.declarations(abi.FORMULAS)),
        driver=header("cells/formulas.hpp"),
    )  # fmt: skip


def width(precision: Precision) -> int:
    """Return the cells per pack; comparisons of vectors wider than those of the processor become scalar code."""
    return 8 if precision == "single" or "avx512f" in processor().features else 4


def _places(traced: TracedFunction, names: Sequence[str], slots: dict[str, int]) -> list[int]:
    """Return the slot of each result: that of the input that it replaces, or a new one."""
    fed = [slots[name] if name in traced.inputs else None for name in names] or [None] * len(traced.outputs)
    own = iter(range(len(slots), len(slots) + len(fed)))
    return [next(own) if place is None else place for place in fed]


def _statements(formulas: Sequence[Expression], slots: dict[str, int]) -> dict[str, list[str]]:
    formulas = rewrite_all(formulas, _numbers_first)
    lines, results = cpp.code(formulas, lambda name: f"x[{slots[name]}]", CELLS)
    return {"lines": lines, "results": results}


def _numbers_first(node: Expression) -> Expression:
    """Move numbers to the front of minimum and maximum: only the first operand is checked for NaN."""
    if isinstance(node, Call) and node.name in ("min", "max"):
        return Call(node.name, tuple(sorted(node.arguments, key=lambda each: not isinstance(each, Number))))
    return node


@dataclass(frozen=True, eq=False)
class StepValues:
    """Per-step values, stored once where steps share them, as the days of a week do.

    values  (row, ...)
    rows    (step,) row of each step: the value of step n is ``values[rows[n]]``
    Conversion to an array gives (step, ...).
    """

    values: npt.NDArray[Any]
    rows: npt.NDArray[np.int64]

    @staticmethod
    def unshared(values: npt.NDArray[Any]) -> "StepValues":
        """Return values (step, ...) with a row for each step."""
        return StepValues(values, np.arange(len(values)))

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        dense: npt.NDArray[Any] = self.values[self.rows]
        return dense.astype(dtype, copy=False)


__all__ = ["CellFormulas", "Precision", "StepValues"]

_LEAST_CELLS: Final = 4096
"""Smallest number of cells times steps for which another thread pays off."""


Shape = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class _CellInput:
    """Input of formulas: its values, the shape of the cells, and the row of each step; None if it is invariant."""

    array: AnyArray
    shape: Shape
    rows: npt.NDArray[np.int64] | None

    @cached_property
    def entry(self) -> tuple[int, ...]:
        """The members of `Input` in kernels/abi.py."""
        where = 0 if self.rows is None else address(self.rows)
        return address(self.array), int(self.shape != ()), prod(self.shape), where, *_chunks(self.array)


class CellFormulas:
    """Formulas as compiled code for arrays of cells, in "double" or "single" precision.

    names      of the results; a result with the name of an input replaces that input in the next step
    invariant  inputs that are the same in all steps of a call; expressions of them are computed once per call
    threads    number of threads that share the cells
    dtype      of values
    Raises KernelError without a compiler, FormulaError for an operation that cannot be compiled.
    """

    def __init__(
        self, traced: TracedFunction, precision: Precision = "double", *, names: Sequence[str] = (),
        invariant: Collection[str] = (), threads: int = 1,
    ) -> None:  # fmt: skip
        self.traced, self.names, self.dtype, self.threads = traced, tuple(names), DTYPES[precision], threads
        self._varying = set(traced.inputs).difference(invariant, names)
        self._lanes = width(precision)
        self._seen: dict[str, tuple[object, _CellInput]] = {}
        self._pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None
        text = source(traced, precision, names, set(invariant).difference(names))
        self._function = host_functions(text, name=f"cells-{precision}").airshed_cells

    def __call__(
        self, values: Mapping[str, npt.ArrayLike], out: Sequence[AnyArray | None] | None = None
    ) -> list[AnyArray]:
        """Return the values of the formulas after one step.

        Parameters
        ----------
        values
            Inputs by name: arrays of one shape, and numbers that are the same in all cells.
        out
            For each formula the array of its values, which may be one of `values`; None for a new array.

        Raises
        ------
        KernelError
            An array has the wrong shape or type.

        Notes
        -----
        Invariant inputs and results may be strided views, such as a species of a packed state. Nothing is copied if
        their cells are whole packs at a constant stride.
        """
        given = {name: np.asarray(values[name], self.dtype) for name in self.traced.inputs}
        alone = {name: array[np.newaxis] for name, array in given.items() if array.ndim and name in self._varying}
        return self.advance({**given, **alone}, 1, out)

    def advance(
        self, values: Mapping[str, npt.ArrayLike], steps: int, out: Sequence[AnyArray | None] | None = None,
        *, records: Mapping[str, AnyArray | StepValues] | None = None,
    ) -> list[AnyArray]:  # fmt: skip
        """Advance the cells by several steps; return the values of the formulas after the last step.

        The result is bitwise identical to one call per step.

        Parameters
        ----------
        values
            Values of the inputs by name. An input that is invariant, or that a result replaces, is a number or an
            array (cell). Any other input has one value per step: (step, cell), (step,) if it is the same in all cells,
            or :class:`StepValues` of either.
        steps
            Number of steps, 1 or more.
        out
            For each formula the array of its values after the last step, as in a call for one step.
        records
            Arrays for the values after each step by the names of results, in either precision: (step, cell), or
            StepValues (row, cell), in which a step with row -1 is not recorded.

        Raises
        ------
        KernelError
            An array has the wrong shape or type.
        """
        if steps < 1:
            raise KernelError(f"cannot advance by {steps} steps: the number of steps must be 1 or more")
        given = {name: self._input(name, values[name], steps) for name in self.traced.inputs}
        shape = _shape(given)
        results, recorded = self._results(out, shape), self._records(records or {}, (steps, *shape))
        made = [each if self._fits(each) else np.empty(shape, self.dtype) for each in results]
        places = _table((address(each), *_chunks(each)) for each in made)
        self._run(
            (_table(each.entry for each in given.values()), places, _table(recorded)), len(recorded), steps, prod(shape)
        )
        for result, array in zip(results, made, strict=True):
            if array is not result:
                result[...] = array
        return results

    def close(self) -> None:
        """Stop the threads."""
        if self._pool is not None:
            self._pool.shutdown()

    def _input(self, name: str, value: object, steps: int) -> "_CellInput":
        """Return an input; an array that was checked in the last call is not checked again."""
        seen, given = self._seen.get(name, (None, None))
        if value is seen and given is not None and given.array is value:
            return given
        found = self._checked_input(name, value, steps)
        if found.rows is None:
            self._seen[name] = value, found
        return found

    def _checked_input(self, name: str, value: object, steps: int) -> "_CellInput":
        per_step = value if isinstance(value, StepValues) else None
        array = np.asarray(per_step.values if per_step else value, self.dtype)
        if name not in self._varying or array.ndim == 0:
            if per_step:
                raise KernelError(
                    f"{name} has values per step, but it is the same in all steps of a call; pass one value"
                )
            array = array if self._fits(array) else np.ascontiguousarray(array)
            return _CellInput(array, array.shape, None)
        array = np.ascontiguousarray(array)
        rows = per_step.rows if per_step else np.arange(len(array))
        if len(rows) != steps:
            raise KernelError(f"{name} has the values of {len(rows)} steps, but the call makes {steps}")
        if rows.min() < 0 or rows.max() >= len(array):
            raise KernelError(f"{name} has {len(array)} rows, but a step reads row {rows.max()}")
        return _CellInput(array, array.shape[1:], np.ascontiguousarray(rows, np.int64))

    def _results(self, out: Sequence[AnyArray | None] | None, shape: Shape) -> list[AnyArray]:
        wanted = [None] * len(self.traced.outputs) if out is None else out
        results = [np.empty(shape, self.dtype) if each is None else each for each in wanted]
        for each in results:
            if each.shape != shape or each.dtype != self.dtype:
                raise KernelError(f"a result must be {shape} {np.dtype(self.dtype)}, not {each.shape} {each.dtype}")
        return results

    def _fits(self, array: AnyArray) -> bool:
        """Return whether the code can read an array: contiguous, or in chunks of whole packs."""
        length = _chunks(array)[0]
        return array.flags.c_contiguous or (length > 0 and length % self._lanes == 0)

    def _records(self, records: Mapping[str, AnyArray | StepValues], shape: Shape) -> list[tuple[int, int, int, int]]:
        """Return the table of recorded results: address, number of the result, whether it is double, rows of steps."""
        entries: list[tuple[int, int, int, int]] = []
        for name, record in records.items():
            if name not in self.names:
                raise KernelError(f"{name} is not a result; the results are {', '.join(self.names) or 'without names'}")
            array, rows = (record.values, record.rows) if isinstance(record, StepValues) else (record, None)
            expected = shape if rows is None else (len(array), *shape[1:])
            if array.shape != expected or array.dtype not in DTYPES.values() or not array.flags.c_contiguous:
                raise KernelError(f"the record of {name} must be {expected} floats, not {array.shape} {array.dtype}")
            if rows is not None and (
                rows.shape != shape[:1] or rows.max() >= len(array) or not rows.flags.c_contiguous
            ):
                raise KernelError(
                    f"the record of {name} has {len(array)} rows for {shape[0]} steps; the rows {rows} do not fit"
                )
            where = 0 if rows is None else address(rows)
            entries.append((address(array), self.names.index(name), int(array.dtype == np.float64), where))
        return entries

    def _run(self, tables: Sequence[npt.NDArray[np.int64]], recorded: int, steps: int, cells: int) -> None:
        taken = np.zeros(1, np.int64)
        arguments = (*map(address, tables), recorded, steps, cells, address(taken))
        helpers = min(self.threads, steps * cells // _LEAST_CELLS) - 1
        jobs = [self._pool.submit(self._function, *arguments) for _ in range(helpers)] if self._pool else []
        try:
            self._function(*arguments)
        finally:
            for job in jobs:
                job.result()


def _shape(given: Mapping[str, _CellInput]) -> Shape:
    """Return the common shape of the values of cells."""
    shape = next((each.shape for each in given.values() if each.shape), ())
    for name, each in given.items():
        if each.shape not in ((), shape):
            raise KernelError(f"{name} has the shape {each.shape}, but other values of cells have {shape}")
    return shape


def _chunks(array: AnyArray) -> tuple[int, int]:
    """Return length and stride of the chunks of an array, as `Chunks` of kernels/abi.py; zeros if there are none."""
    if array.flags.c_contiguous:
        return 0, 0
    axes = [
        (size, stride // array.itemsize) for size, stride in zip(array.shape, array.strides, strict=True) if size > 1
    ]
    length = 1
    while axes and axes[-1][1] == length:
        length *= axes.pop()[0]
    regular = all(outer[1] == inner[0] * inner[1] for outer, inner in pairwise(axes))
    return (length, axes[-1][1]) if axes and regular else (0, 0)


def _table(values: Iterable[object]) -> npt.NDArray[np.int64]:
    return np.array(list(values), np.int64)
