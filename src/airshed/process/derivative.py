"""How fields of a process at an instant change with one of its numbers."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.process.bound import Around, Bound, State

Array = npt.NDArray[np.float64]

_TINY: Final = 1e-30
_STEP: Final = 1e-6
_AGREEMENT: Final = 1e-5


def field_derivatives(
    bound: Bound, number: tuple[str, int], state: State, seconds: float, around: Around
) -> dict[str, Array]:
    """Return the derivative of each field that operators read by a number, as :meth:`Bound.at` returns the fields.

    The functions of instants are given a complex number (complex step: exact to round-off); where one has what knows
    no complex numbers, such as abs, by a central difference of 1e-6 of the number, which is exact for what is linear.

    number  the name of the setting, and the place among its values
    """
    if bound.process.margin:
        state = around(seconds)
    name, place = number
    step = _STEP * max(abs(float(bound.numbers[name].flat[place])), _STEP)
    above, below = (_fields(bound, name, place, sign * step, state, seconds) for sign in (1.0, -1.0))
    found = {key: (np.asarray(above[key]) - np.asarray(below[key])) / (2.0 * step) for key in above}
    try:
        exact = _fields(bound, name, place, 1j * _TINY, state, seconds)
    except TypeError:
        exact = {}
    for key, value in exact.items():
        slope = np.imag(value) / _TINY
        if np.allclose(
            slope, found[key], rtol=_AGREEMENT, atol=_AGREEMENT * float(np.abs(found[key]).max(initial=0.0))
        ):
            found[key] = slope
    return {each.name: bound.shaped(each, found[each.name]) for each in bound.fields}


def _fields(bound: Bound, name: str, place: int, change: complex, state: State, seconds: float) -> dict[str, Any]:
    with _changed(bound, name, place, change), np.errstate(all="ignore"):
        return bound.values_at(state, seconds)


@contextmanager
def _changed(bound: Bound, name: str, place: int, change: complex) -> Iterator[None]:
    before = bound.numbers[name]
    changed = before.astype(np.result_type(before, type(change)))
    changed.flat[place] += change
    bound.numbers[name] = changed
    try:
        yield
    finally:
        bound.numbers[name] = before
