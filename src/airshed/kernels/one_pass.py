"""Array formulas compiled into one pass over memory, where NumPy needs one pass per operation.

A formula is a function of arrays that broadcast: + - * /, comparisons, where, maximum, minimum, abs and sqrt. It is
traced once (:mod:`airshed.formula`); the C++ code evaluates it value by value. Each operation is rounded as in NumPy,
so that both give the same bits.
"""

import ctypes
from collections.abc import Callable, Sequence
from functools import cache, lru_cache, wraps
from itertools import chain
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.core.errors import KernelError
from airshed.formula import cpp, trace
from airshed.formula.dialect import SCALARS
from airshed.kernels.cpp import render
from airshed.kernels.host import address
from airshed.kernels.toolchain import host_functions

Formula = Callable[..., Any]

_AXES: Final = 4
_BYTES: Final = 8  # of a double

_PLANS: Final = 32
"""Number of array shapes for which a formula stores its loop plan; a plan takes longer than a small array."""


def one_pass(formula: Formula) -> Callable[..., Array]:
    """Return a formula that makes one pass over its arrays; it is compiled at its first call.

    The arrays, of at most four axes, broadcast against each other; the result has their common shape. If `out` is
    given, the result is written to it: an array of this shape, contiguous along its last axis, and not an input.
    Numbers from the enclosing scope of the formula are constants of the code.
    Raises KernelError without a compiler, FormulaError for an operation that cannot be compiled.
    """

    @cache
    def compiled(along: tuple[bool, ...]) -> Callable[[Any], None]:
        return _compile(formula, along)

    @lru_cache(maxsize=_PLANS)
    def plan(*lies: tuple[tuple[int, ...], tuple[int, ...]]) -> tuple[Callable[[Any], None], tuple[int, ...]] | None:
        """Return the code for arrays of these shapes and strides, and its loops; None for strided values."""
        shape, steps = _joined(lies)
        if not set(steps[-1]) <= {0, 1}:
            return None
        return compiled(tuple(step == 1 for step in steps[-1][:-1])), (*shape, *chain.from_iterable(steps))

    @wraps(formula)
    def in_one_pass(*fields: npt.ArrayLike, out: Array | None = None) -> Array:
        arrays = [np.asarray(each, dtype=np.float64) for each in fields]
        arrays.append(np.empty(np.broadcast(*arrays).shape) if out is None else out)
        planned = plan(*((each.shape, each.strides) for each in arrays))
        if planned is None:
            return in_one_pass(*(each.copy() for each in arrays[:-1]), out=out)
        function, walk = planned
        function((ctypes.c_int64 * (len(arrays) + len(walk)))(*map(address, arrays), *walk))
        return arrays[-1]

    return in_one_pass


def _joined(lies: Sequence[tuple[tuple[int, ...], tuple[int, ...]]]) -> tuple[list[int], list[tuple[int, ...]]]:
    """Return the four loop axes, contiguous axes of the last array merged, and the strides of all arrays [values].

    lies  shape and strides of each array
    """
    last = lies[-1][0]
    shape: list[int] = []
    steps: list[tuple[int, ...]] = []
    if len(last) > _AXES:
        raise KernelError(f"a formula in one pass accepts arrays of at most {_AXES} axes, not {len(last)}")
    strides = [_strides(*each, axes=len(last)) for each in lies]
    for size, along in zip(reversed(last), zip(*strides, strict=True), strict=False):
        if size == 1:
            continue
        if shape and along == tuple(step * shape[-1] for step in steps[-1]):
            shape[-1] *= size
        else:
            shape.append(size)
            steps.append(along)
    if not shape:  # a single value
        shape, steps = [1], [(0,) * len(lies)]
    missing = _AXES - len(shape)
    return [1] * missing + shape[::-1], [(0,) * len(lies)] * missing + steps[::-1]


def _strides(shape: tuple[int, ...], strides: tuple[int, ...], axes: int) -> list[int]:
    """Return the strides of an array [values] along axes counted from the last one, 0 along a broadcast axis."""
    own = [0 if size == 1 else stride // _BYTES for size, stride in zip(shape, strides, strict=True)]
    return own[::-1] + [0] * (axes - len(own))


def _compile(formula: Formula, along: tuple[bool, ...]) -> Callable[[Any], None]:
    """Return the code of a formula; along: which arrays vary along the last axis."""
    traced = trace(formula, [f"x{number}" for number in range(len(along))])
    lines, (result,) = cpp.code(traced.outputs, str, SCALARS, prefix="t")
    text = render("one_pass.cpp.jinja", count=len(along), along=along, lines=lines, result=result)
    function: Callable[[Any], None] = host_functions(text, name="formula").airshed_formula
    return function
