"""Formulas of cells, compiled into SIMD code that takes packs of them through a step, or through many.

    y_n(c) = f_n(x_1(c), x_2(c) ...)       for each cell c; a y with the name of an x is this x of the next step

In many steps the values of a block of cells stay in the cache; what changes from step to step is all that is read. Each
operation is rounded by itself, so that the values of a cell depend neither on the cells beside it, nor on the number of
threads, nor on how many steps a call makes. They differ from NumPy's (:func:`airshed.formula.evaluate_all`) by some
units in the last place where a formula has functions, powers, or a division by a number.
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
from airshed.formula.steady import split
from airshed.formula.trace import Traced
from airshed.formula.tree import Call, Expression, Number, rewrite_all
from airshed.kernels import abi
from airshed.kernels.cpp import CELLS, Written, header, render
from airshed.kernels.host import AnyArray, address, processor
from airshed.kernels.toolchain import host_functions

Precision = Literal["double", "single"]

DTYPES: Final[dict[str, type[np.floating]]] = {"double": np.float64, "single": np.float32}

_BLOCK_BYTES: Final = 2**17
"""What the values of a block of cells take, in the second-level cache."""


def source(traced: Traced, precision: Precision, names: Sequence[str], steady: Collection[str]) -> str:
    """Return the C++ of formulas, see :class:`airshed.kernels.cells.formulas.CellFormulas` for its arguments."""
    parts = split(traced.outputs, steady)
    slots = {name: slot for slot, name in enumerate((*traced.inputs, *parts.steady))}
    places = _places(traced, names, slots)
    first = _statements(tuple(parts.steady.values()), slots)
    then = _statements(parts.outputs, slots)
    count = max([len(slots), *(place + 1 for place in places)])
    lanes = width(precision)
    packs = max(1, _BLOCK_BYTES // (count * lanes * np.dtype(DTYPES[precision]).itemsize))
    return render(
        "cells/formulas.cpp.jinja", width=lanes, real="double" if precision == "double" else "float",
        inputs=traced.inputs, prepare=first, step=then, places=places, slots=count, packs=packs,
        head=header("step/pack.hpp"), structures=Written(abi.declarations(abi.FORMULAS)),
        driver=header("cells/formulas.hpp"),
    )  # fmt: skip


def width(precision: Precision) -> int:
    """Return the cells in a pack: vectors longer than the processor's are cut into scalars where they are compared."""
    return 8 if precision == "single" or "avx512f" in processor().features else 4


def _places(traced: Traced, names: Sequence[str], slots: dict[str, int]) -> list[int]:
    """Return where each result lies: in the place of the input that it feeds, or in one of its own."""
    fed = [slots[name] if name in traced.inputs else None for name in names] or [None] * len(traced.outputs)
    own = iter(range(len(slots), len(slots) + len(fed)))
    return [next(own) if place is None else place for place in fed]


def _statements(formulas: Sequence[Expression], slots: dict[str, int]) -> dict[str, list[str]]:
    formulas = rewrite_all(formulas, _numbers_first)
    lines, results = cpp.code(formulas, lambda name: f"x[{slots[name]}]", CELLS)
    return {"lines": lines, "results": results}


def _numbers_first(node: Expression) -> Expression:
    """Let a number be the first of which the least or greatest is taken: it is one, which needs no check."""
    if isinstance(node, Call) and node.name in ("min", "max"):
        return Call(node.name, tuple(sorted(node.arguments, key=lambda each: not isinstance(each, Number))))
    return node


@dataclass(frozen=True, eq=False)
class Rows:
    """Values of steps, each a row that others may share, as the days of a week do: step n has ``values[of[n]]``.

    values  (rows, ...);  of  (steps,)
    As an array it is (steps, ...).
    """

    values: npt.NDArray[Any]
    of: npt.NDArray[np.int64]

    @staticmethod
    def each(values: npt.NDArray[Any]) -> "Rows":
        """Return the values of steps that share nothing: (steps, ...)."""
        return Rows(values, np.arange(len(values)))

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        dense: npt.NDArray[Any] = self.values[self.of]
        return dense.astype(dtype, copy=False)


__all__ = ["CellFormulas", "Precision", "Rows"]

_LEAST_CELLS: Final = 4096
"""Cells times steps for which another thread is worth waking."""


Shape = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class _Given:
    """An input: its values, of cells of some shape, and which row of them each step has, if steps do not share it."""

    array: AnyArray
    shape: Shape
    rows: npt.NDArray[np.int64] | None

    @cached_property
    def entry(self) -> tuple[int, ...]:
        """As `Input` of cells.hpp has it."""
        where = 0 if self.rows is None else address(self.rows)
        return address(self.array), int(self.shape != ()), prod(self.shape), where, *_chunks(self.array)


class CellFormulas:
    """Formulas as compiled code for arrays of cells, in "double" or "single" precision.

    names    of the results, for many steps: one that is also that of an input feeds it in the next step
    steady   inputs that all steps of a call have alike; what depends on them alone is computed once for each call
    threads  that share the cells
    dtype    of values
    Raises KernelError where there is no compiler, FormulaError where a formula has what no code can be made of.
    """

    def __init__(
        self, traced: Traced, precision: Precision = "double", *, names: Sequence[str] = (),
        steady: Collection[str] = (), threads: int = 1,
    ) -> None:  # fmt: skip
        self.traced, self.names, self.dtype, self.threads = traced, tuple(names), DTYPES[precision], threads
        self._varying = set(traced.inputs).difference(steady, names)
        self._lanes = width(precision)
        self._seen: dict[str, tuple[object, _Given]] = {}
        self._pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None
        text = source(traced, precision, names, set(steady).difference(names))
        self._function = host_functions(text, name=f"cells-{precision}").airshed_cells

    def __call__(
        self, values: Mapping[str, npt.ArrayLike], out: Sequence[AnyArray | None] | None = None
    ) -> list[AnyArray]:
        """Return the values of the formulas: one step.

        reads   values  by the names of the inputs: arrays of one shape, and numbers that all cells have
        writes  out     for each formula the array of its values, which may be one of `values`; None for a new one

        What is steady, and results, may be views with gaps, such as a species of a packed state: where cells lie in
        whole packs at one distance, nothing is copied.
        Raises KernelError for arrays that do not fit.
        """
        given = {name: np.asarray(values[name], self.dtype) for name in self.traced.inputs}
        alone = {name: array[np.newaxis] for name, array in given.items() if array.ndim and name in self._varying}
        return self.advance({**given, **alone}, 1, out)

    def advance(
        self, values: Mapping[str, npt.ArrayLike], steps: int, out: Sequence[AnyArray | None] | None = None,
        *, each: Mapping[str, AnyArray | Rows] | None = None,
    ) -> list[AnyArray]:  # fmt: skip
        """Return the values after some steps, with the bits of one call for each.

        reads   values  by the names of the inputs: numbers; arrays of cells, of what is steady or fed by a result; of
                        all others (steps, cells), or (steps) of numbers that all cells have, or Rows of either
        writes  out     for each formula the array of its values after the last step, as in a call for one step
                each    by the names of results: the values after each step (steps, cells), in either precision; or Rows
                        (rows, cells), of which each step writes one, and none where its number is -1
        Raises KernelError for arrays that do not fit.
        """
        if steps < 1:
            raise KernelError(f"{steps} steps are asked for; make one or more")
        given = {name: self._given(name, values[name], steps) for name in self.traced.inputs}
        shape = _shape(given)
        results, records = self._results(out, shape), self._records(each or {}, (steps, *shape))
        made = [each if self._fits(each) else np.empty(shape, self.dtype) for each in results]
        places = _table((address(each), *_chunks(each)) for each in made)
        self._run(
            (_table(each.entry for each in given.values()), places, _table(records)), len(records), steps, prod(shape)
        )
        for result, array in zip(results, made, strict=True):
            if array is not result:
                result[...] = array
        return results

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()

    def _given(self, name: str, value: object, steps: int) -> "_Given":
        """Return an input; one that is the same array as in the last call need not be looked at again."""
        seen, given = self._seen.get(name, (None, None))
        if value is seen and given is not None and given.array is value:
            return given
        found = self._looked_at(name, value, steps)
        if found.rows is None:
            self._seen[name] = value, found
        return found

    def _looked_at(self, name: str, value: object, steps: int) -> "_Given":
        rows = value if isinstance(value, Rows) else None
        array = np.asarray(rows.values if rows else value, self.dtype)
        if name not in self._varying or array.ndim == 0:
            if rows:
                raise KernelError(f"{name} has values of steps, and all steps of a call have it alike")
            array = array if self._fits(array) else np.ascontiguousarray(array)
            return _Given(array, array.shape, None)
        array = np.ascontiguousarray(array)
        of = rows.of if rows else np.arange(len(array))
        if len(of) != steps:
            raise KernelError(f"{name} has the values of {len(of)} steps, where {steps} are made")
        if of.min() < 0 or of.max() >= len(array):
            raise KernelError(f"{name} has {len(array)} rows, and a step asks for row {of.max()}")
        return _Given(array, array.shape[1:], np.ascontiguousarray(of, np.int64))

    def _results(self, out: Sequence[AnyArray | None] | None, shape: Shape) -> list[AnyArray]:
        wanted = [None] * len(self.traced.outputs) if out is None else out
        results = [np.empty(shape, self.dtype) if each is None else each for each in wanted]
        for each in results:
            if each.shape != shape or each.dtype != self.dtype:
                raise KernelError(f"a result is to be {shape} {np.dtype(self.dtype)}, not {each.shape} {each.dtype}")
        return results

    def _fits(self, array: AnyArray) -> bool:
        """Return whether the code can walk through an array: contiguous, or in chunks of whole packs."""
        length = _chunks(array)[0]
        return array.flags.c_contiguous or (length > 0 and length % self._lanes == 0)

    def _records(self, each: Mapping[str, AnyArray | Rows], shape: Shape) -> list[tuple[int, int, int, int]]:
        """Return where results go after steps: address, number of the result, whether it is double, rows of steps."""
        found: list[tuple[int, int, int, int]] = []
        for name, asked in each.items():
            if name not in self.names:
                raise KernelError(f"{name} is no result; there are {', '.join(self.names) or 'none with names'}")
            array, of = (asked.values, asked.of) if isinstance(asked, Rows) else (asked, None)
            wanted = shape if of is None else (len(array), *shape[1:])
            if array.shape != wanted or array.dtype not in DTYPES.values() or not array.flags.c_contiguous:
                raise KernelError(f"{name} of each step is to be {wanted} floats, not {array.shape} {array.dtype}")
            if of is not None and (of.shape != shape[:1] or of.max() >= len(array) or not of.flags.c_contiguous):
                raise KernelError(f"{name} has {len(array)} rows for {shape[0]} steps, not the rows {of}")
            where = 0 if of is None else address(of)
            found.append((address(array), self.names.index(name), int(array.dtype == np.float64), where))
        return found

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


def _shape(given: Mapping[str, _Given]) -> Shape:
    """Return the shape that values of all cells have."""
    shape = next((each.shape for each in given.values() if each.shape), ())
    for name, each in given.items():
        if each.shape not in ((), shape):
            raise KernelError(f"{name} has the shape {each.shape}, where other values of cells have {shape}")
    return shape


def _chunks(array: AnyArray) -> tuple[int, int]:
    """Return the length and the distance of the chunks that an array lies in, as `Chunks` of cells.hpp; else zeros."""
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
