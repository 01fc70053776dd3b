"""The C++ of formulas of cells: what is steady, a step, and the frame that takes blocks of cells through steps."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np

from airshed.formula import cpp
from airshed.formula.dialect import PACKS
from airshed.formula.steady import split
from airshed.formula.trace import Traced
from airshed.formula.tree import Call, Expression, Number, rewrite_all
from airshed.kernels import abi
from airshed.kernels.cpp import Written, header, render
from airshed.kernels.host import processor

Precision = Literal["double", "single"]

DTYPES: Final[dict[str, type[np.floating]]] = {"double": np.float64, "single": np.float32}

_BLOCK_BYTES: Final = 2**17
"""What the values of a block of cells take, in the second-level cache."""

_DIALECT: Final = replace(
    PACKS,
    name="code of cells",
    functions={**PACKS.functions, "min": "least({0}, {1})", "max": "greatest({0}, {1})"},
)


@dataclass(frozen=True)
class _Statements:
    lines: list[str]
    results: list[str]


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


def _statements(formulas: Sequence[Expression], slots: dict[str, int]) -> _Statements:
    formulas = rewrite_all(formulas, _numbers_first)
    return _Statements(*cpp.code(formulas, lambda name: f"x[{slots[name]}]", _DIALECT))


def _numbers_first(node: Expression) -> Expression:
    """Let a number be the first of which the least or greatest is taken: it is one, which needs no check."""
    if isinstance(node, Call) and node.name in ("min", "max"):
        return Call(node.name, tuple(sorted(node.arguments, key=lambda each: not isinstance(each, Number))))
    return node
