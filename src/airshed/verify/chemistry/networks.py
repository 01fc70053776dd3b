"""Random small networks, stiff over ten decades: the compiled Rosenbrock solver against SciPy's Radau.

One network with all possible reactions is compiled, with rate constants as parameters. A random network draws some of
them; the others are zero. A thousand networks therefore need one compilation.
"""

from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Final

import numpy as np
from scipy.integrate import solve_ivp

from airshed.core.arrays import Array
from airshed.kernels.backend import CellKernel, CellSolver, compile_chemistry
from airshed.kernels.cells import METHODS, Tableau, Tolerances, stack_inputs
from airshed.kernels.cells.arguments import integrate_cells
from airshed.kernels.schedule import NOON
from airshed.mechanism.expressions import Parameter
from airshed.mechanism.network import OpenParameter, Reaction, ReactionNetwork, Species
from airshed.verify.chemistry.cells import stoichiometry
from airshed.verify.figure import Figure

MASSES: Final = {"A": 1, "B": 1, "C": 2, "D": 2, "E": 3, "F": 3}
"""Species and their masses: reactions conserve or reduce the mass, so that concentrations stay bounded."""

DECADES: Final = 10.0
LIMIT: Final = 1e-8

_TIGHT: Final = 1e-10
_TIGHT_OF_RADAU: Final = 1e-9  # its error is a hundredth of that in these networks
_SMALLEST: Final = 1e-6  # of the sum of all: smaller amounts are compared with an absolute tolerance
_SIDES: Final = tuple(combinations_with_replacement(MASSES, 1)) + tuple(combinations_with_replacement(MASSES, 2))


def _mass(side: tuple[str, ...]) -> int:
    return sum(MASSES[name] for name in side)


def template() -> ReactionNetwork:
    """Return all reactions of one or two molecules to one or two of equal mass, sources, sinks, and some losses."""
    sides = [(left, right) for left in _SIDES for right in _SIDES if left != right and _mass(left) == _mass(right)]
    sides += [((), (name,)) for name in MASSES] + [((name,), ()) for name in MASSES]
    sides += [(("E",), ("A",)), (("F", "F"), ("D", "E")), (("C", "D"), ("B",))]
    reactions = tuple(
        Reaction(
            f"r{number}",
            tuple((name, 1.0) for name in left),
            tuple((name, 1.0) for name in right),
            Parameter(f"k{number}"),
        )
        for number, (left, right) in enumerate(sides)
    )
    declared = tuple(OpenParameter(f"k{number}", default=0.0) for number in range(len(reactions)))
    return ReactionNetwork("networks", tuple(map(Species, MASSES)), (), reactions, declared=declared)


@dataclass(frozen=True)
class Trial:
    """Random network of the template: rate constants, initial state, and time span."""

    rates: dict[str, float]
    start: Array
    end: float


def draw(network: ReactionNetwork, seed: int, species: int, *, conserving: bool) -> Trial:
    """Return a network of some species, with rate constants and time span drawn with a seed.

    conserving  True if every reaction conserves the mass
    """
    random = np.random.default_rng(seed)
    names = set(random.choice(list(MASSES), species, replace=False))
    possible = [
        number
        for number, reaction in enumerate(network.reactions)
        if {name for name, _ in reaction.reactants + reaction.products} <= names
        and (not conserving or _mass_change(reaction) == 0)
    ]
    chosen = random.permutation(np.array(possible, np.int64))[: 2 * species + 1]
    rates = {f"k{number}": float(10.0 ** (DECADES * (random.uniform() - 0.5))) for number in chosen}
    start = np.array([10.0 ** random.uniform(-3.0, 0.0) if name in names else 0.0 for name in MASSES])
    return Trial(rates, start, float(10.0 ** random.uniform(-1.0, 2.0)))


def _mass_change(reaction: Reaction) -> int:
    left, right = (tuple(name for name, _ in side) for side in (reaction.reactants, reaction.products))
    return _mass(right) - _mass(left)


def compiled(kernel: CellKernel, trial: Trial, method: Tableau) -> Array:
    """Return the end state (species,) of the compiled solver; NaN if the end is not reached."""
    solver = CellSolver(kernel, method, Tolerances(_TIGHT, _TIGHT * _SMALLEST * trial.start.sum()))
    inputs = stack_inputs(kernel, {**NOON, **trial.rates}, (), 1)
    found = integrate_cells(solver, trial.start[:, None], inputs, 0.0, trial.end)
    return np.where(found.reached == trial.end, found.y, np.nan)[:, 0]


def radau(network: ReactionNetwork, trial: Trial) -> Array:
    """Return the end state (species,) of SciPy's Radau, an implicit Runge-Kutta method of order 5."""
    numbers = [number for number in range(len(network.reactions)) if f"k{number}" in trial.rates]
    k = np.array([trial.rates[f"k{number}"] for number in numbers])
    nets = stoichiometry(network)[:, numbers]
    first, second = np.full(
        (2, len(numbers)), len(MASSES)
    )  # reactants; a factor of one, stored after the species, replaces a missing one
    for column, number in enumerate(numbers):
        reactants = network.reactant_indices[number]
        first[column], second[column] = (*reactants, len(MASSES), len(MASSES))[:2]
    columns = np.arange(len(numbers))

    def change(t: float, y: Array) -> Array:
        one = np.append(y, 1.0)
        return np.asarray(nets @ (k * one[first] * one[second]))

    def jacobian(t: float, y: Array) -> Array:
        one, slopes = np.append(y, 1.0), np.zeros((len(numbers), len(MASSES) + 1))
        np.add.at(slopes, (columns, first), k * one[second])
        np.add.at(slopes, (columns, second), k * one[first])
        return np.asarray(nets @ slopes[:, :-1])

    least = _TIGHT * _SMALLEST * float(trial.start.sum())
    found = solve_ivp(
        change, (0.0, trial.end), trial.start, method="Radau", jac=jacobian, rtol=_TIGHT_OF_RADAU, atol=least
    )
    return np.asarray(found.y[:, -1])


def difference(kernel: CellKernel, network: ReactionNetwork, trial: Trial, method: Tableau) -> float:
    """Return the largest difference of the two, relative for species that are not traces."""
    wanted = radau(network, trial)
    scale = np.maximum(np.abs(wanted), _SMALLEST * trial.start.sum())
    return float(np.max(np.abs(compiled(kernel, trial, method) - wanted) / scale))


def check(count: int = 10) -> list[Figure]:
    """Return the largest differences in random networks of 2 to 6 species, conserving ones and others."""
    network = template()
    kernel = compile_chemistry(network)
    figures = []
    for conserving in (True, False):
        trials = [draw(network, seed, 2 + seed % 5, conserving=conserving) for seed in range(count // 2)]
        worst = max(difference(kernel, network, trial, METHODS["rodas4"]) for trial in trials)
        kind = "that conserve mass" if conserving else "with sources and sinks"
        what = f"greatest relative difference, {len(trials)} {kind}"
        figures.append(Figure("random networks, rodas4", what, worst, LIMIT, reference="SciPy's Radau"))
    return figures
