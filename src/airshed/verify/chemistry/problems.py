"""Test problems for stiff solvers, integrated by the compiled Rosenbrock methods to their published end states.

All have mass-action kinetics and are written as reactions, see the files in ``mechanisms/``. End states: Mazzia &
Magherini 2008, Test Set for Initial Value Problem Solvers, release 2.4, University of Bari. Robertson's at t = 40 is
published to 4 digits (Hindmarsh 1983, ODEPACK); the other digits are those of SciPy's Radau with a tolerance of 1e-13.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from airshed.core.arrays import Array
from airshed.kernels.backend import CellSolver, compile_chemistry
from airshed.kernels.cells import METHODS, Tableau, Tolerances, stack_inputs
from airshed.kernels.cells.arguments import initial, integrate_cells
from airshed.kernels.schedule import NOON
from airshed.mechanism import ReactionNetwork, load_mechanism
from airshed.verify.figure import Figure

TEST_SET: Final = "Test Set for IVP Solvers 2.4"
LIMIT: Final = 1e-8
TIGHT: Final = 1e-10
LIMIT_OF_OTHERS: Final = 1e-5
USUAL: Final = 1e-7


@dataclass(frozen=True)
class Problem:
    """Test problem, and its end state in the order of the species of the mechanism.

    smallest  concentration that matters: absolute tolerances are the relative one times it
    unit      unit of the published numbers, in units of the mechanism
    air       air variables in rates of the mechanism
    """

    mechanism: str
    end: float
    reference: tuple[float, ...]
    smallest: float
    source: str = TEST_SET
    unit: float = 1.0
    air: Mapping[str, float] | None = None


_LSODE: Final = "ODEPACK, SciPy Radau at 1e-13"

PROBLEMS: Final = {
    "Robertson, t = 40": Problem(
        "robertson", 40.0, (0.7158270687194016, 0.9185534764557771e-5, 0.2841637457458286), 1e-8, _LSODE
    ),
    "Robertson, t = 1e11": Problem(
        "robertson", 1e11, (0.2083340149701255e-7, 0.8333360770334713e-13, 0.9999999791665050), 1e-16
    ),
    "HIRES, t = 321.8122": Problem("hires", 321.8122, (
        0.7371312573325668e-3, 0.1442485726316185e-3, 0.5888729740967575e-4, 0.1175651343283149e-2,
        0.2386356198831331e-2, 0.6238968252742796e-2, 0.2849998395185769e-2, 0.2850001604814231e-2,
    ), 1e-6),
    "Oregonator, t = 360": Problem(
        "oregonator", 360.0, (0.1000814870318523e1, 0.1228178521549917e4, 0.1320554942846706e3), 1e-2
    ),
    "POLLU, t = 60 min": Problem("pollu", 3600.0, (
        0.5646255480022769e-1, 0.1342484130422339, 0.4139734331099427e-8, 0.5523140207484359e-2,
        0.2018977262302196e-6, 0.1464541863493966e-6, 0.7784249118997964e-1, 0.3245075353396018,
        0.7494013383880406e-2, 0.1622293157301561e-7, 0.1135863833257075e-7, 0.2230505975721359e-2,
        0.2087162882798630e-3, 0.1396921016840158e-4, 0.8964884856898295e-2, 0.4352846369330103e-17,
        0.6899219696263405e-2, 0.1007803037365946e-3, 0.1772146513969984e-5, 0.5682943292316392e-4,
    ), 1e-12, unit=2.46e13, air={"M": 2.46e19}),
}  # fmt: skip
"""Test problems, published to 16 digits; concentrations are in molecules cm-3, those of POLLU in ppm."""


def end_state(problem: Problem, network: ReactionNetwork, method: Tableau, relative: float) -> Array:
    """Integrate a network (species,) [unit of the problem]; NaN if the end is not reached."""
    kernel = compile_chemistry(network)
    tolerances = Tolerances(relative, relative * problem.smallest * problem.unit)
    solver = CellSolver(kernel, method, tolerances, most_steps=1_000_000)
    inputs = stack_inputs(kernel, {**NOON, **(problem.air or {})}, (), 1)
    found = integrate_cells(solver, initial(network), inputs, 0.0, problem.end)
    return np.where(found.reached == problem.end, found.y / problem.unit, np.nan)[:, 0]


def error(problem: Problem, network: ReactionNetwork, method: Tableau, relative: float) -> float:
    """Return the largest relative error of any species at the end."""
    found = end_state(problem, network, method, relative)
    return float(np.max(np.abs(found / np.array(problem.reference) - 1.0)))


def check(
    problems: Mapping[str, Problem] = PROBLEMS, methods: Sequence[Tableau] = tuple(METHODS.values())
) -> list[Figure]:
    """Return the errors of the end states: RODAS4 with a tight tolerance, and the worst method with a usual one."""
    figures = []
    for name, problem in problems.items():
        network = load_mechanism(problem.mechanism)
        tight = error(problem, network, METHODS["rodas4"], TIGHT)
        others = max(error(problem, network, method, USUAL) for method in methods)
        figures += [
            Figure(name, f"greatest relative error, rodas4 at {TIGHT:g}", tight, LIMIT, reference=problem.source),
            Figure(name, f"the same, worst method at {USUAL:g}", others, LIMIT_OF_OTHERS, reference=problem.source),
        ]
    return figures
