"""Random fields and numbers for any operators, of a size at which rates matter and explicit steps stay stable."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.kernels.column.operators_reference import Reading, rates
from airshed.kernels.operators import Kind, Member, Operator, members

Array = npt.NDArray[np.float64]
Fields = dict[str, Array]

_DECADES: Final = 3
"""Over so many decades a field varies."""

_SCALES: Final = 10.0 ** np.arange(-40, 41)


def random_numbers(random: np.random.Generator, operators: Sequence[Operator]) -> Fields:
    """Return other values for the numbers of operators, up to a half away from those that they are declared with."""
    return {
        each.key: np.array(each.values) * random.uniform(0.5, 1.5, len(each.values))
        for each in members(operators)
        if each.shape is None
    }


def random_fields(
    random: np.random.Generator, operators: Sequence[Operator], reading: Reading, shape: tuple[int, int, int],
    greatest: Mapping[Kind, float],
) -> tuple[Fields, Fields]:  # fmt: skip
    """Return the fields of operators at two instants; each operator's greatest rate is about that of its kind.

    reading  numbers and the air, of which the rates are made
    """
    found = {each.key: each for each in members(operators) if each.shape is not None}
    start, end = ({name: _random_field(random, each, shape) for name, each in found.items()} for _ in range(2))
    scaled: set[str] = set()
    for operator in operators:
        names = {field.name for field in operator.fields} - scaled
        factor = _factor(operator, Reading(start, reading.numbers, reading.air), names, greatest[operator.kind])
        for name in names:
            start[name] *= factor
            end[name] *= factor
        scaled |= names
    return start, end


def _random_field(random: np.random.Generator, member: Member, shape: tuple[int, int, int]) -> Array:
    levels, rows, columns = shape
    if member.shape == "matrix":
        return _circulation(random, shape)
    plane = rows + (member.shape == "south faces"), columns + (member.shape == "west faces")
    values = 10.0 ** random.uniform(-_DECADES, 0.0, (*member.middle(levels), *plane))
    if member.shape == "west faces":
        values[..., [0, -1]] = 0.0
    if member.shape == "south faces":
        values[..., [0, -1], :] = 0.0
    return values


def _circulation(random: np.random.Generator, shape: tuple[int, int, int]) -> Array:
    """Matrices that bring as much air to each level as they take from it: cycles of all lengths of way."""
    levels, rows, columns = shape
    matrix = np.zeros((levels, levels, rows, columns))
    for step in range(1, levels):
        amount = 10.0 ** random.uniform(-_DECADES, 0.0, (rows, columns))
        for k in range(levels):
            matrix[k, (k + step) % levels] = amount
            matrix[k, k] -= amount
    return matrix


def _factor(operator: Operator, reading: Reading, names: set[str], greatest: float) -> float:
    """The power of ten by which fields are to be multiplied so that the operator's greatest rate is about that."""
    if greatest == 0.0 or not names:
        return float(greatest != 0.0)
    apart = []
    for scale in _SCALES:
        fields = {name: scale * field if name in names else field for name, field in reading.fields.items()}
        size = max(float(np.abs(rate).max()) for rate in rates(operator, Reading(fields, reading.numbers, reading.air)))
        apart.append(abs(np.log(size / greatest)) if np.isfinite(size) and size > 0.0 else np.inf)
    return float(_SCALES[int(np.argmin(apart))])
