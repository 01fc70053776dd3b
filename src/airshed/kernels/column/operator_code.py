"""Generation of operators as C++: their rates as statements, the memory offsets of fields, and their budget terms.

The code that uses the rates is hand-written, once per kind, in ``column/column.hpp`` and ``transport/transport.hpp``.

Adjoints of fields and numbers follow from the formula of the rate. Let `given` be the adjoint of a rate. The adjoint of
each field receives `given` times the derivative of the rate with respect to it, at both ends of its interval. The
adjoint of each number receives the sum of the same over cells.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from airshed.core.constants import AVOGADRO
from airshed.formula import cpp
from airshed.formula.derivative import adjoint
from airshed.formula.trace import TracedFunction
from airshed.formula.tree import Expression, symbols
from airshed.kernels.cpp import RATES
from airshed.kernels.operators import (
    AIR,
    Kind,
    Member,
    Operator,
    OperatorField,
    member_of_field,
    member_of_number,
    members,
)
from airshed.kernels.rates import BOLTZMANN_CM

_AIR: Final[Mapping[str, str]] = {
    "temperature": "air.temperature",
    "pressure": f"air.density * air.temperature * {BOLTZMANN_CM!r}",
    "air_density": f"air.density * {1e6 / AVOGADRO!r}",
    "water_vapour": "air.water",
    "air": "air.content",
    "thickness": "dsplat(s.thickness[z])",
    "cos_zenith": "air.light > 0.0 ? 1.0 / air.secant : dpack{}",
    "light": "air.light",
}
"""The air of a cell in code, for each of :data:`airshed.kernels.operators.AIR`."""

_PLACES: Final[Mapping[str, str]] = {
    "cells": "({column} * COLUMN + z * W)",
    "ground": "({column} * W)",
    "west faces": "((row * (s.blocks + 1) + block) * COLUMN + z * W)",
    "south faces": "((row * s.blocks + block) * COLUMN + z * W)",
    "matrix": "((row * s.blocks + block) * NZ * COLUMN + (z * NZ + from) * W)",
}
"""Offset of the values of a block in a field."""


@dataclass(frozen=True)
class RateCode:
    """Formula of a rate as code: values shared by all species, values by species, statements, and its result."""

    shared: tuple[str, ...]
    of_species: tuple[str, ...]
    statements: tuple[str, ...]
    result: str

    @property
    def lines(self) -> tuple[str, ...]:
        """Return all lines, for an operator without species."""
        return self.shared + self.statements


@dataclass(frozen=True)
class OperatorCode:
    """An operator in code.

    rates  one rate, or two for face exchange
    term   index of its term among the budget terms of operators
    slots  for each species its index in the operator, -1 if the operator does not act on it
    """

    operator: Operator
    rates: tuple[RateCode, ...]
    term: int | None
    slots: tuple[int, ...]

    @property
    def name(self) -> str:
        """Its name."""
        return self.operator.name

    @property
    def species(self) -> tuple[int, ...]:
        """The species on which it acts."""
        return self.operator.species

    @property
    def rate(self) -> RateCode:
        """Its only rate."""
        return self.rates[0]

    @property
    def storage(self) -> str:
        """The member of `Worker` with its rates."""
        count, kind = len(self.species), "LinkedLevels" if self.operator.kind == "settling" else "Levels"
        if self.operator.ground:
            return f" value rate_{self.name}[{count}];"
        return f" {kind}<value, {count} * NZ> rate_{self.name};"

    @property
    def levels(self) -> str:
        """The number of levels in which it has a rate."""
        return "1" if self.operator.ground else "NZ"


@dataclass(frozen=True)
class OperatorsCode:
    """All operators of a kernel in code.

    terms    names of their budget terms
    members  their fields and numbers, in the order of the structure;  species  number of species of the kernel
    """

    all: tuple[OperatorCode, ...]
    terms: tuple[str, ...]
    members: tuple[Member, ...]
    species: int

    def of(self, *kinds: str, ground: bool | None = None) -> list[OperatorCode]:
        """Return the operators of some kinds; with `ground` only those at the ground, or only the others."""
        return [
            each for each in self.all
            if each.operator.kind in kinds and (ground is None or each.operator.ground is ground)
        ]  # fmt: skip

    @cached_property
    def source_terms(self) -> list[tuple[int, int]]:
        """The budget terms and species of sources."""
        return sorted({(each.term or 0, species) for each in self.of("source") for species in each.species})

    def places_of_sources(self, each: OperatorCode) -> list[int]:
        """Return the indices in `source_terms` of the species of a source."""
        return [self.source_terms.index((each.term or 0, species)) for species in each.species]

    @cached_property
    def loss_terms(self) -> list[int]:
        """The budget terms of losses."""
        return sorted({each.term or 0 for each in self.of("loss", "settling")})

    @property
    def species_groups(self) -> list[list[int]]:
        """The species, grouped by equal loss operators."""
        found: dict[tuple[bool, ...], list[int]] = {}
        for number in range(self.species):
            found.setdefault(tuple(each.slots[number] >= 0 for each in self.of("loss", "settling")), []).append(number)
        return list(found.values())

    def of_term(self, term: int) -> list[OperatorCode]:
        """Return the loss operators with a budget term."""
        return [each for each in self.of("loss", "settling") if each.term == term]


def operators_code(operators: Sequence[Operator], species: int, terms: tuple[str, ...]) -> OperatorsCode:
    """Return the code of operators in a kernel with a number of species and with budget terms."""
    made = []
    for each in operators:
        places = {number: slot for slot, number in enumerate(each.species)}
        made.append(
            OperatorCode(
                each, tuple(_rate(each, rate) for rate in each.rate),
                None if each.term is None else terms.index(each.term),
                tuple(places.get(number, -1) for number in range(species)),
            )
        )  # fmt: skip
    return OperatorsCode(tuple(made), terms, members(operators), species)


def place_of(member: Member, field: OperatorField) -> str:
    """Return the offset of the values of a block in a field, in the code of a rate."""
    column = f"(column * {member.species} + slot)" if member.species else "column"
    return _PLACES[field.shape].format(column=column)


def _rate(operator: Operator, rate: Expression) -> RateCode:
    names = set(symbols(rate))
    shared: list[str] = []
    of_species: list[str] = []
    for name in sorted(names & set(AIR)):
        shared.append(f"const dpack v_{name} = {_AIR[name]};")
    weight = "flux_w" if operator.kind in ("face_exchange", "column_matrix") else "w"
    for field in operator.fields:
        if field.name in names:
            member = member_of_field(operator, field)
            ends = f"s.{member.name}.start, s.{member.name}.end"
            line = f"const dvalue v_{field.name} = to_double(between({ends}, {weight}, {place_of(member, field)}));"
            (of_species if member.species else shared).append(line)
    for name in operator.numbers:
        if name in names:
            member = member_of_number(operator, name)
            line = f"const dvalue v_{name} = dsplat(s.{member.name}[{'slot' if member.species else '0'}]);"
            (of_species if member.species else shared).append(line)
    statements, (result,) = cpp.code([rate], lambda name: f"v_{name}", RATES)
    return RateCode(tuple(shared), tuple(of_species), tuple(statements), result)


_SEED: Final = "adjoint_0"

_GIVEN: Final[Mapping[Kind, str]] = {
    "loss": "r.of_{name}[slot * {levels} + z]",
    "settling": "r.of_{name}[slot * NZ + z] / f.air[z]",
    "source": "t.g * r.r[SPECIES_{name}[slot] * NZ + z]",
    "exchange": "r.of_exchange[z]",
    "face_exchange": "of_faces[z]",
    "column_matrix": "given_here",
}
"""The adjoint of a rate in the reversed step."""


def operator_adjoints(operators: OperatorsCode) -> list[tuple[OperatorCode, str, list[list[str]]]]:
    """Return the adjoints of all operators with rates: the operator, the adjoint of a rate, and lines for each rate."""
    return [
        (
            each, _GIVEN[each.operator.kind].format(name=each.name, levels=each.levels),
            [_adjoint(each, number) for number in range(len(each.rates))],
        )
        for each in operators.all
        if each.operator.kind in _GIVEN
    ]  # fmt: skip


def adjoint_members(members: Sequence[Member]) -> list[str]:
    """Return the members of the C structure for adjoints of fields and numbers."""
    return [
        f"double* adjoint_{each.name};" if each.shape is None else f"real* adjoint_{each.name}[2];" for each in members
    ]


def _adjoint(each: OperatorCode, number: int) -> list[str]:
    """Return the reads of a rate and the statements of its adjoint; none for a rate without inputs."""
    operator, rate = each.operator, each.operator.rate[number]
    code: RateCode = each.rates[number]
    names = set(symbols(rate))
    fields = [field for field in operator.fields if field.name in names]
    numbers = [name for name in operator.numbers if name in names]
    inputs = [*(field.name for field in fields), *numbers]
    if not inputs:
        return []
    made = adjoint(TracedFunction(tuple(sorted(names)), (rate,)), inputs)
    statements, results = cpp.code(
        made.outputs, lambda name: "given" if name == _SEED else f"v_{name}", replace(RATES, name="an adjoint")
    )
    weight = "flux_w" if operator.kind in ("face_exchange", "column_matrix") else "w"
    giving = []
    for field, result in zip(fields, results, strict=False):
        member = member_of_field(operator, field)
        giving.append(f"add_to_ends(a.adjoint_{member.name}, {place_of(member, field)}, {weight}, to_real({result}));")
    for name, result in zip(numbers, results[len(fields) :], strict=True):
        member = member_of_number(operator, name)
        at = f"block_number * {max(member.species, 1)} + {'slot' if member.species else '0'}"
        giving.append(f"a.adjoint_{member.name}[{at}] += sum(to_real({result}) * mask);")
    return [*code.shared, *code.of_species, *statements, *giving]
