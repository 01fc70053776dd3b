"""Simulator of programs: executes a list of stages on symbols and refuses a list that is no time step.

A value of the state is a series in words of operators, up to the order that the program claims. A stage that advances
operators A and B over a span h multiplies the series from the left by exp(h (A + B)); a sum combines series. The
coefficient of the empty word is the share of the start of the step in a value. That of a word of one letter is the part
of the step over which the operator has advanced the value. Longer words are the order conditions: the result has to be
exp(A + B + ...). They hold for linear operators that do not commute.

Source of order conditions as coefficients of words: Hairer, Lubich & Wanner 2006, Geometric Numerical Integration,
section III.5.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from math import factorial, isclose
from typing import Final, NoReturn, get_args

from airshed.core.errors import ProgramError
from airshed.program.stage import BETWEEN, CELLS, STATE, Operator, Program, Stage
from airshed.program.weights import FORMULAS, Formula

Word = tuple[str, ...]
"""Operators that act one after the other, the last one first."""

Series = Mapping[Word, float]

OWN: Final = "own"
"""Weights of a stage whose operators choose their own steps inside the span."""

_ROUNDING: Final = 1e-12

_LENGTHS: Final = ((10.0, 10.0), (13.0, 10.0), (3.0, 10.0))
"""Lengths of a step and of the one before [s] at which formulas are tried."""


@dataclass(frozen=True)
class ProgramMemory:
    """Memory that a program requires.

    Parameters
    ----------
    lasting
        Number of further steps for which the array of the newest mixing ratios is not overwritten.
    buffers
        Greatest number of values of the state that exist at once, earlier time levels included.
    """

    lasting: int
    buffers: int


def check(program: Program) -> ProgramMemory:
    """Check a program; return the memory that it requires.

    Raises
    ------
    ProgramError
        The program is no time step, or does not have the order that it claims.
    """
    run = _SymbolicRun(program)
    for number, stage in enumerate(program.stages):
        run.advance(number, stage)
    run.check_result()
    history = max((each.history for each in map(_formula, program.stages) if each is not None), default=0)
    # other stages change the newest time level in place
    lasting = history if len(program.stages) == 1 else 0
    return ProgramMemory(lasting, history + _most_values(program))


class _SymbolicRun:
    """Run of a program in which each value of the state is a series."""

    def __init__(self, program: Program) -> None:
        if not program.stages:
            raise ProgramError(f"program {program.name!r} has no stages: give it one for each operator")
        if program.order < 1:
            raise ProgramError(f"program {program.name!r} has the order {program.order}: claim 1 or more")
        self._program, self._number = program, 0
        self._series: dict[tuple[str, str], Series] = {(program.home, STATE): {(): 1.0}}  # by placement and value

    def advance(self, number: int, stage: Stage) -> None:
        """Execute one stage."""
        # its inputs
        self._number = number
        self._check_kernel(stage)
        source, target = stage.placements
        for value in stage.reads:
            if (source, value) not in self._series:
                self._refuse_unwritten(source, value)

        # its result
        if stage.kernel == "redistribute":
            found = self._series[source, stage.reads[0]]
        elif stage.kernel == "sum":
            found = self._sum(stage)
        else:
            self._check_formula(stage)
            found = self._advance(stage)
        self._series[target, stage.writes] = found

        # the use of its result
        if not self._program.is_read_after(number, stage.writes, target):
            self._refuse(f"writes {stage.writes!r}, which no later stage reads: read it, or leave the stage out")

    def _refuse_unwritten(self, placement: str, value: str) -> NoReturn:
        elsewhere = sorted(other for other, name in self._series if name == value)
        if elsewhere:
            self._refuse(f"reads {value!r} on {placement}, but it is on {', '.join(elsewhere)}: redistribute it before")
        there = sorted(name for other, name in self._series if other == placement)
        self._refuse(f"reads {value!r}, which no stage before it writes: read one of {there}")

    def check_result(self) -> None:
        """Check that the result is that of a whole step, and of the order that the program claims."""
        if self._program.stages[-1].writes != STATE:
            self._refuse(f"is the last one and does not write the result: let it write {STATE!r}")
        result, order = self._series[self._program.home, STATE], self._program.order
        letters = sorted({letter for stage in self._program.stages for letter in _letters(stage)})

        # each operator advances the result over the whole step
        for letter in letters:
            advanced = result.get((letter,), 0.0)
            if not _equal(advanced, 1.0):
                self._refuse_program(
                    f"advances {letter} over {advanced:.6g} of the step: its spans on the way to {STATE!r} have to add "
                    "up to 1"
                )

        # order conditions
        for length in range(2, order + 1):
            for word in product(letters, repeat=length):
                if not _equal(result.get(word, 0.0), 1.0 / factorial(length)):
                    self._refuse_program(
                        f"is of order {length - 1}, not {order}: the term {' '.join(word)} has the coefficient "
                        f"{result.get(word, 0.0):.6g} in place of {1.0 / factorial(length):.6g}; change the spans, or "
                        "claim the lower order"
                    )

    def _check_kernel(self, stage: Stage) -> None:
        """Check the operators of a stage, its placements, and the number of values that it reads."""
        known = get_args(Operator)
        unknown = [each for each in stage.operators if each not in known]
        if unknown or not (stage.operators or stage.kernel in ("sum", "redistribute")):
            self._refuse(
                f"runs {stage.kernel!r}: an operator is one of {', '.join(known)}; a kernel is a tuple of operators, "
                '"sum" or "redistribute"'
            )
        if len(set(stage.operators)) < len(stage.operators):
            self._refuse("runs an operator twice: fuse different ones")
        source, target = stage.placements
        if (source != target) != (stage.kernel == "redistribute"):
            self._refuse(
                f"has the placement {stage.placement!r}: a redistribution has two, as in 'SOURCE{BETWEEN}TARGET', any "
                "other stage has one"
            )
        if stage.kernel != "sum" and len(stage.reads) != 1:
            self._refuse(f"reads {len(stage.reads)} values: only a sum reads other than one")

    def _check_formula(self, stage: Stage) -> None:
        """Check that the formula of a stage is known, of sufficient order, and exact at constant rates."""
        # known, and of sufficient order
        formula = _formula(stage)
        if formula is not None and stage.operators == CELLS:
            self._refuse(f"has the weights {stage.weights!r}: cells alone choose their own steps, {OWN!r}")
        if formula is None:
            if stage.weights != OWN or {"transport", "column"} & {*stage.operators}:
                known = ", ".join(FORMULAS)
                self._refuse(f"has the weights {stage.weights!r}: a formula is one of {known}; cells may have {OWN!r}")
            return
        if formula.order < self._program.order:
            self._refuse(
                f"has a formula of order {formula.order} in a program of order {self._program.order}: claim the lower "
                f"order, or take another formula than {formula.name}"
            )

        # exact at constant rates
        for step, previous in _LENGTHS:
            for operator, advanced in zip(("transport", "column"), formula.advances(step, previous)[-1], strict=True):
                if not _equal(advanced, step):
                    self._refuse(
                        f"has a formula that advances {operator} by {advanced:.6g} s in a step of {step:g} s after one "
                        f"of {previous:g} s: correct the weights of {formula.name}"
                    )
        if formula.history:
            self._check_history(stage, formula)

    def _check_history(self, stage: Stage, formula: Formula) -> None:
        """Check that no other stage breaks the history of a formula."""
        if (*stage.reads, stage.writes) != (STATE, STATE):
            self._refuse(f"has a formula with history, which only {STATE!r} has: read and write {STATE!r}")
        for number, other in enumerate(self._program.stages):
            if number != self._number and other.writes == STATE and not other.changes_history:
                self._refuse(
                    f"has a formula with history, but stage {number + 1} writes {STATE!r} too: take a formula "
                    f"of one step, fuse both stages, or let stage {number + 1} change older time levels as well "
                    "(changes_history)"
                )

    def _advance(self, stage: Stage) -> Series:
        """Return the series of the value that a stage of operators writes; refuse spans with a gap or an overlap."""
        series, (begin, end) = self._series[stage.placements[0], stage.reads[0]], stage.span
        if not 0.0 <= begin < end <= 1.0 + _ROUNDING:
            self._refuse(f"has the span {begin:g} to {end:g}: it has to go forwards, inside 0 to 1")
        for letter in _letters(stage):
            advanced = series.get((letter,), 0.0)
            if not _equal(begin, advanced):
                how = "leaves a gap" if begin > advanced else "overlaps"
                self._refuse(
                    f"begins at {begin:g} of the step, but {letter} has advanced {stage.reads[0]!r} to {advanced:g}: "
                    f"the span {how}; let it begin at {advanced:g}"
                )
        return self._multiplied(_letters(stage), end - begin, series)

    def _multiplied(self, letters: tuple[str, ...], span: float, series: Series) -> Series:
        """Return exp(span (A + B + ...)) times a series, up to the order of the program."""
        longest, found = max(self._program.order, 1), dict(series)
        for length in range(1, longest + 1):
            factor = span**length / factorial(length)
            for word, coefficient in series.items():
                for first in product(letters, repeat=length) if length + len(word) <= longest else ():
                    found[first + word] = found.get(first + word, 0.0) + factor * coefficient
        return found

    def _sum(self, stage: Stage) -> Series:
        """Return the series of a sum."""
        coefficients = stage.weights
        if isinstance(coefficients, str) or len(coefficients) != len(stage.reads):
            self._refuse(f"needs a coefficient for each of {', '.join(stage.reads)}")
        if not _equal(sum(coefficients), 1.0):
            self._refuse(f"has coefficients that add up to {sum(coefficients):.6g}: they have to add up to 1")
        found: dict[Word, float] = {}
        for coefficient, value in zip(coefficients, stage.reads, strict=True):
            for word, factor in self._series[stage.placements[0], value].items():
                found[word] = found.get(word, 0.0) + coefficient * factor
        return found

    def _refuse(self, problem: str) -> NoReturn:
        stage = self._program.stages[self._number]
        kernel = stage.name or (stage.kernel if isinstance(stage.kernel, str) else "+".join(map(str, stage.kernel)))
        self._refuse_program(f"stage {self._number + 1} ({kernel}) {problem}")

    def _refuse_program(self, problem: str) -> NoReturn:
        raise ProgramError(f"program {self._program.name!r}: {problem}")


def _letters(stage: Stage) -> tuple[str, ...]:
    """Return the operators of a stage as letters of words; a named kernel has letters of its own."""
    return tuple(f"{each} of {stage.name}" if stage.name else each for each in stage.operators)


def _formula(stage: Stage) -> Formula | None:
    return FORMULAS.get(stage.weights) if isinstance(stage.weights, str) and stage.operators else None


def _most_values(program: Program) -> int:
    """Return the largest number of values in a placement: the values that later stages read, and the working state.

    A sum reads its values until it is complete.
    """
    most = 0
    for number, stage in enumerate(program.stages):
        here = stage.placements[1]
        written = {each.writes for each in program.stages[:number] if each.placements[1] == here}
        written = (written | {STATE} if here == program.home else written) - {stage.writes}
        stored = {value for value in written if program.is_read_after(number, value, here)}
        most = max(most, len(stored | {*stage.reads} if stage.kernel == "sum" else stored))
    return most + 1


def _equal(first: float, second: float) -> bool:
    return isclose(first, second, rel_tol=_ROUNDING, abs_tol=_ROUNDING)
