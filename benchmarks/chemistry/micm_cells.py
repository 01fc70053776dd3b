"""MICM, the solver of the package musica, as a contender."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.mechanism.expressions import AIR_GASES
from airshed.mechanism.openatmos import musica_parameters, write_openatmos
from airshed.mechanism.openatmos.units import MOLECULES_PER_MOLE, rate_to_molar
from benchmarks.chemistry.contender import CALL, Array
from benchmarks.chemistry.problem import Problem

_ORDERS: Final = {"molecules/cm3/s": 0, "1/s": 1, "cm3/molecules/s": 2, "cm6/molecules2/s": 3}
_MOST_STEPS: Final = 100_000

Places = dict[str, npt.NDArray[np.int64]]
"""Species -> indices of its cells in the vector of a state."""


@dataclass(frozen=True)
class MicmSettings:
    """A solver type of MICM with its tolerances.

    absolute    [molecules cm-3]
    first_step  [s] of every call; 0 for MICM's choice
    cells       in a state, which share their steps
    """

    kind: str
    relative: float
    absolute: float
    first_step: float = 0.0
    cells: int = 4

    def __str__(self) -> str:
        first = f"{self.first_step:g} s" if self.first_step else "its own"
        return f"rtol {self.relative:g}, h {first}, {self.cells} together"


class MicmModel:
    """A mechanism as parsed by musica, with the conditions of a problem in MICM's units."""

    def __init__(self, problem: Problem) -> None:
        parse = import_module("musica.mechanism_configuration").parse
        self.micm, self.problem = import_module("musica.micm"), problem
        self._places: dict[tuple[str, int], Places] = {}
        if problem.file is not None:
            self.mechanism = parse(str(problem.file))
            units = {each.name: each.unit for each in problem.network.parameters}
            self.parameters: Mapping[str, npt.ArrayLike] = {
                name: rate_to_molar(value, _ORDERS.get(units[name], 1)) for name, value in problem.parameters.items()
            }
            return
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "mechanism.json"
            write_openatmos(problem.network, path)
            self.mechanism = parse(str(path))
        environment = {name: np.asarray(value, np.float64) for name, value in problem.inputs.items()}
        self.parameters = musica_parameters(problem.network, environment)

    def solver(self, settings: MicmSettings) -> Any:
        """Return a solver; its parameters are set before states are created, because states copy the tolerances."""
        solver = self.micm.MICM(mechanism=self.mechanism, solver_type=getattr(self.micm.SolverType, settings.kind))
        species = len(solver.create_state(1).get_species_ordering())
        tolerances = {
            "relative_tolerance": settings.relative,
            "absolute_tolerances": [settings.absolute / MOLECULES_PER_MOLE] * species,
            "max_number_of_steps": _MOST_STEPS,
        }
        if settings.kind.startswith("backward_euler"):
            solver.set_solver_parameters(self.micm.BackwardEulerSolverParameters(**tolerances))
        else:
            parameters = self.micm.RosenbrockSolverParameters(**tolerances, h_start=settings.first_step)
            solver.set_solver_parameters(parameters)
        return solver

    def places(self, state: Any, kind: str, part: slice) -> Places:
        """Return the indices of concentrations in a state of a solver type, equal for all states of the same size."""
        key = kind, part.stop - part.start
        if key not in self._places:
            self._places[key] = places(state, key[1])
        return self._places[key]


class MicmCells:
    """Cells of a problem, divided into states of MICM; the cells of a state share their steps."""

    precision = "double"

    def __init__(self, model: MicmModel, settings: MicmSettings) -> None:
        self.solver, self.settings, self.chosen = f"MICM {settings.kind}", str(settings), settings
        self._problem, self._parameters = model.problem, model.parameters
        self.cells = model.problem.cells
        self._solver = model.solver(settings)
        edges = [*range(0, self.cells, settings.cells), self.cells]
        self._slices = [slice(*pair) for pair in pairwise(edges)]
        self._states = [self._state(part) for part in self._slices]
        self._places = [
            model.places(state, settings.kind, part) for part, state in zip(self._slices, self._states, strict=True)
        ]
        self._steps = [0.0] * len(self._states)
        self._failed = False

    def _state(self, part: slice) -> Any:
        """Return a state with its conditions; :meth:`start` sets the concentrations."""
        state, air = self._solver.create_state(part.stop - part.start), self._problem.environment

        def values(value: npt.ArrayLike) -> list[float]:
            return list(map(float, np.broadcast_to(np.asarray(value, np.float64), self.cells)[part]))

        density = np.asarray(air["M"]) / MOLECULES_PER_MOLE
        state.set_conditions(values(air["TEMP"]), values(air["PRESS"]), values(density))
        known = state.get_user_defined_rate_parameters_ordering()
        state.set_user_defined_rate_parameters({name: values(self._parameters[name]) for name in known})
        return state

    def start(self) -> None:
        """Reset all cells to their initial states, without stored steps."""
        known = self._places[0]
        values: dict[str, Array] = {
            gas: np.full(self.cells, self._problem.environment[gas], np.float64) for gas in AIR_GASES if gas in known
        }
        values.update(zip(self._problem.network.names, self._problem.initial, strict=True))
        self._write(values)
        self._failed = False

    def disturb(self, factors: Array) -> None:
        """Multiply concentrations by factors."""
        self._write(dict(zip(self._problem.network.names, self.result() * factors, strict=True)))

    def _write(self, values: Mapping[str, Array]) -> None:
        for part, state, place in zip(self._slices, self._states, self._places, strict=True):
            vector = state.get_internal_state().concentrations
            numbers = _numbers(vector)
            for name, row in values.items():
                numbers[place[name]] = row[part] / MOLECULES_PER_MOLE
            vector[:] = type(vector)(numbers)

    def call(self) -> None:
        """Advance all states."""
        for number, state in enumerate(self._states):
            result = self._solver.solve(state, CALL)
            self._steps[number] = result.stats.number_of_steps
            self._failed = self._failed or result.stats.final_time < CALL * (1.0 - 1e-9)

    def result(self) -> Array:
        """Return concentrations (species, cell), NaN where MICM did not finish."""
        parts = []
        for state, place in zip(self._states, self._places, strict=True):
            numbers = _numbers(state.get_internal_state().concentrations)
            parts.append(numbers[np.array([place[name] for name in self._problem.network.names])])
        whole = np.concatenate(parts, axis=1) * MOLECULES_PER_MOLE
        return np.full_like(whole, np.nan) if self._failed else whole

    def steps(self) -> float:
        """Return the steps of a cell in the last call."""
        return float(np.average(self._steps, weights=[part.stop - part.start for part in self._slices]))


def places(state: Any, cells: int) -> Places:
    """Return the indices of each species in a state's vector, found by setting every species to a different number.

    The vector sets thousands of concentrations in the time in which the methods of a state set tens.
    """
    names = list(state.get_species_ordering())
    numbers = 1.0 + np.arange(len(names) * cells, dtype=np.float64).reshape(len(names), cells)
    state.set_concentrations({name: row.tolist() for name, row in zip(names, numbers, strict=True)})
    vector = _numbers(state.get_internal_state().concentrations)
    order = np.argsort(vector)[len(vector) - numbers.size :].reshape(numbers.shape)
    return dict(zip(names, order, strict=True))


def _numbers(vector: Any) -> Array:
    return np.fromiter(vector, np.float64, len(vector))
