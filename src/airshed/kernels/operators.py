"""Operators: terms of the equation other than chemistry, as input of kernels.

An operator is one term of the equation of each species on which it acts, of one of seven kinds. Its rate is a formula
of packed fields, of numbers and of the air in the cell. Kernels evaluate it where it is needed, in every step:

    loss           - L q,   L [1/s], implicit; at all levels or in the lowest one
    source         + S,     S [mol/mol/s], implicit, known at the end of the step; at all levels or in the lowest one
    exchange       E [mol/s] of air through upper faces, up and down alike, for all species; implicit
    settling       F [mol/s] of air that species fall through, downward through the lower face; implicit
    face_exchange  D [mol/s] of air through west and south faces, both ways alike, for all species; explicit
    column_matrix  M [mol/s], air from layer k' to layer k: sum over k' of M(k, k') q(k'); explicit
    face_flux      advection of all species through faces, by the limited scheme of transport; explicit; no rate

Conserving kinds (exchange, face_exchange, column_matrix) add nothing to budgets. `loss` and `source` add the amount
removed or supplied [mol/s], `settling` the flux to the ground. `face_flux` adds to the terms `inflow` and `outflow`,
which every step has.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final, Literal

from airshed.core.errors import KernelError
from airshed.formula.tree import Expression, symbols

Kind = Literal["loss", "source", "exchange", "settling", "face_exchange", "column_matrix", "face_flux"]
Shape = Literal["cells", "ground", "west faces", "south faces", "matrix"]

AIR: Final[Mapping[str, str]] = {
    "temperature": "K",
    "pressure": "Pa",
    "air_density": "mol/m3",
    "water_vapour": "mol/mol",
    "air": "mol",
    "thickness": "m",
    "cos_zenith": "1",
    "light": "1",
}
"""Names of the air in a cell that formulas may use, and their units.

air        content of the cell at the end of the step;  thickness  of its layer
cos_zenith of the sun, 0 at night;  light  the fraction of clear-sky daylight, 0 to 1
"""


@dataclass(frozen=True)
class OperatorField:
    """A packed field that an operator reads, linear between the ends of a forcing interval.

    name     a C identifier, unique among fields; the key of the field in the forcing of a step
    shape    points of its values: each cell, each column at the ground, each west or south face of a cell, or each
             pair of layers of a column
    species  whether it has values for each species of the operator; species precede levels

    Packed: [lat][block][species][level][W], without absent dimensions; a matrix [lat][block][k][k'][W]; faces as the
    air fluxes. Padding lanes are zero.
    """

    name: str
    shape: Shape = "cells"
    species: bool = False


@dataclass(frozen=True)
class Operator:
    """Term of the equations of species; see the module.

    name     a C identifier, unique among operators
    species  indices of its species, ascending; empty for kinds that act on all species (or if it acts on none)
    fields   packed fields that the rate reads
    numbers  names and values of numbers that the rate reads: one value per species of the operator, or one for all.
             They may change between steps.
    rate     formula of the names of fields, of numbers and of :data:`AIR`; two for `face_exchange`, of the west and
             the south face; none for `face_flux`
    ground   whether a loss or a source acts only in the lowest level
    term     name of its budget term; None for a conserving kind

    Operators with the same term add to the same sum.
    """

    name: str
    kind: Kind
    rate: tuple[Expression, ...]
    species: tuple[int, ...] = ()
    fields: tuple[OperatorField, ...] = ()
    numbers: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    ground: bool = False
    term: str | None = None


ADVECTION: Final = Operator("advection", "face_flux", ())
"""The operator of advection by the wind."""


_SHAPES: Final[Mapping[Kind, tuple[Shape, ...]]] = {
    "loss": ("cells", "ground"), "source": ("cells", "ground"), "settling": ("cells", "ground"),
    "exchange": ("cells", "ground"), "face_exchange": ("west faces", "south faces"), "column_matrix": ("matrix",),
    "face_flux": (),
}  # fmt: skip
_OF_SPECIES: Final = ("loss", "source", "settling")
_AT_GROUND: Final = ("loss", "source")
EXPLICIT: Final = ("face_exchange", "column_matrix", "face_flux")
"""Kinds that act at time level n, as transport does; the others act at n + 1."""

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


@dataclass(frozen=True)
class Member:
    """A field or the values of a number in the structure of a step.

    name     in the structure;  key  among the fields or numbers of the forcing
    shape    of a field; None for a number
    species  number of species for which it has values, 0 if it has one value for all
    values   declared values of a number, used unless a step changes them
    """

    name: str
    key: str
    shape: Shape | None
    species: int = 0
    values: tuple[float, ...] = ()

    @property
    def explicit(self) -> bool:
        """True if it is read with transport, at time level n."""
        return self.shape in ("west faces", "south faces", "matrix")

    @property
    def declaration(self) -> str:
        """The declaration of the member in the C structure."""
        return f"const dscalar* {self.name};" if self.shape is None else f"ValueEnds {self.name};"

    def middle(self, levels: int) -> tuple[int, ...]:
        """Return the dimensions between blocks and lanes of the packed field."""
        below = {"ground": (), "matrix": (levels, levels)}.get(self.shape or "", (levels,))
        return (self.species, *below) if self.species else below


def member_of_field(operator: Operator, field: OperatorField) -> Member:
    """Return the member of a step for a field of an operator."""
    species = len(operator.species) if field.species else 0
    return Member(f"field_{field.name}", field.name, field.shape, species)


def member_of_number(operator: Operator, name: str) -> Member:
    """Return the member of a step for a number of an operator."""
    values = tuple(operator.numbers[name])
    return Member(f"number_{name}", name, None, len(values) if len(values) > 1 else 0, values)


def members(operators: Sequence[Operator]) -> tuple[Member, ...]:
    """Return all fields and numbers of operators, in the order of the structure; shared ones appear once."""
    found: dict[str, Member] = {}
    for operator in operators:
        own = [member_of_field(operator, field) for field in operator.fields]
        own += [member_of_number(operator, name) for name in operator.numbers]
        for member in own:
            if found.setdefault(member.key, member) != member:
                raise KernelError(f"operator {operator.name}: {member.key} is declared differently before; rename it")
    return tuple(found.values())


def own_terms(operators: Sequence[Operator]) -> tuple[str, ...]:
    """Return the names of the budget terms of operators, each once, in their order."""
    return tuple(dict.fromkeys(operator.term for operator in operators if operator.term is not None))


def active_operators(operators: Sequence[Operator], *, horizontal: bool, vertical: bool) -> tuple[Operator, ...]:
    """Return the operators in the directions of a kernel: exchange through west and south faces is horizontal.

    Operators without species are omitted; their budget terms remain.
    """
    goes = {"face_exchange": horizontal, "face_flux": horizontal or vertical}
    return tuple(
        each for each in operators
        if goes.get(each.kind, vertical) and (each.species or each.kind not in _OF_SPECIES)
    )  # fmt: skip


def of_some_species(operator: Operator, species: slice) -> Operator:
    """Return an operator for a kernel of a slice of the species, with indices relative to its start."""
    slots = [slot for slot, number in enumerate(operator.species) if species.start <= number < species.stop]
    numbers = {
        # without species the operator does not act, and any value serves
        name: tuple(values[slot] for slot in slots or [0]) if len(values) > 1 else values
        for name, values in operator.numbers.items()
    }
    return replace(operator, species=tuple(operator.species[slot] - species.start for slot in slots), numbers=numbers)


def check(operators: Sequence[Operator], species: int) -> None:
    """Raise KernelError for operators that cannot be compiled."""
    for name in (name for name in {each.name for each in operators} if [e.name for e in operators].count(name) > 1):
        raise KernelError(f"there are two operators named {name}; rename one")
    for operator in operators:
        for wrong, fault in _FAULTS.items():
            if fault(operator, species):
                raise KernelError(f"operator {operator.name!r}, a {operator.kind}: {wrong}")
    signs: dict[str | None, bool] = {}
    for operator in operators:
        gives = operator.kind == "source"
        if operator.term is not None and signs.setdefault(operator.term, gives) != gives:
            raise KernelError(f"operator {operator.name} and an earlier one of {operator.term} differ in sign")
    members(operators)


def _known(operator: Operator) -> set[str]:
    names = {field.name for field in operator.fields} | set(operator.numbers)
    return names if operator.kind in EXPLICIT else names | set(AIR)


def _strange_names(operator: Operator, _: int) -> bool:
    names = (operator.name, *(field.name for field in operator.fields), *operator.numbers)
    return not all(_NAME.fullmatch(name) for name in names) or len(set(names[1:])) < len(names[1:])


_FAULTS: Final[Mapping[str, Callable[[Operator, int], bool]]] = {
    "its name and the names of its fields and numbers must be distinct C identifiers": _strange_names,
    "fields and numbers must not have names of the air": lambda each, _: bool(
        ({field.name for field in each.fields} | set(each.numbers)) & set(AIR)
    ),
    "it must have one rate, a face exchange two, and a face flux none": lambda each, _: (
        len(each.rate) != {"face_exchange": 2, "face_flux": 0}.get(each.kind, 1)
    ),
    "its rate may read only its fields and numbers, and the air if it is implicit": lambda each, _: (
        not set(symbols(*each.rate)) <= _known(each)
    ),
    "a field has a shape that its kind cannot read": lambda each, _: any(
        field.shape not in _SHAPES[each.kind] for field in each.fields
    ),
    "it must name species in ascending order if it acts on some, else none": lambda each, count: (
        bool(each.species and each.kind not in _OF_SPECIES)
        or any(a >= b for a, b in pairwise(each.species))
        or any(not 0 <= species < count for species in each.species)
    ),
    "an operator on all species cannot have a field by species": lambda each, _: (
        each.kind not in _OF_SPECIES and any(field.species for field in each.fields)
    ),
    "it must have a budget term if it does not conserve, else none": lambda each, _: (
        (each.term is None) == (each.kind in _OF_SPECIES)
    ),
    "it cannot act only at the ground": lambda each, _: each.ground and each.kind not in _AT_GROUND,
    "a number must have one value, or one per species": lambda each, _: any(
        len(values) not in {1, len(each.species) or 1} for values in each.numbers.values()
    ),
    "the first rate must read west faces, the second south faces": lambda each, _: (
        each.kind == "face_exchange"
        and any(
            field.name in symbols(rate) and field.shape != shape
            for rate, shape in zip(each.rate, ("west faces", "south faces"), strict=True)
            for field in each.fields
        )
    ),
}
"""Rules for operators: the message, and a function of an operator and the number of species that is true on a fault."""
