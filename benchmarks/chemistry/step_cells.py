"""The step of the three-dimensional model as a contender: BDF2 by Gauss-Seidel sweeps, one level, no transport."""

from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.kernels.backend import StepKernel
from airshed.kernels.host import AnyArray
from airshed.kernels.rates import REFERENCE_DENSITY
from airshed.kernels.step.arguments import ColumnForcing, StepConstants, TransportForcing
from airshed.program.weights import two_step_weights
from benchmarks.chemistry.contender import CALL, Array
from benchmarks.chemistry.problem import Problem

SWEEPS: Final = 2
_COPIES: Final = 16  # of all cells, so that Python's share of a step is as small as in a model


class StepCells:
    """Cells of a problem, advanced by equal steps; each call begins with backward Euler, as after a disturbance."""

    solver = "airshed gauss-seidel"

    def __init__(self, kernel: StepKernel, problem: Problem, step: float) -> None:
        self.precision, self.settings = kernel.shape.precision, f"steps of {step:g} s, {SWEEPS} sweeps"
        self.cells, self._problem, self._step = _COPIES * problem.cells, problem, step
        self._layout = layout = kernel.layout(_COPIES, problem.cells)
        air = problem.environment
        species, density = len(problem.network.species), float(np.asarray(air["M"]))
        constants = StepConstants(
            profile=np.zeros((species, 1)), top=np.zeros(species), density_factor=np.ones((1, _COPIES, 1)),
            vertical_weights=np.zeros((1, 4)), sweeps=SWEEPS, oxygen=float(np.asarray(air["O2"])) / density,
            nitrogen=float(np.asarray(air["N2"])) / density,
        )  # fmt: skip
        self._stepper = kernel.stepper(layout, constants)
        self._density = density
        self._column = self._conditions()
        x, y = (layout.pack(np.zeros((1, layout.rows + n, layout.columns + 1 - n))) for n in (0, 1))
        z = layout.zeros(1)
        self._transport = TransportForcing((x, x), (y, y), (z, z), weight=0.0, weight_z=0.0)

    def _conditions(self) -> ColumnForcing:
        layout, problem, air = self._layout, self._problem, self._problem.environment
        temperature, water = self._packed(air["TEMP"]), self._packed(np.asarray(air["H2O"]) / self._density)
        sun = self._packed(air["sec_zenith"], air["daylight"])
        parameters = self._packed(*(problem.parameters[each.name] for each in problem.network.parameters))
        return ColumnForcing(
            (temperature,) * 2, (water,) * 2, weight=0.0, emission=layout.zeros(0, 1), sun=sun,
            parameters=(parameters[:, :, :, None],) * 2,
        )  # fmt: skip

    def _packed(self, *rows: npt.ArrayLike) -> AnyArray:
        """Return values, each one number or one per cell, as packed fields [lat][block][row][W]."""
        packed = self._layout.zeros(len(rows))
        for number, row in enumerate(rows):
            full = np.broadcast_to(np.asarray(row, np.float64), (self._layout.rows, self._layout.columns))
            packed[:, :, number] = self._layout.pack(full)
        return packed

    def start(self) -> None:
        """Reset all cells to their initial states, without stored steps."""
        state = self._stepper.state
        state.air[...] = state.air_other[...] = self._density / REFERENCE_DENSITY
        self._set(self._problem.initial)

    def disturb(self, factors: Array) -> None:
        """Multiply concentrations by factors."""
        self._set(self.result() * factors)

    def _set(self, y: Array) -> None:
        rows = (y / self._density)[:, None, None]  # (species, level, lat, lon)
        self._stepper.state.q[...] = self._layout.pack(np.repeat(rows, self._layout.rows, axis=2))

    def call(self) -> None:
        """Advance all cells."""
        previous = None
        for _ in range(round(CALL / self._step)):
            self._stepper.step(two_step_weights(self._step, previous), self._transport, self._column)
            previous = self._step

    def result(self) -> Array:
        """Return concentrations (species, cell)."""
        return self._layout.unpack(self._stepper.state.q)[:, 0, 0] * self._density

    def steps(self) -> float:
        """Return the steps of a call."""
        return CALL / self._step
