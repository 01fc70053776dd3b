"""Where operators find their fields and numbers: one list, from which the C structure and its mirror are made.

It also refuses operators that do not fit together, before any code is made of them.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from airshed.core.errors import KernelError
from airshed.formula.tree import symbols
from airshed.kernels.step.operators import AIR, Kind, Operator, OperatorField, Shape

_SHAPES: Final[Mapping[Kind, tuple[Shape, ...]]] = {
    "loss": ("cells", "ground"), "source": ("cells", "ground"), "sinking": ("cells", "ground"),
    "exchange": ("cells", "ground"), "face_exchange": ("west faces", "south faces"), "column_matrix": ("matrix",),
    "face_flux": (),
}  # fmt: skip
_OF_SPECIES: Final = ("loss", "source", "sinking")
_AT_GROUND: Final = ("loss", "source")
EXPLICIT: Final = ("face_exchange", "column_matrix", "face_flux")
"""Kinds that act at the time n, as transport does; the others act at n + 1."""

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


@dataclass(frozen=True)
class Member:
    """A field or the values of a number, as a step finds them.

    name     in the structure;  key  among the fields or numbers that steps are given
    shape    of a field; None for a number
    species  for how many species it has values, 0 where it has one for all
    values   that a number has until a step gives it others
    """

    name: str
    key: str
    shape: Shape | None
    species: int = 0
    values: tuple[float, ...] = ()

    @property
    def explicit(self) -> bool:
        """Whether it is read with transport, at the time n."""
        return self.shape in ("west faces", "south faces", "matrix")

    @property
    def declaration(self) -> str:
        """The member in the C structure."""
        return f"const dscalar* {self.name};" if self.shape is None else f"ValueEnds {self.name};"

    def middle(self, levels: int) -> tuple[int, ...]:
        """Return the dimensions between blocks and lanes of the packed field."""
        below = {"ground": (), "matrix": (levels, levels)}.get(self.shape or "", (levels,))
        return (self.species, *below) if self.species else below


def member_of_field(operator: Operator, field: OperatorField) -> Member:
    """Return what an operator's field is in a step."""
    species = len(operator.species) if field.species else 0
    return Member(f"field_{field.name}", field.name, field.shape, species)


def member_of_number(operator: Operator, name: str) -> Member:
    """Return what an operator's number is in a step."""
    values = tuple(operator.numbers[name])
    return Member(f"number_{name}", name, None, len(values) if len(values) > 1 else 0, values)


def members(operators: Sequence[Operator]) -> tuple[Member, ...]:
    """Return all fields and numbers of operators, in the order of the structure; what several share stands once."""
    found: dict[str, Member] = {}
    for operator in operators:
        own = [member_of_field(operator, field) for field in operator.fields]
        own += [member_of_number(operator, name) for name in operator.numbers]
        for member in own:
            if found.setdefault(member.key, member) != member:
                raise KernelError(f"operator {operator.name}: {member.key} is another thing in an operator before it")
    return tuple(found.values())


def own_terms(operators: Sequence[Operator]) -> tuple[str, ...]:
    """Return the names of the terms of budgets that operators add to, each once, in their order."""
    return tuple(dict.fromkeys(operator.term for operator in operators if operator.term is not None))


def acting(operators: Sequence[Operator], *, horizontal: bool, vertical: bool) -> tuple[Operator, ...]:
    """Return the operators that act where a kernel goes: exchange through west and south faces is horizontal.

    Those that touch no species do nothing; their terms of budgets stay.
    """
    goes = {"face_exchange": horizontal, "face_flux": horizontal or vertical}
    return tuple(
        each for each in operators
        if goes.get(each.kind, vertical) and (each.species or each.kind not in _OF_SPECIES)
    )  # fmt: skip


def of_some_species(operator: Operator, species: slice) -> Operator:
    """Return an operator for a kernel of some species alone, which are counted from 0 there."""
    slots = [slot for slot, number in enumerate(operator.species) if species.start <= number < species.stop]
    numbers = {
        name: tuple(values[slot] for slot in slots) if len(values) > 1 else values
        for name, values in operator.numbers.items()
    }
    return replace(operator, species=tuple(operator.species[slot] - species.start for slot in slots), numbers=numbers)


def check(operators: Sequence[Operator], species: int) -> None:
    """Raise KernelError for operators of which no code can be made."""
    for name in (name for name in {each.name for each in operators} if [e.name for e in operators].count(name) > 1):
        raise KernelError(f"operator {name} is there twice")
    for operator in operators:
        for wrong, fault in _FAULTS.items():
            if fault(operator, species):
                raise KernelError(f"operator {operator.name!r}, a {operator.kind}: {wrong}")
    signs: dict[str | None, bool] = {}
    for operator in operators:
        gives = operator.kind == "source"
        if operator.term is not None and signs.setdefault(operator.term, gives) != gives:
            raise KernelError(f"operator {operator.name}: what others of the term {operator.term} take it gives")
    members(operators)


def _known(operator: Operator) -> set[str]:
    names = {field.name for field in operator.fields} | set(operator.numbers)
    return names if operator.kind in EXPLICIT else names | set(AIR)


def _strange_names(operator: Operator, _: int) -> bool:
    names = (operator.name, *(field.name for field in operator.fields), *operator.numbers)
    return not all(_NAME.fullmatch(name) for name in names) or len(set(names[1:])) < len(names[1:])


_FAULTS: Final[Mapping[str, Callable[[Operator, int], bool]]] = {
    "its name and those of its fields and numbers are to be C identifiers, each another": _strange_names,
    "fields and numbers have other names than the air": lambda each, _: bool(
        ({field.name for field in each.fields} | set(each.numbers)) & set(AIR)
    ),
    "it is to have one rate, of faces two, and none where it goes with the air": lambda each, _: (
        len(each.rate) != {"face_exchange": 2, "face_flux": 0}.get(each.kind, 1)
    ),
    "its rate has a name that is none of its fields and numbers, nor of the air where it is implicit": lambda each, _: (
        not set(symbols(*each.rate)) <= _known(each)
    ),
    "a field has no shape that it can read": lambda each, _: any(
        field.shape not in _SHAPES[each.kind] for field in each.fields
    ),
    "it is to name species, rising, where it is of some, else none": lambda each, count: (
        bool(each.species and each.kind not in _OF_SPECIES)
        or any(a >= b for a, b in pairwise(each.species))
        or any(not 0 <= species < count for species in each.species)
    ),
    "what acts on all species has no field for each of them": lambda each, _: (
        each.kind not in _OF_SPECIES and any(field.species for field in each.fields)
    ),
    "it is to have a term of budgets if it does not conserve, else none": lambda each, _: (
        (each.term is None) == (each.kind in _OF_SPECIES)
    ),
    "it cannot act at the ground alone": lambda each, _: each.ground and each.kind not in _AT_GROUND,
    "a number has one value, or one for each species": lambda each, _: any(
        len(values) not in {1, len(each.species) or 1} for values in each.numbers.values()
    ),
    "west faces belong to the first rate, south faces to the second": lambda each, _: (
        each.kind == "face_exchange"
        and any(
            field.name in symbols(rate) and field.shape != shape
            for rate, shape in zip(each.rate, ("west faces", "south faces"), strict=True)
            for field in each.fields
        )
    ),
}
"""What an operator must not be: the message, and whether it holds for an operator and the number of species."""
