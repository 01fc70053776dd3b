"""Reference implementation in NumPy of the implicit part of the step in columns: chemistry, emission and operators.

Operators are evaluated from their declarations: rates in every cell, and their terms of the equation.

Fields are not packed: (level, lat, lon), at the ground (lat, lon), west faces (level, lat, lon + 1), south faces
(level, lat + 1, lon), matrices (level, source level, lat, lon). Fields by species have the species first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from airshed.core.arrays import Array
from airshed.core.constants import AVOGADRO, BOLTZMANN
from airshed.formula import evaluate
from airshed.formula.tree import Expression
from airshed.kernels.operators import Operator
from airshed.kernels.rates import REFERENCE_DENSITY
from airshed.mechanism.expressions import Environment
from airshed.mechanism.network import ReactionNetwork, rates, sum_terms
from airshed.mechanism.structure import imbalances

_PER_CUBIC_METRE = 1e6


@dataclass(frozen=True)
class OperatorInputs:
    """Inputs of operators at an instant: fields, numbers, and the air of cells (level, lat, lon), empty if explicit."""

    fields: Mapping[str, Array]
    numbers: Mapping[str, Array]
    air: Mapping[str, Array]


def air_of_cells(
    temperature: Array, water: Array, air: Array, relative_density: Array, thickness: Array, sun: tuple[Array, Array]
) -> dict[str, Array]:  # fmt: skip
    """Return the air of cells by the names in formulas; sun: secant of the zenith angle, and light factor."""
    secant, light = sun
    per_cubic_metre = REFERENCE_DENSITY * relative_density * _PER_CUBIC_METRE
    return {
        "temperature": temperature, "water_vapour": water, "air": air,
        "pressure": per_cubic_metre * BOLTZMANN * temperature, "air_density": per_cubic_metre / AVOGADRO,
        "thickness": thickness[:, None, None], "light": light,
        "cos_zenith": np.where(light > 0.0, 1.0 / secant, 0.0),
    }  # fmt: skip


def _value(operator: Operator, rate: Expression, reading: OperatorInputs, slot: int, level: int | slice) -> Array:
    """Return the rate of an operator for one of its species, in one level or in all."""
    values: dict[str, Array] = {}
    for name, array in reading.air.items():
        values[name] = array[level] if array.ndim == 3 else array
    for each in operator.fields:
        array = reading.fields[each.name]
        array = array[slot] if each.species else array
        values[each.name] = array[level] if each.shape == "cells" else array
    for name in operator.numbers:
        values[name] = reading.numbers[name][slot if len(reading.numbers[name]) > 1 else 0]
    return np.asarray(evaluate(rate, values, dtype=np.result_type(np.float64, *values.values())))


def operator_rates(operator: Operator, reading: OperatorInputs) -> list[Array]:
    """Return all rates of an operator, for each species."""
    level: int | slice = 0 if operator.ground else slice(None)
    slots = range(max(len(operator.species), 1))
    return [_value(operator, rate, reading, slot, level) for rate in operator.rate for slot in slots]


def of_species(operator: Operator, reading: OperatorInputs, shape: tuple[int, ...]) -> dict[int, Array]:
    """Return the rate of a loss, source or settling for each of its species, (level, lat, lon)."""
    found = {}
    for slot, species in enumerate(operator.species):
        level: int | slice = 0 if operator.ground else slice(None)
        value = _value(operator, operator.rate[0], reading, slot, level)
        rate = np.zeros(shape, value.dtype)
        rate[level] = value
        found[species] = rate
    return found


def exchange(operators: Sequence[Operator], reading: OperatorInputs, shape: tuple[int, ...]) -> Array:
    """Return the exchange of air through upper faces [mol/s], (level, lat, lon)."""
    total = np.zeros(shape)
    for operator in operators:
        if operator.kind == "exchange":
            total = total + _value(operator, operator.rate[0], reading, 0, slice(None))
    return total


def explicit_tendency(operators: Sequence[Operator], reading: OperatorInputs, q: Array) -> Array:
    """Return the tendency of mixing ratios by face exchange and column matrices [mol/s].

    A rate may be a plain number: the same in all cells.
    """
    change = np.zeros_like(q)
    levels, rows, columns = q.shape[1:]
    for operator in operators:
        if operator.kind == "face_exchange":
            faces = (levels, rows, columns + 1), (levels, rows + 1, columns)
            west, south = (
                np.broadcast_to(_value(operator, rate, reading, 0, slice(None)), shape)
                for rate, shape in zip(operator.rate, faces, strict=True)
            )
            eastward = np.zeros((*q.shape[:-1], q.shape[-1] + 1), np.result_type(q, west))
            eastward[..., 1:-1] = -west[..., 1:-1] * np.diff(q, axis=3)
            northward = np.zeros((*q.shape[:-2], q.shape[-2] + 1, q.shape[-1]), np.result_type(q, south))
            northward[..., 1:-1, :] = -south[..., 1:-1, :] * np.diff(q, axis=2)
            change = change - (np.diff(eastward, axis=3) + np.diff(northward, axis=2))
        elif operator.kind == "column_matrix":
            given = _value(operator, operator.rate[0], reading, 0, slice(None))
            matrix = np.broadcast_to(given, (levels, levels, rows, columns))
            change = change + np.einsum("klyx,slyx->skyx", matrix, q)
    return change


_PER_CUBIC_METRE = 1e6


@dataclass(frozen=True)
class Column:
    """Forcing of the columns at an instant.

    temperature    [K] (level, lat, lon);  water  [mol/mol] (level, lat, lon)
    emission       (emitted species, lowest levels, lat, lon) [mol/s]
    secant, light  of the sun: (lat, lon)
    fields         inputs of operators
    parameters     open parameters of the mechanism, by name
    """

    temperature: Array
    water: Array
    emission: Array
    secant: Array
    light: Array
    fields: Mapping[str, Array] = field(default_factory=dict)
    parameters: Mapping[str, Array] = field(default_factory=dict)


@dataclass(frozen=True)
class ColumnSolution:
    """Solution of the columns: mixing ratios, and sums by species and by (term, species) of operators.

    chemistry  net production (species,) [mol/s];  clipped  amount (species,) [mol]
    by_operators  budget terms of operators (term, species) [mol/s]
    imbalance  atoms of each family produced by unbalanced reactions [mol/s]
    turnover   production plus loss (species,) [mol/s]; chemistry is their difference
    """

    q: Array
    chemistry: Array
    clipped: Array
    by_operators: Array
    imbalance: Array
    turnover: Array


def environment(column: Column, density: Array, oxygen: float, nitrogen: float) -> Environment:
    """Return the inputs of rate constants, for air of number density `density` (level, lat, lon) [molecules cm-3]."""
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
        **column.parameters,
    }


def rate_constants(
    network: ReactionNetwork, column: Column, relative_density: Array, oxygen: float, nitrogen: float
) -> Array:
    """Return rate constants for mixing ratios (reaction, level, lat, lon) [1/s].

    With y = N q a reaction of order m has the rate k y_1 ... y_m = N [k N^(m-1)] q_1 ... q_m; the bracket is returned.
    """
    density = REFERENCE_DENSITY * relative_density
    k = rates(network, environment(column, density, oxygen, nitrogen))
    orders = np.array([len(reactants) for reactants in network.reactant_indices]).reshape(-1, 1, 1, 1)
    return np.asarray(np.broadcast_to(k, (len(orders), *density.shape)) * density ** (orders - 1))


@dataclass(frozen=True)
class ColumnRates:
    """Rates of all operators in columns at an instant, each (level, lat, lon).

    exchange  through upper faces [mol/s]
    losses    loss of a species [1/s], by term and species
    settling  air [mol/s] through the lower face, by term and species
    sources   source of a species [mol/mol/s], by term and species
    terms     number of budget terms
    """

    exchange: Array
    losses: Mapping[tuple[int, int], Array]
    settling: Mapping[tuple[int, int], Array]
    sources: Mapping[tuple[int, int], Array]
    terms: int


def column_rates(
    operators: Sequence[Operator], terms: Sequence[str], reading: OperatorInputs, shape: tuple[int, ...]
) -> ColumnRates:  # fmt: skip
    """Return the rates of operators in columns, by budget term."""
    kinds: dict[str, dict[tuple[int, int], Array]] = {"loss": {}, "settling": {}, "source": {}}
    for each in operators:
        for species, rate in of_species(each, reading, shape).items() if each.kind in kinds else ():
            key = terms.index(each.term or ""), species
            kinds[each.kind][key] = kinds[each.kind].get(key, 0.0) + rate
    air = exchange(operators, reading, shape)
    return ColumnRates(air, kinds["loss"], kinds["settling"], kinds["source"], len(terms))


def not_below_zero(values: Array) -> Array:
    """Return values with negative ones replaced by zero; a zero keeps its imaginary part."""
    return np.where(values.real < 0.0, 0.0, values)


def solve_columns(
    exchange: Array, air: Array, loss: Array, sources: Array, g: float, falling: Array | None = None
) -> Array:
    """Solve the implicit equation of one species in all columns for y, (level, lat, lon).

        A_k (1 + g L_k) y_k - g [ E_k (y_(k+1) - y_k) - E_(k-1) (y_k - y_(k-1)) + F_(k+1) y_(k+1) - F_k y_k ] = S_k

    Air A [mol], exchange E through upper faces [mol/s], loss L [1/s], sources S [mol], step g [s]. Settling is the flux
    F [mol/s] of air through lower faces.
    """
    levels = len(air)
    matrix = np.zeros((*air.shape[1:], levels, levels), np.result_type(exchange, loss, sources))
    for k in range(levels):
        matrix[..., k, k] += air[k] * (1.0 + g * loss[k])
    for k in range(levels - 1):
        matrix[..., k, k] += g * exchange[k]
        matrix[..., k + 1, k + 1] += g * exchange[k]
        matrix[..., k, k + 1] -= g * exchange[k]
        matrix[..., k + 1, k] -= g * exchange[k]
    for k in range(0 if falling is None else levels):
        assert falling is not None
        matrix[..., k, k] += g * falling[k]
        if k > 0:
            matrix[..., k - 1, k] -= g * falling[k]
    solution = np.linalg.solve(matrix, np.moveaxis(sources, 0, -1)[..., None])
    return np.asarray(np.moveaxis(solution[..., 0], -1, 0))


@dataclass(frozen=True)
class Implicit:
    """Implicit equation of a step:  A q = content + g [ A (P - L q) + emission + operators ].

    rates     rate constants for mixing ratios [1/s], by reaction
    air       A [mol];  content [mol] of each species;  start [mol/mol] of the iteration;  g [s]
    emission  [mol/s] of the emitted species, into the lowest levels
    """

    rates: Array
    air: Array
    content: Array
    start: Array
    g: float
    emission: Array
    column_rates: ColumnRates


def gauss_seidel(
    network: ReactionNetwork, equation: Implicit, *,
    order: Sequence[int], sweeps: int, emitted: Sequence[int], families: Sequence[str] = (),
) -> ColumnSolution:  # fmt: skip
    """Return mixing ratios after `sweeps` sweeps over species in `order`, each with the newest values of the others.

    They are not negative. The sums are those of the last sweep. Losses act on the clipped values; the residual of the
    equation counts as clipped.
    """
    k, air, content, g, act = equation.rates, equation.air, equation.content, equation.g, equation.column_rates
    q = equation.start.astype(np.result_type(equation.start, content, k))
    sums, own = np.zeros((3, len(q)), q.dtype), np.zeros((act.terms, len(q)), q.dtype)
    emission, taken, falling = np.zeros_like(q), np.zeros_like(q), np.zeros_like(q)
    for number, species in enumerate(emitted):
        emission[species, : equation.emission.shape[1]] += equation.emission[number]
    for (_, species), rate in act.losses.items():
        taken[species] += rate
    for (_, species), flux in act.settling.items():
        falling[species] += flux
    for (term, species), source in act.sources.items():
        emission[species] += air * source
        own[term, species] += np.sum(air * source)
    for _ in range(sweeps):
        for species in order:
            production = sum_terms(network.production_terms[species], k, q)
            loss = sum_terms(network.loss_terms[species], k, q)
            sources = content[species] + g * (air * production + emission[species])
            value = solve_columns(act.exchange, air, loss + taken[species], sources, g, falling[species])
            kept = not_below_zero(value)
            q[species] = kept
            sums[0, species] = np.sum(air * (production - loss * kept))
            sums[1, species] = np.sum((kept - value) * air * (1.0 + g * (loss + taken[species])))
            sums[1, species] += np.sum((kept - value)[0] * g * falling[species, 0])
            sums[2, species] = np.sum(air * (production + loss * kept))
    for (term, species), rate in act.losses.items():
        own[term, species] += np.sum(air * rate * q[species])
    for (term, species), flux in act.settling.items():
        own[term, species] += np.sum(flux[0] * q[species, 0])
    made = [_atoms_made(network, family, k, air, q) for family in families]
    return ColumnSolution(q, sums[0], sums[1], own, np.array(made), sums[2])


def _atoms_made(network: ReactionNetwork, family: str, k: Array, air: Array, q: Array) -> float:
    """Return the atoms of an element [mol/s] that unbalanced reactions produce."""
    total = 0.0
    for each in imbalances(network, family):
        speed = k[each.reaction]
        for species in network.reactant_indices[each.reaction]:
            speed = speed * q[species]
        total += each.change * float(np.sum(air * speed).real)
    return total
