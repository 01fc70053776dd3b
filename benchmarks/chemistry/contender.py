"""What takes part in a comparison of solvers, and how its speed and its errors are measured."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

CALL: Final = 300.0
"""[s] that a call advances every cell, at constant rates."""

REGIMES: Final = {"first": slice(0, 1), "later": slice(1, 4), "disturbed": slice(4, 7)}
"""Which calls in a row a figure is the mean of: the first one from states out of balance, those that go on from it, and
calls before which all concentrations were moved a little, as transport and emissions do."""

FLOOR: Final = 1e5
"""[molecules cm-3] below which a concentration has no part in the largest relative error."""

ACCURATE: Final = 1e-2
"""Largest relative error of a solution that counts as accurate."""

_LEAST: Final = 0.02  # [s] of CPU time for calls that are quick to be repeated for
MOST_REPEATS: Final = 5


class Contender(Protocol):
    """A solver with all its settings, and the cells that it integrates.

    solver, precision, settings  what it is called in tables
    cells                        how many it integrates: those of the trial, maybe several times over
    """

    solver: str
    precision: str
    settings: str
    cells: int

    def start(self) -> None:
        """Put all cells back to their initial states and forget what was learnt about them."""

    def disturb(self, factors: Array) -> None:
        """Multiply concentrations by factors (species, cell)."""

    def call(self) -> None:
        """Advance every cell by :data:`CALL`; the only thing that is timed."""

    def result(self) -> Array:
        """Return the concentrations (species, cell) [molecules cm-3] now, not a number where the solver failed."""

    def steps(self) -> float:
        """Return the steps of the last call, rejected ones too, as a mean over cells."""


@dataclass(frozen=True)
class Trial:
    """Calls in a row: what disturbs the states before each (None: nothing), and the tight solution after each."""

    disturbances: Sequence[Array | None]
    solutions: Sequence[Array]

    def first(self, cells: int) -> "Trial":
        """Return the trial of its first cells alone."""
        disturbances = [None if each is None else each[:, :cells] for each in self.disturbances]
        return Trial(disturbances, [each[:, :cells] for each in self.solutions])


@dataclass(frozen=True)
class Run:
    """A contender's figures, one for each call.

    cpu, wall     [us] for each cell: of this thread, by the clock
    largest, rms  relative errors above :data:`FLOOR` over cells and species, against the tight solution
    steps         of a cell, rejected ones too
    """

    cpu: tuple[float, ...]
    wall: tuple[float, ...]
    largest: tuple[float, ...]
    rms: tuple[float, ...]
    steps: tuple[float, ...]

    def error(self, regime: str) -> float:
        """Return the largest relative error of all calls up to the last one of a regime; infinite where one failed."""
        worst = float(np.max(self.largest[: REGIMES[regime].stop]))
        return worst if np.isfinite(worst) else np.inf

    def accurate(self, regime: str) -> bool:
        """Whether every call up to the last one of a regime keeps to :data:`ACCURATE`."""
        return self.error(regime) <= ACCURATE

    def mean(self, figure: str, regime: str) -> float:
        """Return the mean of a figure over the calls of a regime."""
        return float(np.mean(getattr(self, figure)[REGIMES[regime]]))


def measure(contender: Contender, trial: Trial, repeats: int = MOST_REPEATS) -> Run:
    """Run a contender through all calls, again and again while that takes little time; speeds are medians."""
    passes: list[tuple[tuple[float, ...], ...]] = []
    spent = time.thread_time()
    while len(passes) < repeats and (not passes or time.thread_time() - spent < _LEAST):
        passes.append(_pass(contender, trial))
    cpu, wall = ([median(each) for each in zip(*column, strict=True)] for column in list(zip(*passes, strict=True))[:2])
    return Run(tuple(cpu), tuple(wall), *passes[0][2:])


def _pass(contender: Contender, trial: Trial) -> tuple[tuple[float, ...], ...]:
    figures = []
    contender.start()
    for disturbance, solution in zip(trial.disturbances, trial.solutions, strict=True):
        if disturbance is not None:
            contender.disturb(disturbance)
        wall, cpu = time.perf_counter(), time.thread_time()
        contender.call()
        cpu, wall = time.thread_time() - cpu, time.perf_counter() - wall
        micro = 1e6 / contender.cells
        figures.append((cpu * micro, wall * micro, *errors(contender.result(), solution), contender.steps()))
    return tuple(zip(*figures, strict=True))


def errors(result: Array, solution: Array) -> tuple[float, float]:
    """Return the largest and the root mean square relative error where the solution is above :data:`FLOOR`."""
    counted = solution > FLOOR
    with np.errstate(over="ignore"):  # of a solver that ran away
        relative = (result[counted] - solution[counted]) / solution[counted]
        return float(np.max(np.abs(relative))), float(np.sqrt(np.mean(relative**2)))
