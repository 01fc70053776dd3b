"""What operators do, in plain NumPy from their declarations: rates in every cell, and the terms that they are.

Fields are not packed: (level, lat, lon), at the ground (lat, lon), west faces (level, lat, lon + 1), south faces
(level, lat + 1, lon), matrices (level, level from which, lat, lon); one of each species has species in front.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from airshed.core.constants import AVOGADRO, BOLTZMANN
from airshed.formula import evaluate
from airshed.formula.tree import Expression
from airshed.kernels.operators import Operator
from airshed.kernels.rates import REFERENCE_DENSITY

Array = npt.NDArray[np.float64]

_PER_CUBIC_METRE = 1e6


@dataclass(frozen=True)
class Reading:
    """What operators read at one instant: fields, numbers, and the air of cells (level, lat, lon), none if explicit."""

    fields: Mapping[str, Array]
    numbers: Mapping[str, Array]
    air: Mapping[str, Array]


def air_of_cells(
    temperature: Array, water: Array, air: Array, relative_density: Array, thickness: Array, sun: tuple[Array, Array]
) -> dict[str, Array]:  # fmt: skip
    """Return the air of cells by the names that formulas have for it; sun: secant of the zenith angle, and light."""
    secant, light = sun
    per_cubic_metre = REFERENCE_DENSITY * relative_density * _PER_CUBIC_METRE
    return {
        "temperature": temperature, "water_vapour": water, "air": air,
        "pressure": per_cubic_metre * BOLTZMANN * temperature, "air_density": per_cubic_metre / AVOGADRO,
        "thickness": thickness[:, None, None], "light": light,
        "cos_zenith": np.where(light > 0.0, 1.0 / secant, 0.0),
    }  # fmt: skip


def _value(operator: Operator, rate: Expression, reading: Reading, slot: int, level: int | slice) -> Array:
    """The rate of one of the operator's species, in one level or in all."""
    values: dict[str, Array] = {}
    for name, array in reading.air.items():
        values[name] = array[level] if array.ndim == 3 else array
    for field in operator.fields:
        array = reading.fields[field.name]
        array = array[slot] if field.species else array
        values[field.name] = array[level] if field.shape == "cells" else array
    for name in operator.numbers:
        values[name] = reading.numbers[name][slot if len(reading.numbers[name]) > 1 else 0]
    return np.asarray(evaluate(rate, values, dtype=np.result_type(np.float64, *values.values())))


def rates(operator: Operator, reading: Reading) -> list[Array]:
    """Return all rates of an operator, of each species."""
    level: int | slice = 0 if operator.ground else slice(None)
    slots = range(max(len(operator.species), 1))
    return [_value(operator, rate, reading, slot, level) for rate in operator.rate for slot in slots]


def of_species(operator: Operator, reading: Reading, shape: tuple[int, ...]) -> dict[int, Array]:
    """Return the rate of a loss, source or sinking for each species that it touches, (level, lat, lon)."""
    found = {}
    for slot, species in enumerate(operator.species):
        level: int | slice = 0 if operator.ground else slice(None)
        value = _value(operator, operator.rate[0], reading, slot, level)
        rate = np.zeros(shape, value.dtype)
        rate[level] = value
        found[species] = rate
    return found


def exchange(operators: Sequence[Operator], reading: Reading, shape: tuple[int, ...]) -> Array:
    """Return the air that is exchanged through upper faces [mol/s], (level, lat, lon)."""
    total = np.zeros(shape)
    for operator in operators:
        if operator.kind == "exchange":
            total = total + _value(operator, operator.rate[0], reading, 0, slice(None))
    return total


def explicit_tendency(operators: Sequence[Operator], reading: Reading, q: Array) -> Array:
    """Return what exchange through west and south faces and matrices of columns do to mixing ratios [mol/s].

    A rate may be a plain number: the same everywhere.
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
