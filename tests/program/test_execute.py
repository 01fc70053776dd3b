"""The walks over programs of matrices: forwards they are products and sums, backwards the transpose of that."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as some

from airshed.program.execute import walk_backwards, walk_forwards
from airshed.program.stage import HALF, STATE, Program, Stage, add, cells, move

Array = npt.NDArray[np.float64]

SIZE = 3


class Matrix:
    """Multiplies the working vector by a matrix of each stage, or by its transpose."""

    def __init__(self, values: "Vector", *, transposed: bool = False) -> None:
        self._values, self._transposed = values, transposed

    def run(self, number: int, stage: Stage, given: Array) -> Array:
        self._values.now = (given.T if self._transposed else given) @ self._values.now
        return given


class Vector:
    """A working vector as the values of a program, and as their adjoints."""

    def __init__(self, now: Array) -> None:
        self.now = now

    def copy(self) -> Array:
        return self.now.copy()

    def put(self, value: Array | None) -> None:
        self.now = np.zeros(SIZE) if value is None else value.copy()

    def accumulate(self, value: Array) -> None:
        self.now = self.now + value

    def add_up(self, coefficients: Sequence[float], values: Sequence[Array]) -> None:
        self.now = np.asarray(sum(each * value for each, value in zip(coefficients, values, strict=True)))

    def split(self, coefficients: Sequence[float], record: Any) -> list[Array]:
        return [each * self.now for each in coefficients]


def matrices(program: Program, seed: int = 0) -> list[Array]:
    random = np.random.default_rng(seed)
    return [random.uniform(-1.0, 1.0, (SIZE, SIZE)) for _ in program.stages]


def product(program: Program, given: Sequence[Array]) -> Array:
    """Return the matrix of a step, with all values side by side."""
    values = {STATE: np.eye(SIZE)}
    for stage, matrix in zip(program.stages, given, strict=True):
        if isinstance(stage.weights, str):
            values[stage.writes] = matrix @ values[stage.reads[0]]
        else:
            terms = zip(stage.weights, stage.reads, strict=True)
            values[stage.writes] = np.asarray(sum(each * values[name] for each, name in terms))
    return values[STATE]


def forwards(program: Program, given: Sequence[Array], start: Array) -> Array:
    values = Vector(start)
    walk_forwards(program, {stage.key: Matrix(values) for stage in program.stages}, values, given)
    return values.now


def backwards(program: Program, given: Sequence[Array], end: Array, kind: type[Vector] = Vector) -> Array:
    values = kind(end)
    walk_backwards(program, {stage.key: Matrix(values, transposed=True) for stage in program.stages}, values, given)
    return values.now


LIE = Program("lie", 1, (move(0, 1), cells(0, 1)))
STRANG = Program("strang", 2, (cells(0, HALF), move(0, 1), cells(HALF, 1)))
SYMMETRIC = Program("symmetric", 2, (
    cells(0, 1, writes="a"), move(0, 1, "a", "a"), move(0, 1, writes="b"), cells(0, 1, "b", "b"),
    add([(HALF, "a"), (HALF, "b")]),
))  # fmt: skip
CONCURRENT = Program("concurrent", 1, (
    move(0, 1, writes="moved"), cells(0, HALF, writes="reacted"), add([(1, "reacted"), (1, "moved"), (-1, STATE)]),
    cells(HALF, 1),
))  # fmt: skip
READ_LATE = Program("read late", 1, (
    cells(0, 1, writes="a"), cells(0, 1, "a", "b"), move(0, 1, "b"), add([(2, "a"), (-1, STATE)], "b"),
    cells(0, 1, STATE, STATE), add([(1, "b"), (3, STATE), (1, "a")]),
))  # fmt: skip

PROGRAMS = {each.name: each for each in (LIE, STRANG, SYMMETRIC, CONCURRENT, READ_LATE)}


@some.composite
def programs(draw: Any) -> Program:
    """Programs whose stages read values that are there, and that end with the state; some values are never read."""
    there, stages = [STATE], []
    for _ in range(draw(some.integers(1, 8))):
        writes = draw(some.sampled_from([STATE, "a", "b"]))
        if draw(some.booleans()):
            stages.append(cells(0, 1, draw(some.sampled_from(there)), writes))
        else:
            reads = draw(some.lists(some.sampled_from(there), min_size=1, max_size=3))
            stages.append(add([(draw(some.integers(-2, 2)), name) for name in reads], writes))
        there = list(dict.fromkeys([*there, writes]))
    return Program("random", 1, (*stages, add([(1, name) for name in there])))


def check(program: Program) -> None:
    given, (start, end) = matrices(program), np.random.default_rng(1).uniform(-1.0, 1.0, (2, SIZE))
    whole = product(program, given)
    assert forwards(program, given, start) == pytest.approx(whole @ start, rel=1e-13, abs=1e-13)
    assert backwards(program, given, end) == pytest.approx(whole.T @ end, rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_walk_backwards_is_the_transpose(name: str) -> None:
    check(PROGRAMS[name])


@given(programs())
def test_random_programs(program: Program) -> None:
    check(program)


class Forgetful(Vector):
    """A planted error: adjoints of values that several stages read are not added up."""

    def accumulate(self, value: Array) -> None:
        pass


@pytest.mark.parametrize(("name", "is_right"), [("strang", True), ("symmetric", False), ("concurrent", False)])
def test_a_missing_contribution_is_detected(name: str, is_right: bool) -> None:
    program, end = PROGRAMS[name], np.ones(SIZE)
    given = matrices(program)
    found = backwards(program, given, end, Forgetful)
    assert (found == pytest.approx(product(program, given).T @ end, rel=1e-13)) is is_right


def test_values_are_stored_no_longer_than_they_are_read() -> None:
    """In a program of stages in place nothing is copied; of two branches the start and the end of the first are."""
    copies: dict[str, int] = {}

    class CountingVector(Vector):
        def copy(self) -> Array:
            copies[name] += 1
            return super().copy()

    for name, program in PROGRAMS.items():
        copies[name] = 0
        values = CountingVector(np.ones(SIZE))
        walk_forwards(program, {stage.key: Matrix(values) for stage in program.stages}, values, matrices(program))
    assert (copies["lie"], copies["strang"], copies["symmetric"]) == (0, 0, 3)
