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
"""Operator of the equation: horizontal transport; columns (vertical transport, mixing, sources, losses); cells, each
without its neighbours (chemistry)."""

Kernel = tuple[Operator, ...] | Literal["sum", "redistribute"]
"""Operators of a stage, fused in one pass through memory if there are several; or an operation without operators."""

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
"""Separator in the placement of a redistribution: "SOURCE to TARGET"."""


@dataclass(frozen=True)
class Stage:
    """Stage of a step.

    Parameters
    ----------
    kernel
        Fused operators, "sum", or "redistribute".
    reads, writes
        Names of values. Operators read and write one; a sum reads several.
    span
        Part of the step over which operators advance the value, (0, 1) for the whole step.
    weights
        For operators the name of their formula, see :mod:`airshed.program.weights`, or "own" if they choose their own
        steps inside the span. For a sum the coefficient of each value.
    placement
        Ranks or device that run the stage, see :mod:`airshed.program.placement`.
    name
        Distinguishes kernels of the same operators, such as two kinds of cells.
    changes_history
        Whether the stage adds the same amounts to older time levels as to the newest one. Then another stage of the
        program may apply a formula with history.
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
        """The name by which an executor selects the runner of the stage."""
        return self.name or (self.kernel if isinstance(self.kernel, str) else "+".join(self.kernel))

    @property
    def has_history(self) -> bool:
        """True if the formula of the stage reads earlier time levels."""
        return isinstance(self.weights, str) and self.weights in FORMULAS and FORMULAS[self.weights].history > 0

    @property
    def placements(self) -> tuple[str, str]:
        """The placements of the values that the stage reads and writes; they differ for a redistribution alone."""
        source, _, target = self.placement.partition(BETWEEN)
        return source, target or source

    def over(self, begin: float, end: float) -> tuple[float, float]:
        """Return the start and the end [s] of the stage in a step from `begin` to `end` [s]."""
        first, last = self.span
        return begin + first * (end - begin), end if last == 1.0 else begin + last * (end - begin)

    @property
    def columns(self) -> tuple[str, str, str, str, str]:
        """The columns of a printed program: kernel, part of the step, values, formula, placement."""
        span = f"{_part(self.span[0])} to {_part(self.span[1])}" if self.operators else ""
        formula = self.weights if isinstance(self.weights, str) and self.operators and self.weights != "own" else ""
        placed = "" if self.placement == ALL_RANKS else self.placement
        return self.key, span, f"{self._read()} -> {self.writes}", formula, placed

    def _read(self) -> str:
        """Return the values that the stage reads, for a sum as a linear combination, such as "1/2 a - b"."""
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
        Name of the integrator.
    order
        Order of accuracy in the length of a step.
    stages
        Stages in the order in which they run.
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
        """Return the stage that computed the first value that a stage reads, in this step or in the one before.

        Redistributions are skipped: they move a value.
        """
        (value, *_), before = self.stages[number].reads, [*self.stages[number:], *self.stages[:number]]
        return next(each for each in reversed(before) if each.writes == value and each.kernel != "redistribute")

    @property
    def has_history(self) -> bool:
        """True if the formula of a stage reads earlier time levels."""
        return any(stage.has_history for stage in self.stages)

    @property
    def home(self) -> str:
        """The placement of the state at both ends of a step."""
        return self.stages[0].placements[0]

    def is_read_after(self, number: int, value: str, placement: str | None = None) -> bool:
        """Return whether a later stage reads a value of a placement before another stage overwrites it there.

        Parameters
        ----------
        number
            Number of the stage after which the search starts.
        placement
            By default :attr:`home`.
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
    """Return a stage that advances each cell without its neighbours, with its own steps."""
    return Stage(CELLS, (reads,), writes, (begin, end), name=name)


def move(
    begin: float, end: float, reads: str = STATE, writes: str = STATE, *,
    kernel: Kernel = TRANSPORT_AND_COLUMN, weights: str = "ARS(2,2,2)",
) -> Stage:  # fmt: skip
    """Return a stage of transport, of columns, or of both in one pass."""
    return Stage(kernel, (reads,), writes, (begin, end), weights)


def add(terms: Sequence[tuple[float, str]], writes: str = STATE) -> Stage:
    """Return a stage that writes a linear combination of values."""
    coefficients, values = zip(*terms, strict=True)
    return Stage("sum", values, writes, weights=coefficients)


def _part(value: float) -> str:
    return str(Fraction(value).limit_denominator(1000))


def _factor(value: float) -> str:
    return "" if value == 1.0 else f"{_part(value)} "
