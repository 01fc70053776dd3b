"""Directions: perturbations of all inputs of a run, and the resulting perturbations of the forcing of each step."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.core.errors import CaseError
from airshed.inverse.reverse.area import Area
from airshed.kernels.boundary import BoundaryForcing, PackedBoundary
from airshed.kernels.host import AnyArray, aligned_copy
from airshed.kernels.operators import Member
from airshed.kernels.step.arguments import Pair, StepChanges, StepConstants, StepForcing
from airshed.models.air.programs.records import FormulaStep

INITIAL, EMISSION, BOUNDARY, FACES, TOP, RATES = "initial", "emission", "boundary", "boundary faces", "top", "rates"
NUMBER, FIELD = "number ", "field "
"""Names of the kinds of inputs; the last two are prefixes of the name of a number or field of an operator."""

_BY_ATTRIBUTE: Final = {"initial": INITIAL, "boundary_profile": BOUNDARY, "top": TOP, "rates": RATES}


@dataclass(frozen=True)
class Direction:
    """Perturbations of the inputs of a run; None or empty for inputs without one. Adjoints have the same shapes.

    initial   mixing ratios at the beginning (species, level, lat, lon) [mol/mol]
    emission  emission rates by the beginning [s] of their period (emitted species, lowest levels, lat, lon) [mol/s]
    boundary_profile  boundary concentrations at all faces and times (species, level) [mol/mol]
    top       mixing ratios above the area (species,)
    rates     factors on the rates of reactions, whose value is 1 (reaction,)
    numbers   numbers that operators read, by name (value,)
    fields    fields that operators read, by name, at each instant in order of time (..., lat, lon)
    boundary  boundary concentrations that vary, by instant [s] (species, level, face cell)
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
        """Return the perturbations by kind of input, with an array for each period or instant."""
        found = {kind: [getattr(self, name)] for name, kind in _BY_ATTRIBUTE.items() if getattr(self, name) is not None}
        if self.emission:
            found[EMISSION] = [self.emission[begin] for begin in sorted(self.emission)]
        if self.boundary:
            found[FACES] = [self.boundary[seconds] for seconds in sorted(self.boundary)]
        found |= {NUMBER + name: [values] for name, values in self.numbers.items()}
        return found | {FIELD + name: list(each) for name, each in self.fields.items()}

    def only(self, kind: str) -> "Direction":
        """Return the perturbations of one kind of input; raises CaseError if there are none."""
        if kind not in self.parts():
            raise CaseError(f"there is no input {kind!r}; choose from {', '.join(self.parts())}")
        numbers = {name: each for name, each in self.numbers.items() if NUMBER + name == kind}
        fields = {name: each for name, each in self.fields.items() if FIELD + name == kind}
        plain = {name: getattr(self, name) for name, each in _BY_ATTRIBUTE.items() if each == kind}
        return Direction(
            **plain, emission=self.emission if kind == EMISSION else {}, numbers=numbers, fields=fields,
            boundary=self.boundary if kind == FACES else {},
        )  # fmt: skip

    def map(self, make: Callable[[Array], Array]) -> "Direction":
        """Return the direction with a function applied to each array."""
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
    """Return sum(adjoint x change) for each kind of input of a direction: the change of the cost."""
    adjoints = adjoint.parts()
    return {
        kind: float(sum(np.sum(bar * change) for bar, change in zip(adjoints[kind], changes, strict=True)))
        for kind, changes in direction.parts().items()
    }


class Changes:
    """Perturbations of the steps in a direction, packed once for the columns of this rank."""

    def __init__(self, direction: Direction, area: Area, members: Mapping[str, Member]) -> None:
        self.direction, self._area, self._members = direction, area, members
        self._emission = {begin: area.own(each, padding="constant") for begin, each in direction.emission.items()}
        self._fields: dict[str, list[AnyArray]] = {
            name: [area.own(each, padding="constant") for each in some] for name, some in direction.fields.items()
        }
        self._seen: dict[str, dict[int, tuple[AnyArray, int]]] = {name: {} for name in direction.fields}
        self._boundary: dict[float, PackedBoundary] = {}
        self._perturbed: dict[int, tuple[AnyArray, AnyArray]] = {}
        for name in (*direction.fields, *direction.numbers):
            if name not in members:
                raise CaseError(f"no operator reads {name}; they read: {', '.join(members)}")

    def of(self, step: FormulaStep) -> StepChanges:
        """Return the perturbations of the forcing of a step; call it in order of time."""
        given, to = given_fields(step.forcing), self.direction
        fields: dict[str, Pair] = {
            name: (self._at(name, given[name][0]), self._at(name, given[name][1]))
            for name in self._fields if name in given
        }  # fmt: skip
        boundary = self._of_boundary(step.forcing.transport.boundary)
        return StepChanges(self._of_emission(step), to.boundary_profile, to.top, to.rates, fields, to.numbers, boundary)

    def perturbed(self, step: FormulaStep, size: float) -> StepForcing:
        """Return the forcing of a step perturbed by `size` times the direction."""
        forcing = step.forcing
        if size == 0.0:
            return forcing
        numbers = {**given_numbers(forcing)}
        for name, added in self.direction.numbers.items():
            numbers[name] = np.asarray(numbers.get(name, self._members[name].values)) + size * added
        boundary = forcing.transport.boundary
        if boundary is not None and (change := self._of_boundary(boundary)) is not None:
            first, last = (
                PackedBoundary({
                    side: aligned_copy(each + each.dtype.type(size) * by.sides[side])
                    for side, each in end.sides.items()
                }, end.seconds)
                for end, by in ((boundary.start, change.start), (boundary.end, change.end))
            )  # fmt: skip
            boundary = replace(boundary, start=first, end=last)
        transport = replace(
            forcing.transport, numbers=numbers, fields=self._moved(forcing.transport.fields, size), boundary=boundary
        )
        if forcing.column is None:
            return replace(forcing, transport=transport)
        added_emission, emission = self._of_emission(step), forcing.column.emission
        if added_emission is not None:
            emission = aligned_copy(emission + size * added_emission)
        column = replace(
            forcing.column, numbers=numbers, fields=self._moved(forcing.column.fields, size), emission=emission
        )  # fmt: skip
        return StepForcing(forcing.weights, transport, column)

    def add_to_initial(self, packed: AnyArray, size: float) -> None:
        """Add `size` times the perturbation of the initial state to packed mixing ratios."""
        if self.direction.initial is not None:
            packed += packed.dtype.type(size) * self._area.own(self.direction.initial)

    def constants(self, given: StepConstants, size: float) -> StepConstants:
        """Return the constants of the steps perturbed by `size` times the direction."""
        to = self.direction
        profile = given.profile if to.boundary_profile is None else given.profile + size * to.boundary_profile
        top = given.top if to.top is None else given.top + size * to.top
        return replace(given, profile=profile, top=top)

    def _of_boundary(self, given: BoundaryForcing | None) -> BoundaryForcing | None:
        """Return the perturbations of varying boundary concentrations at both ends of an interval."""
        if given is None or not (self.direction.boundary or self.direction.boundary_profile is not None):
            return None
        return replace(given, start=self._boundary_change(given.start), end=self._boundary_change(given.end))

    def _boundary_change(self, given: PackedBoundary) -> PackedBoundary:
        if given.seconds not in self._boundary:
            around, boundary_profile = self._area.face_cells.count, self.direction.boundary_profile
            field = self.direction.boundary.get(given.seconds, 0.0) + np.zeros(around)
            if boundary_profile is not None:
                count = given.count if given.sides else len(boundary_profile)
                field = field + np.resize(boundary_profile, (count, boundary_profile.shape[1]))[..., None]
            self._boundary[given.seconds] = self._area.own_boundary(field, given)
        return self._boundary[given.seconds]

    def _of_emission(self, step: FormulaStep) -> AnyArray | None:
        """Return the perturbation of the emission of a step, weighted by the shares of its periods."""
        shares = [(share, self._emission[begin]) for begin, share in step.emission if begin in self._emission]
        if not shares:
            return None
        total = self._area.layout.empty(*shares[0][1].shape)
        total[...] = 0.0
        for share, change in shares:
            total += total.dtype.type(share) * change
        return total

    def _at(self, name: str, field: AnyArray) -> AnyArray:
        """Return the perturbation of a field at the instant of a packed array.

        The array is stored, so that its id remains unique.
        """
        seen, changes = self._seen[name], self._fields[name]
        number = seen.setdefault(id(field), (field, len(seen)))[1]
        if number >= len(changes):
            raise CaseError(f"the direction has {name} at {len(changes)} instants, but the run has more")
        return changes[number]

    def _moved(self, fields: Mapping[str, Pair], size: float) -> dict[str, Pair]:
        """Return perturbed fields; each array is computed once for all steps that read it."""

        def moved(name: str, field: AnyArray) -> AnyArray:
            if id(field) not in self._perturbed:
                there = aligned_copy(field + field.dtype.type(size) * self._at(name, field))
                self._perturbed[id(field)] = field, there
            return self._perturbed[id(field)][1]

        return {
            name: (moved(name, pair[0]), moved(name, pair[1])) if name in self._fields else pair
            for name, pair in fields.items()
        }


def given_fields(forcing: StepForcing) -> dict[str, tuple[AnyArray, AnyArray]]:
    """Return the fields of operators in the forcing of a step, at both ends of its interval."""
    return {**forcing.transport.fields, **(forcing.column.fields if forcing.column else {})}


def given_numbers(forcing: StepForcing) -> dict[str, npt.ArrayLike]:
    """Return the numbers of operators in the forcing of a step."""
    return {**forcing.transport.numbers, **(forcing.column.numbers if forcing.column else {})}
