"""Thousands of cells with different air: no cell fails, and invariants of the reactions are conserved.

Reactions conserve every sum of concentrations whose weights are orthogonal to all of them: the left null space of the
stoichiometric matrix. Rosenbrock methods conserve such sums to round-off; amounts added by clipping at zero are
subtracted. Added species count atoms that reactions of the mechanism create or remove.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.linalg import null_space

from airshed.core.arrays import Array
from airshed.core.constants import BOLTZMANN, NITROGEN_FRACTION, OXYGEN_FRACTION
from airshed.core.files import resource
from airshed.kernels.backend import CellSolver, compile_chemistry
from airshed.kernels.cells import METHODS, Tableau, Tolerances, stack_inputs
from airshed.kernels.cells.arguments import CellResults, integrate_cells
from airshed.mechanism import ReactionNetwork, load_mechanism
from airshed.mechanism.structure import atom_counts, track_elements
from airshed.verify.chemistry.emep import published
from airshed.verify.figure import Figure

ELEMENTS: Final = ("N", "S", "C")
LENGTH: Final = 3600.0
TOLERANCES: Final = Tolerances(1e-3, 1e3)
LIMIT_OF_DRIFT: Final = 1e-10
LIMIT_OF_CLIPPING: Final = 1e-8
"""Largest fraction of the atoms that clipping may add in an hour: about a hundred times the measured one."""

_NOTHING: Final = 1e-12  # round-off of weights of length 1, which would matter for the rarest species


@dataclass(frozen=True)
class Cells:
    """States of cells (species, cell) [molecules cm-3], and the inputs of their rates (cell,)."""

    y: Array
    values: dict[str, Array]


def spread(base: Array, count: int, seed: int = 0) -> Cells:
    """Return cells around a state (species,): each species within a factor 2, 200 to 310 K, day and night."""
    random = np.random.default_rng(seed)
    y = base[:, None] * 2.0 ** random.uniform(-1.0, 1.0, (len(base), count))
    temperature, day = random.uniform(200.0, 310.0, count), random.uniform(size=count) < 0.6
    pressure = random.uniform(2e4, 1.02e5, count)
    density = 1e-6 * pressure / (BOLTZMANN * temperature)
    cosine = random.uniform(0.03, 1.0, count)
    values = {
        "TEMP": temperature, "PRESS": pressure, "M": density, "O2": OXYGEN_FRACTION * density,
        "N2": NITROGEN_FRACTION * density, "H2O": density * 10.0 ** random.uniform(-5.5, -1.7, count),
        "SUN": np.where(day, cosine, 0.0), "sec_zenith": 1.0 / cosine,
        "daylight": day * random.uniform(0.2, 1.0, count),
    }  # fmt: skip
    return Cells(y, values)


def emep_state(network: ReactionNetwork) -> Array:
    """Return the end state of the problem EMEP, and 0 for species that count atoms."""
    known = published(resource("cases") / "emep-box")
    return np.array([known.get(name, 0.0) for name in network.names])


def stoichiometry(network: ReactionNetwork) -> Array:
    """Return the net coefficients (species, reaction)."""
    matrix = np.zeros((len(network.species), len(network.reactions)))
    for number, net in enumerate(network.net_stoichiometry):
        for species, coefficient in net:
            matrix[species, number] = coefficient
    return matrix


def invariants(network: ReactionNetwork) -> Array:
    """Return weights (invariant, species): a basis of all sums that no reaction changes."""
    weights = null_space(stoichiometry(network).T).T
    return np.where(np.abs(weights) > _NOTHING, weights, 0.0)


def atom_weights(network: ReactionNetwork, element: str) -> Array:
    """Return atoms of an element in each species, with the species that count created and removed atoms."""
    weights = np.array(atom_counts(network, element), np.float64)
    weights[network.index(f"atoms_of_{element}_made")] = -1.0
    weights[network.index(f"atoms_of_{element}_lost")] = 1.0
    return weights


def drift(weights: Array, cells: Cells, found: CellResults) -> float:
    """Return the largest relative change of a sum in any cell, without clipping."""
    change = weights @ (found.y - found.clipped - cells.y)
    size = np.abs(weights) @ np.maximum(found.y, cells.y)
    return float(np.max(np.abs(change) / np.maximum(size, np.finfo(np.float64).tiny)))


def solve(network: ReactionNetwork, cells: Cells, method: Tableau, threads: int = 1) -> CellResults:
    """Integrate all cells over an hour, without a step size from before."""
    kernel = compile_chemistry(network)
    solver = CellSolver(kernel, method, TOLERANCES, threads=threads)
    try:
        inputs = stack_inputs(kernel, cells.values, (), cells.y.shape[1])
        return integrate_cells(solver, cells.y, inputs, 0.0, LENGTH)
    finally:
        solver.close()


def figures_of(test: str, found: CellResults) -> list[Figure]:
    """Return the figures that apply to cells of any mechanism."""
    most = float(np.max(found.accepted + found.rejected))
    return [
        Figure(test, "cells that failed", float(np.sum(found.reached < LENGTH)), 0.0, reference="exact: 0"),
        Figure(test, "numbers not finite or below zero", float(np.sum(~(found.y >= 0.0))), 0.0, reference="exact: 0"),
        Figure(test, "most steps of a cell", most, 250.0, reference="53 of emep when first run"),
    ]


def check(count: int = 10_000, network: ReactionNetwork | None = None) -> list[Figure]:
    """Return the failures and drifts in cells of EMEP."""
    network = network or track_elements(load_mechanism("emep"), ELEMENTS)
    cells = spread(emep_state(network), count)
    found = solve(network, cells, METHODS["rodas3"])
    test = f"emep, {count} cells for an hour"
    figures = figures_of(test, found)
    for element in ELEMENTS:
        weights = atom_weights(network, element)
        atoms = np.maximum(weights, 0.0)
        figures += [
            Figure(test, f"drift of {element}", drift(weights, cells, found), LIMIT_OF_DRIFT, reference="exact: 0"),
            Figure(test, f"{element} added by clipping, greatest share",
                   float(np.max(atoms @ found.clipped / (atoms @ cells.y))), LIMIT_OF_CLIPPING, reference="exact: 0"),
        ]  # fmt: skip
    return [*figures, invariants_figure(test, network, cells, found)]


def invariants_figure(test: str, network: ReactionNetwork, cells: Cells, found: CellResults) -> Figure:
    """Return the largest drift of the sums that reactions conserve."""
    sums = invariants(network)
    worst = max(drift(weights, cells, found) for weights in sums)
    return Figure(test, f"drift of {len(sums)} linear invariants", worst, LIMIT_OF_DRIFT, reference="exact: 0")
