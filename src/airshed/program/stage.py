"""Stage and Program: one time step of an integrator as data.

    strang = Program("strang", 2, (
        cells(0, HALF), move(0, 1, kernel=TRANSPORT_AND_COLUMN), cells(HALF, 1),
    ), source="Strang 1968, SIAM J. Numer. Anal. 5, 506-517")
    print(strang)

A *value* is a version of the state that a step advances; the one called ``q`` is there when a step starts, and is the
result when it ends. A stage reads a value, advances it over a part of the step, and writes a value, of the same name
(in place) or another. A ``sum`` combines values linearly, so that stages may start from the same value.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

from airshed.program.weights import FORMULAS

Operator = Literal["transport", "column", "cells"]
"""What acts on the state: along faces of cells, along columns (vertical transport, mixing, sources, losses), or in each
cell by itself."""

Kernel = tuple[Operator, ...] | Literal["sum", "redistribute"]
"""What a stage runs: operators, fused in one pass through memory where there are several; or no operator."""

TRANSPORT: Final[Kernel] = ("transport",)
COLUMN: Final[Kernel] = ("column",)
CELLS: Final[Kernel] = ("cells",)
TRANSPORT_AND_COLUMN: Final[Kernel] = ("transport", "column")
EVERYTHING: Final[Kernel] = ("transport", "column", "cells")

STATE: Final = "q"
"""The value at the start and at the end of a step."""

HALF: Final = 0.5

ALL_RANKS: Final = "all ranks"

BETWEEN: Final = " to "
"""Stands between the placements of a redistribution, from the one that holds the value to the one that receives it."""


@dataclass(frozen=True)
class Stage:
    """One stage of a step.

    Parameters
    ----------
    kernel
        What runs: fused operators, "sum", or "redistribute".
    reads, writes
        Names of values. Operators read and write one; a sum reads several.
    span
        The part of the step that operators advance over, (0, 1) for all of it.
    weights
        Of operators: the name of their formula, see :mod:`airshed.program.weights`; "own" for operators with steps of
        their own inside the span. Of a sum: the coefficient of each value.
    placement
        The ranks or the device that run the stage, see :mod:`airshed.program.placement`.
    name
        Tells two kernels of the same operators apart, such as two kinds of cells.
    changes_history
        Whether the stage changes older time levels by the same amounts as the newest one, so that a formula with
        history goes on beside it.
    """

    kernel: Kernel
    reads: tuple[str, ...] = (STATE,)
    writes: str = STATE
    span: tuple[float, float] = (0.0, 1.0)
    weights: str | tuple[float, ...] = "own"
    placement: str = ALL_RANKS
    name: str = ""
    changes_history: bool = False

    @property
    def operators(self) -> tuple[Operator, ...]:
        """The operators that the stage runs; none for a sum or a redistribution."""
        return () if isinstance(self.kernel, str) else self.kernel

    @property
    def key(self) -> str:
        """The name under which an executor finds the code of the stage."""
        return self.name or (self.kernel if isinstance(self.kernel, str) else "+".join(self.kernel))

    @property
    def has_history(self) -> bool:
        """Return whether the formula of the stage reads the step before, which no other stage may then change."""
        return isinstance(self.weights, str) and self.weights in FORMULAS and FORMULAS[self.weights].history > 0

    @property
    def placements(self) -> tuple[str, str]:
        """The placement whose values the stage reads, and that whose values it writes: two for a redistribution."""
        source, _, target = self.placement.partition(BETWEEN)
        return source, target or source

    def over(self, begin: float, end: float) -> tuple[float, float]:
        """Return the start and the end [s] of the stage in a step from `begin` to `end` [s]."""
        first, last = self.span
        return begin + first * (end - begin), end if last == 1.0 else begin + last * (end - begin)

    @property
    def columns(self) -> tuple[str, str, str, str, str]:
        """What a printed program shows: kernel, part of the step, values, formula, placement."""
        span = f"{_part(self.span[0])} to {_part(self.span[1])}" if self.operators else ""
        formula = self.weights if isinstance(self.weights, str) and self.operators and self.weights != "own" else ""
        placed = "" if self.placement == ALL_RANKS else self.placement
        return self.key, span, f"{self._read()} -> {self.writes}", formula, placed

    def _read(self) -> str:
        if isinstance(self.weights, str):
            return ", ".join(self.reads)
        terms = zip(self.weights, self.reads, strict=True)
        signed = " ".join(f"{'-' if each < 0 else '+'} {_factor(abs(each))}{name}" for each, name in terms)
        return signed.removeprefix("+ ")


@dataclass(frozen=True)
class Program:
    """The stages of a step in their order; ``print`` shows them.

    Parameters
    ----------
    name
        Of the integrator.
    order
        Of accuracy in the length of a step.
    stages
        In the order in which they run.
    source
        Publication.
    """

    name: str
    order: int
    stages: tuple[Stage, ...]
    source: str = ""

    def __str__(self) -> str:
        rows = [(str(number), *stage.columns) for number, stage in enumerate(self.stages, start=1)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows]
        first = f"{self.name}: order {self.order}"
        return "\n".join([first, *(f"  {line}".rstrip() for line in lines), *([self.source] if self.source else [])])

    @property
    def cells(self) -> tuple[int, ...]:
        """The numbers of the stages of chemistry of cells alone, in their order."""
        return tuple(number for number, stage in enumerate(self.stages) if stage.kernel == CELLS and not stage.name)

    def writer_of(self, number: int) -> Stage:
        """Return the stage that wrote the value that a stage reads first: of this step, or of the one before.

        A redistribution moves a value and does not count.
        """
        (value, *_), before = self.stages[number].reads, [*self.stages[number:], *self.stages[:number]]
        return next(each for each in reversed(before) if each.writes == value and each.kernel != "redistribute")

    @property
    def has_history(self) -> bool:
        """Return whether a stage reads the step before."""
        return any(stage.has_history for stage in self.stages)

    @property
    def home(self) -> str:
        """The placement of the state at both ends of a step."""
        return self.stages[0].placements[0]

    def is_read_after(self, number: int, value: str, placement: str | None = None) -> bool:
        """Return whether a stage after that of a number reads a value of a placement before it is written again there.

        placement  None for that of the state at both ends of a step
        """
        here = placement or self.home
        for stage in self.stages[number + 1 :]:
            source, target = stage.placements
            if source == here and value in stage.reads:
                return True
            if target == here and stage.writes == value:
                return False
        return value == STATE and here == self.home


def cells(begin: float, end: float, reads: str = STATE, writes: str = STATE, *, name: str = "") -> Stage:
    """Return the stage that advances each cell by itself, with steps of its own."""
    return Stage(CELLS, (reads,), writes, (begin, end), name=name)


def move(
    begin: float, end: float, reads: str = STATE, writes: str = STATE, *,
    kernel: Kernel = TRANSPORT_AND_COLUMN, weights: str = "ARS(2,2,2)",
) -> Stage:  # fmt: skip
    """Return the stage that advances by transport, along columns, or by both in one pass."""
    return Stage(kernel, (reads,), writes, (begin, end), weights)


def add(terms: Sequence[tuple[float, str]], writes: str = STATE) -> Stage:
    """Return the stage that writes a linear combination of values."""
    coefficients, values = zip(*terms, strict=True)
    return Stage("sum", values, writes, weights=coefficients)


def _part(value: float) -> str:
    return str(Fraction(value).limit_denominator(1000))


def _factor(value: float) -> str:
    return "" if value == 1.0 else f"{_part(value)} "
