"""Formulas of cells, compiled into one pass of SIMD code over packs of them.

    y_n(c) = f_n(x_1(c), x_2(c) ...)       for each cell c

Each operation is rounded by itself, so that a cell's values depend neither on the cells beside it nor on the number of
threads. They differ from NumPy's (:func:`airshed.formula.evaluate_all`) by some units in the last place where a formula
has functions, powers, or a division by a number.
"""

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from airshed.core.errors import KernelError
from airshed.formula import cpp
from airshed.formula.dialect import PACKS
from airshed.formula.trace import Traced
from airshed.kernels.cpu.compiled import Signatures, declared
from airshed.kernels.cpu.template import header, render
from airshed.kernels.cpu.toolchain import build, load
from airshed.kernels.host import processor
from airshed.kernels.memory import AnyArray, address
from airshed.kernels.one_pass import NUMPY_FLAGS

Precision = Literal["double", "single"]

_LEAST_CELLS: Final = 4096
"""Cells for which another thread is worth waking, a multiple of the cells in a pack."""

_DTYPES: Final[Mapping[str, type[np.floating]]] = {"double": np.float64, "single": np.float32}
_DIALECT: Final = replace(
    PACKS,
    name="code of cells",
    functions={**PACKS.functions, "min": "least({0}, {1})", "max": "greatest({0}, {1})"},
)
_SIGNATURES: Final[Signatures] = {
    "airshed_cells": (None, [*[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 2]),
}


class CellFormulas:
    """Formulas as compiled code for arrays of cells, in "double" or "single" precision.

    dtype    of values
    threads  that share the cells
    Raises KernelError where there is no compiler, FormulaError where a formula has what no code can be made of.
    """

    def __init__(self, traced: Traced, precision: Precision = "double", *, threads: int = 1) -> None:
        self.traced, self.dtype, self.threads = traced, _DTYPES[precision], threads
        self._width = width(precision)
        self._pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None
        library = build(source(traced, precision), name=f"cells-{precision}", extra_flags=NUMPY_FLAGS)
        self._function = declared(load(library), _SIGNATURES).airshed_cells

    def __call__(
        self, values: Mapping[str, npt.ArrayLike], out: Sequence[AnyArray | None] | None = None
    ) -> list[AnyArray]:
        """Return the values of the formulas.

        reads   values  by the names of the inputs: arrays of one shape, and numbers that all cells have
        writes  out     for each formula the array of its values, which may be one of `values`; None for a new one
        Raises KernelError for arrays that do not fit.
        """
        given = [np.asarray(values[name], self.dtype, order="C") for name in self.traced.inputs]
        shape = next((each.shape for each in given if each.ndim), ())
        for name, each in zip(self.traced.inputs, given, strict=True):
            if each.ndim and each.shape != shape:
                raise KernelError(f"{name} has the shape {each.shape}, where other values of cells have {shape}")
        results = self._results(out, shape)
        kept = [each if each.ndim else np.full(self._width, each, self.dtype) for each in given]
        self._run(kept, [int(each.ndim > 0) for each in given], results)
        return results

    def close(self) -> None:
        """End the threads."""
        if self._pool is not None:
            self._pool.shutdown()

    def _results(self, out: Sequence[AnyArray | None] | None, shape: tuple[int, ...]) -> list[AnyArray]:
        wanted = [None] * len(self.traced.outputs) if out is None else out
        results = [np.empty(shape, self.dtype) if each is None else each for each in wanted]
        for each in results:
            if each.shape != shape or each.dtype != self.dtype or not each.flags.c_contiguous:
                raise KernelError(f"a result is to be {shape} {np.dtype(self.dtype)}, not {each.shape} {each.dtype}")
        return results

    def _run(self, given: list[AnyArray], steps: list[int], results: list[AnyArray]) -> None:
        table = [_integers(map(address, given)), _integers(steps), _integers(map(address, results))]
        first, *others = _ranges(results[0].size if results else 0, self.threads)
        shared = tuple(map(address, table))
        jobs = [self._pool.submit(self._function, *shared, *each) for each in others] if self._pool else []
        try:
            self._function(*shared, *first)
        finally:
            for job in jobs:
                job.result()


def width(precision: Precision) -> int:
    """Return the cells in a pack: vectors longer than the processor's are cut into scalars where they are compared."""
    return 8 if precision == "single" or "avx512f" in processor().features else 4


def source(traced: Traced, precision: Precision) -> str:
    """Return the C++ of formulas."""
    places = {name: f"x{number}" for number, name in enumerate(traced.inputs)}
    lines, results = cpp.code(traced.outputs, places.__getitem__, _DIALECT)
    real = "double" if precision == "double" else "float"
    return render(
        "cells.cpp.jinja", width=width(precision), real=real, inputs=traced.inputs, lines=lines, results=results,
        head=header("pack.hpp"),
    )  # fmt: skip


def _ranges(cells: int, threads: int) -> list[tuple[int, int]]:
    """Return the cells of each thread: whole packs, but for the last one."""
    parts = cells // _LEAST_CELLS
    count = max(1, min(threads, parts))
    return list(pairwise([*(parts * number // count * _LEAST_CELLS for number in range(count)), cells]))


def _integers(values: Iterable[int]) -> npt.NDArray[np.int64]:
    return np.array(list(values), np.int64)
