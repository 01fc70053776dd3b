"""The implicit part of the step in plain NumPy: chemistry, vertical exchange, emission and deposition of columns."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from airshed.core.constants import BOLTZMANN
from airshed.kernels.rates import REFERENCE_DENSITY
from airshed.mechanism.balance import imbalances
from airshed.mechanism.expressions import Environment
from airshed.mechanism.network import ReactionNetwork, rates, sum_terms

Array = npt.NDArray[np.float64]

_PER_CUBIC_METRE = 1e6


@dataclass(frozen=True)
class Column:
    """What acts on the columns at one instant.

    temperature [K], water [mol/mol], exchange through upper faces [mol/s]: (level, lat, lon)
    deposition  conductance (deposited species, lat, lon) [mol/s]
    emission    (emitted species, lowest levels, lat, lon) [mol/s]
    secant, light  of the sun: (lat, lon)
    """

    temperature: Array
    water: Array
    exchange: Array
    deposition: Array
    emission: Array
    secant: Array
    light: Array


@dataclass(frozen=True)
class Solved:
    """New mixing ratios, and what each process did: deposited, chemistry [mol/s], clipped [mol] (species,).

    imbalance  atoms of each family made by unbalanced reactions [mol/s]
    turnover   production plus loss (species,) [mol/s], of which chemistry is the difference
    """

    q: Array
    deposited: Array
    chemistry: Array
    clipped: Array
    imbalance: Array
    turnover: Array


def environment(column: Column, density: Array, oxygen: float, nitrogen: float) -> Environment:
    """Return what rate constants depend on, for air of number density `density` (level, lat, lon) [molecules cm-3]."""
    return {
        "TEMP": column.temperature,
        "M": density,
        "PRESS": density * _PER_CUBIC_METRE * BOLTZMANN * column.temperature,
        "O2": oxygen * density,
        "N2": nitrogen * density,
        "H2O": column.water * density,
        "SUN": np.where(column.light > 0.0, 1.0 / column.secant, 0.0),
        "sec_zenith": column.secant,
        "daylight": column.light,
    }


def rate_constants(
    network: ReactionNetwork, column: Column, relative_density: Array, oxygen: float, nitrogen: float
) -> Array:
    """Return rate constants for mixing ratios (reaction, level, lat, lon) [1/s].

    With y = N q a reaction of order m goes at k y_1 ... y_m = N [k N^(m-1)] q_1 ... q_m: the bracket is returned.
    """
    density = REFERENCE_DENSITY * relative_density
    k = rates(network, environment(column, density, oxygen, nitrogen))
    orders = np.array([len(reactants) for reactants in network.reactant_indices]).reshape(-1, 1, 1, 1)
    return np.asarray(np.broadcast_to(k, (len(orders), *density.shape)) * density ** (orders - 1))


def solve_columns(exchange: Array, air: Array, loss: Array, sources: Array, g: float) -> Array:
    """Return y of the implicit equation of one species in all columns, (level, lat, lon).

        A_k (1 + g L_k) y_k - g [ E_k (y_(k+1) - y_k) - E_(k-1) (y_k - y_(k-1)) ] = S_k

    air A [mol], exchange E through upper faces [mol/s], loss L [1/s], sources S [mol], step g [s]
    """
    levels = len(air)
    matrix = np.zeros((*air.shape[1:], levels, levels))
    for k in range(levels):
        matrix[..., k, k] += air[k] * (1.0 + g * loss[k])
    for k in range(levels - 1):
        matrix[..., k, k] += g * exchange[k]
        matrix[..., k + 1, k + 1] += g * exchange[k]
        matrix[..., k, k + 1] -= g * exchange[k]
        matrix[..., k + 1, k] -= g * exchange[k]
    solution = np.linalg.solve(matrix, np.moveaxis(sources, 0, -1)[..., None])
    return np.asarray(np.moveaxis(solution[..., 0], -1, 0))


def gauss_seidel(
    network: ReactionNetwork, k: Array, column: Column, air: Array, content: Array, start: Array, g: float, *,
    order: Sequence[int], sweeps: int, deposited: Sequence[int], emitted: Sequence[int], families: Sequence[str] = (),
) -> Solved:  # fmt: skip
    """Return mixing ratios after `sweeps` sweeps over species in `order`, each with the newest values of the others.

        A q = content + g [ A (P - L q) + vertical exchange + emission - deposition ],    q not below zero

    The sums are those of the last sweep. Chemistry and deposition act on the values that are kept; what then is missing
    in the equation counts as clipped.

    k rate constants for mixing ratios [1/s]      air [mol]      content [mol]      start [mol/mol] of the iteration
    """
    q = start.copy()
    sums = np.zeros((4, len(q)))
    emission, uptake = np.zeros_like(q), np.zeros_like(q)
    for number, species in enumerate(emitted):
        emission[species, : column.emission.shape[1]] += column.emission[number]
    for number, species in enumerate(deposited):
        uptake[species, 0] = column.deposition[number]
    for _ in range(sweeps):
        for species in order:
            production = sum_terms(network.production_terms[species], k, q)
            loss = sum_terms(network.loss_terms[species], k, q)
            sources = content[species] + g * (air * production + emission[species])
            value = solve_columns(column.exchange, air, loss + uptake[species] / air, sources, g)
            kept = np.maximum(value, 0.0)
            q[species] = kept
            sums[0, species] = np.sum(uptake[species] * kept)
            sums[1, species] = np.sum(air * (production - loss * kept))
            sums[2, species] = np.sum((kept - value) * (air * (1.0 + g * loss) + g * uptake[species]))
            sums[3, species] = np.sum(air * (production + loss * kept))
    made = [_atoms_made(network, family, k, air, q) for family in families]
    return Solved(q, sums[0], sums[1], sums[2], np.array(made), sums[3])


def _atoms_made(network: ReactionNetwork, family: str, k: Array, air: Array, q: Array) -> float:
    """The atoms of an element [mol/s] that reactions make by their own definition."""
    total = 0.0
    for each in imbalances(network, family):
        speed = k[each.reaction]
        for species in network.reactant_indices[each.reaction]:
            speed = speed * q[species]
        total += each.change * float(np.sum(air * speed))
    return total
