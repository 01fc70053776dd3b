"""Contenders of a comparison of solvers, and the measurement of their speed and errors."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

CALL: Final = 300.0
"""Time [s] by which a call advances every cell, at constant rates."""

REGIMES: Final = {"first": slice(0, 1), "later": slice(1, 4), "disturbed": slice(4, 7)}
"""Calls over which a figure is averaged: the first from states out of balance, the next three, and three calls after
small disturbances of all concentrations, as by transport and emission."""

FLOOR: Final = 1e5
"""Concentrations [molecules cm-3] below this do not count in the largest relative error."""

ACCURATE: Final = 1e-2
"""Largest relative error of an accurate solution."""

_LEAST: Final = 0.02  # [s] of CPU time for which quick calls are repeated
MOST_REPEATS: Final = 5


class Contender(Protocol):
    """A solver with all its settings, and the cells that it integrates.

    solver, precision, settings  labels in tables
    cells                        number of integrated cells: those of the trial, possibly repeated
    """

    solver: str
    precision: str
    settings: str
    cells: int

    def start(self) -> None:
        """Reset all cells to their initial states, without stored steps."""

    def disturb(self, factors: Array) -> None:
        """Multiply concentrations by factors (species, cell)."""

    def call(self) -> None:
        """Advance every cell by :data:`CALL`; only this is timed."""

    def result(self) -> Array:
        """Return the concentrations (species, cell) [molecules cm-3], NaN where the solver failed."""

    def steps(self) -> float:
        """Return the steps of the last call, including rejected ones, as a mean over cells."""


@dataclass(frozen=True)
class Trial:
    """Consecutive calls: the disturbance before each (None for none), and the accurate solution after each."""

    disturbances: Sequence[Array | None]
    solutions: Sequence[Array]

    def first(self, cells: int) -> "Trial":
        """Return the trial of its first cells."""
        disturbances = [None if each is None else each[:, :cells] for each in self.disturbances]
        return Trial(disturbances, [each[:, :cells] for each in self.solutions])


@dataclass(frozen=True)
class Run:
    """Figures of a contender, one for each call.

    cpu, wall     [us] per cell: of this thread, and elapsed
    largest, rms  relative errors above :data:`FLOOR` over cells and species, against the accurate solution
    steps         of a cell, including rejected ones
    """

    cpu: tuple[float, ...]
    wall: tuple[float, ...]
    largest: tuple[float, ...]
    rms: tuple[float, ...]
    steps: tuple[float, ...]

    def error(self, regime: str) -> float:
        """Return the largest relative error of all calls up to the end of a regime; infinite after a failure."""
        worst = float(np.max(self.largest[: REGIMES[regime].stop]))
        return worst if np.isfinite(worst) else np.inf

    def accurate(self, regime: str) -> bool:
        """Return whether all calls up to the end of a regime satisfy :data:`ACCURATE`."""
        return self.error(regime) <= ACCURATE

    def mean(self, figure: str, regime: str) -> float:
        """Return the mean of a figure over the calls of a regime."""
        return float(np.mean(getattr(self, figure)[REGIMES[regime]]))


def measure(contender: Contender, trial: Trial, repeats: int = MOST_REPEATS) -> Run:
    """Run a contender through all calls, repeatedly if they are quick; speeds are medians."""
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
    with np.errstate(over="ignore"):  # of a diverging solver
        relative = (result[counted] - solution[counted]) / solution[counted]
        return float(np.max(np.abs(relative))), float(np.sqrt(np.mean(relative**2)))
