"""Mechanisms of the package musica, solved here and by its solver MICM, from the same state in the same air.

The default absolute tolerance of MICM is larger than the concentration of any trace gas, whose error is then
uncontrolled. Here both use the same tight tolerance for each species. (A state has the tolerances that its solver had
when the state was created.)
"""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np

from airshed.core.arrays import Array
from airshed.core.constants import GAS_CONSTANT
from airshed.kernels.backend import CellSolver, compile_chemistry
from airshed.kernels.cells import METHODS, Tolerances, stack_inputs
from airshed.kernels.cells.arguments import integrate_cells
from airshed.kernels.schedule import NOON
from airshed.mechanism import ReactionNetwork, load_mechanism
from airshed.mechanism.openatmos import CONDITIONS, has_musica, musica_file, read_conditions
from airshed.mechanism.openatmos.units import MOLECULES_PER_MOLE
from airshed.verify.chemistry.cells import Cells, figures_of, invariants_figure, solve, spread
from airshed.verify.figure import Figure

LENGTH: Final = 3600.0
LIMIT: Final = 1e-6
TIGHT: Final = 1e-8
LEAST: Final = 1e-3
"""Absolute tolerance [molecules cm-3]."""

COUNTED: Final = 1e3
"""Concentration [molecules cm-3] above which a species is compared."""

_MOLAR: Final = {"molecules/cm3/s": 0, "cm3/molecules/s": 2, "cm6/molecules2/s": 3}
_LIGHT: Final = 1e-5  # a slow photolysis [1/s] for parameters without conditions
_STRATOSPHERE: Final = {"O1D": 1e2, "O": 7e8, "O2": 1.7e16, "O3": 5.3e11, "N2": 6.4e16}


@dataclass(frozen=True)
class Start:
    """Mechanism of the package, and the initial state of both solvers, in molecules, cm3, s, K and Pa."""

    path: Path
    network: ReactionNetwork
    y: Array
    parameters: dict[str, float]
    air: dict[str, float]


def start(name: str) -> Start:
    """Return a mechanism of the package with its conditions; for Chapman's those at about 40 km."""
    network, path = load_mechanism(f"musica:{name}"), musica_file(name)
    beside = path.with_name(CONDITIONS)
    if beside.is_file():
        given = read_conditions(beside, network)
        initial, air, parameters = given.initial, given.environment, given.parameters
    else:
        initial, air = _STRATOSPHERE, {"TEMP": 250.0, "PRESS": 300.0}
        parameters = {each.name: _LIGHT for each in network.open_parameters} | {
            "PHOTO.jo2_b": 1e-10,
            "PHOTO.jo3_a": 1e-3,
        }
    density = MOLECULES_PER_MOLE * air["PRESS"] / (GAS_CONSTANT * air["TEMP"])
    y = np.array([initial.get(species, 0.0) for species in network.names])
    rest = {each.name: _LIGHT for each in network.open_parameters}
    return Start(path, network, y, {**rest, **parameters}, {**NOON, **air, "M": density})


def ours(begin: Start, relative: float = TIGHT) -> Array:
    """Return the end state (species,); NaN if the end is not reached."""
    kernel = compile_chemistry(begin.network)
    solver = CellSolver(kernel, METHODS["rodas4"], Tolerances(relative, LEAST))
    inputs = stack_inputs(kernel, {**begin.air, **begin.parameters}, (), 1)
    found = integrate_cells(solver, begin.y[:, None], inputs, 0.0, LENGTH)
    return np.where(found.reached == LENGTH, found.y, np.nan)[:, 0]


def micm(begin: Start, relative: float = TIGHT) -> Array:
    """Return the end state (species,) of the Rosenbrock solver of MICM; NaN if the end is not reached."""
    module: Any = import_module("musica.micm")
    configuration: Any = import_module("musica.mechanism_configuration")
    solver = module.MICM(mechanism=configuration.parse(str(begin.path)))
    names = solver.create_state(1).get_species_ordering()
    least = [LEAST / MOLECULES_PER_MOLE] * len(names)
    solver.set_solver_parameters(
        module.RosenbrockSolverParameters(
            relative_tolerance=relative, absolute_tolerances=least, max_number_of_steps=1_000_000
        )
    )
    state = solver.create_state(1)
    state.set_conditions(begin.air["TEMP"], begin.air["PRESS"], begin.air["M"] / MOLECULES_PER_MOLE)
    state.set_concentrations(
        {name: y / MOLECULES_PER_MOLE for name, y in zip(begin.network.names, begin.y, strict=True) if name in names}
    )
    orders = {each.name: _MOLAR.get(each.unit, 1) for each in begin.network.parameters}
    known = state.get_user_defined_rate_parameters()
    state.set_user_defined_rate_parameters(
        {name: begin.parameters[name] * MOLECULES_PER_MOLE ** (orders[name] - 1) for name in known}
    )
    done = 0.0
    while done < LENGTH * (1.0 - 1e-12):
        step = solver.solve(state, LENGTH - done).stats.final_time
        if not step > 0.0:
            return np.full(len(begin.y), np.nan)
        done += step
    concentrations = state.get_concentrations()
    return np.array([MOLECULES_PER_MOLE * concentrations[name][0] for name in begin.network.names])


def check(names: tuple[str, ...] = ("chapman", "carbon_bond")) -> list[Figure]:
    """Return the largest difference of end states after an hour; no figures without the package."""
    figures = []
    for name in names if has_musica() else ():
        begin = start(name)
        found, wanted = ours(begin), micm(begin)
        there = ~(wanted <= COUNTED)
        worst = float(np.max(np.abs(found[there] / wanted[there] - 1.0)))
        what = f"greatest relative difference of {there.sum()} species"
        figures.append(Figure(f"{name} for an hour, against MICM", what, worst, LIMIT, reference="musica 0.17"))
    return figures


def check_many(count: int = 10_000, name: str = "ts1") -> list[Figure]:
    """Return the failures and drifts in cells of a large mechanism of the package; no figures without it."""
    if not has_musica():
        return []
    begin = start(name)
    cells = spread(begin.y, count)
    day = cells.values["daylight"]
    parameters = {
        name: value * (day if name.startswith("PHOTO.") else np.ones(count)) for name, value in begin.parameters.items()
    }
    cells = Cells(cells.y, {**cells.values, **parameters})
    found = solve(begin.network, cells, METHODS["rodas3"])
    test = f"{name}, {count} cells for an hour"
    return [*figures_of(test, found), invariants_figure(test, begin.network, cells, found)]
