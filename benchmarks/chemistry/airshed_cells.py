"""Airshed's Rosenbrock solver as a contender."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.kernels.backends.cpu.cells import CellKernel, CellSolver
from airshed.kernels.cells import (
    CellSteps,
    Tolerances,
    list_of_cells,
    method,
    pack_cells,
    stack_inputs,
    unpack_cells,
)
from airshed.kernels.cells.arguments import Concentrations
from benchmarks.chemistry.contender import CALL, Array
from benchmarks.chemistry.problem import Problem


@dataclass(frozen=True)
class Settings:
    """A method with its tolerances.

    absolute    [molecules cm-3]
    first_step  [s] of every cell; 0 for the solver's own estimate
    reuses_step whether a call begins with the last step of the previous call instead of first_step
    """

    method: str
    relative: float
    absolute: float
    first_step: float = 0.0
    reuses_step: bool = True

    def __str__(self) -> str:
        first = f"{self.first_step:g} s" if self.first_step else "estimated"
        return f"rtol {self.relative:g}, h {first}{', reused' if self.reuses_step else ''}"


_COPIES: Final = 16  # of all cells in a call, so that Python's share is as small as in a model


def _copied(values: npt.ArrayLike) -> Array:
    """Return values (..., cell) repeated several times."""
    return np.concatenate([np.asarray(values, np.float64)] * _COPIES, axis=-1)


class AirshedCells:
    """Cells of a problem, integrated in one call of the compiled chemistry on this thread."""

    def __init__(self, kernel: CellKernel, problem: Problem, settings: Settings, *, call: float = CALL) -> None:
        self.solver, self.precision = f"airshed {settings.method}", kernel.shape.precision
        self.settings = str(settings)
        self.kernel, self.chosen = kernel, settings
        self._call, self._own, self.cells = call, problem.cells, _COPIES * problem.cells
        self._solver = CellSolver(kernel, method(settings.method), Tolerances(settings.relative, settings.absolute))
        width = kernel.shape.width
        self._initial = pack_cells(_copied(problem.initial), width, kernel.dtype)
        self._state = pack_cells(_copied(problem.initial), width, kernel.dtype)
        inputs = {name: _copied(value) if np.ndim(value) else value for name, value in problem.inputs.items()}
        self._inputs = stack_inputs(kernel, inputs, [], self.cells)
        place = list_of_cells(self.cells, len(problem.network.species), width)
        self._packed = Concentrations(self._state, self._state, place)
        self._steps = CellSteps.zeros(len(self._state), width)

    def start(self) -> None:
        """Reset all cells to their initial states, without stored steps."""
        self._state[...] = self._initial
        self._steps.step[...] = self.chosen.first_step

    def disturb(self, factors: Array) -> None:
        """Multiply concentrations by factors."""
        self._state *= pack_cells(_copied(factors), self.kernel.shape.width, self.kernel.dtype)

    def call(self) -> None:
        """Advance all cells."""
        if not self.chosen.reuses_step:
            self._steps.step[...] = self.chosen.first_step
        self._solver.advance(self._packed, self._inputs, self._steps, 0.0, self._call)

    def result(self) -> Array:
        """Return concentrations (species, cell); not a number where a cell failed."""
        state = unpack_cells(self._state, self.cells).copy()
        reached = self._steps.reached.reshape(-1)[: self.cells]
        state[:, reached < self._call] = float("nan")
        return state[:, : self._own]

    def steps(self) -> float:
        """Return the steps of a cell in the last call."""
        tried = self._steps.accepted + self._steps.rejected
        return float(tried.reshape(-1)[: self.cells].mean())
