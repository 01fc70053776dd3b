"""Directions: changes of all that a run is given, in which its results have derivatives."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.core.errors import CaseError

Array = npt.NDArray[np.float64]

INITIAL, EMISSION, BOUNDARY, FACES, TOP, RATES = "initial", "emission", "boundary", "boundary faces", "top", "rates"
NUMBER, FIELD = "number ", "field "
"""Names of the kinds of inputs; the last two are followed by the name of a number or a field of an operator."""

_BY_ATTRIBUTE: Final = {"initial": INITIAL, "boundary_profile": BOUNDARY, "top": TOP, "rates": RATES}


@dataclass(frozen=True)
class Direction:
    """Changes of what a run is given, None or nothing where that stays; adjoints of it have the same shape.

    initial   of mixing ratios at the beginning (species, level, lat, lon) [mol/mol]
    emission  of sources in periods, by the beginning [s] of each (emitted species, lowest levels, lat, lon) [mol/s]
    boundary_profile  of boundary concentrations at all faces and times (species, level) [mol/mol]
    top       of mixing ratios above the area (species,)
    rates     of a factor of one on the rate of each reaction (reaction,)
    numbers   of numbers that operators read, by their names (value,)
    fields    of fields that operators read, by their names, at each instant in order of time (..., lat, lon)
    boundary  of boundary concentrations that vary, by their instants [s], (species, level, face cell)
    """

    initial: Array | None = None
    emission: Mapping[float, Array] = field(default_factory=dict)
    boundary_profile: Array | None = None
    top: Array | None = None
    rates: Array | None = None
    numbers: Mapping[str, Array] = field(default_factory=dict)
    fields: Mapping[str, Sequence[Array]] = field(default_factory=dict)
    boundary: Mapping[float, Array] = field(default_factory=dict)

    def parts(self) -> dict[str, list[Array]]:
        """Return the changes by kinds of inputs, those that are there, each an array for each period or instant."""
        found = {kind: [getattr(self, name)] for name, kind in _BY_ATTRIBUTE.items() if getattr(self, name) is not None}
        if self.emission:
            found[EMISSION] = [self.emission[begin] for begin in sorted(self.emission)]
        if self.boundary:
            found[FACES] = [self.boundary[seconds] for seconds in sorted(self.boundary)]
        found |= {NUMBER + name: [values] for name, values in self.numbers.items()}
        return found | {FIELD + name: list(each) for name, each in self.fields.items()}

    def only(self, kind: str) -> "Direction":
        """Return the changes of one kind of input alone; raises CaseError where there are none."""
        if kind not in self.parts():
            raise CaseError(f"there is no input {kind!r}; there are: {', '.join(self.parts())}")
        numbers = {name: each for name, each in self.numbers.items() if NUMBER + name == kind}
        fields = {name: each for name, each in self.fields.items() if FIELD + name == kind}
        plain = {name: getattr(self, name) for name, each in _BY_ATTRIBUTE.items() if each == kind}
        return Direction(
            **plain, emission=self.emission if kind == EMISSION else {}, numbers=numbers, fields=fields,
            boundary=self.boundary if kind == FACES else {},
        )  # fmt: skip

    def map(self, make: Callable[[Array], Array]) -> "Direction":
        """Return what a function makes of each array."""
        plain = {
            name: make(getattr(self, name)) for name in _BY_ATTRIBUTE if getattr(self, name) is not None
        }  # fmt: skip
        return Direction(
            **plain, emission={begin: make(each) for begin, each in self.emission.items()},
            boundary={seconds: make(each) for seconds, each in self.boundary.items()},
            numbers={name: make(each) for name, each in self.numbers.items()},
            fields={name: [make(each) for each in some] for name, some in self.fields.items()},
        )  # fmt: skip


def products(adjoint: Direction, direction: Direction) -> dict[str, float]:
    """Return sum(adjoint x change) by the kinds of inputs that a direction has: what its changes are worth."""
    adjoints = adjoint.parts()
    return {
        kind: float(sum(np.sum(bar * change) for bar, change in zip(adjoints[kind], changes, strict=True)))
        for kind, changes in direction.parts().items()
    }
