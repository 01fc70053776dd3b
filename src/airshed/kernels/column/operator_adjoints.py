"""Adjoints of what operators read, as code: of each rate by its fields and numbers, from the formula of the rate.

With the adjoint of a rate at hand, `given`, each field receives `given` times the derivative of the rate by it, at both
ends of its interval; each number the sum of that over cells.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from airshed.formula import cpp
from airshed.formula.derivative import adjoint
from airshed.formula.trace import Traced
from airshed.formula.tree import symbols
from airshed.kernels.column.operator_code import DIALECT, OperatorCode, OperatorsCode, RateCode, place_of
from airshed.kernels.operators import Kind, Member, member_of_field, member_of_number

_SEED: Final = "adjoint_0"

_GIVEN: Final[Mapping[Kind, str]] = {
    "loss": "r.of_{name}[slot * {levels} + z]",
    "sinking": "r.of_{name}[slot * NZ + z] / f.air[z]",
    "source": "t.g * r.r[SPECIES_{name}[slot] * NZ + z]",
    "exchange": "r.of_exchange[z]",
    "face_exchange": "of_faces[z]",
    "column_matrix": "given_here",
}
"""The adjoint of a rate as the reverse of a step has it."""


@dataclass(frozen=True)
class RateAdjoint:
    """The adjoint of one rate of an operator: values that it reads, statements, and what they give to."""

    values: tuple[str, ...]
    statements: tuple[str, ...]


@dataclass(frozen=True)
class OperatorAdjoint:
    """The adjoints of an operator's rates; given: the adjoint of a rate itself."""

    code: OperatorCode
    given: str
    rates: tuple[RateAdjoint, ...]


def operator_adjoints(operators: OperatorsCode) -> list[OperatorAdjoint]:
    """Return the adjoints of all operators that have rates."""
    return [
        OperatorAdjoint(
            each,
            _GIVEN[each.operator.kind].format(name=each.name, levels=each.levels),
            tuple(_adjoint(each, number) for number in range(len(each.rates))),
        )
        for each in operators.all
        if each.operator.kind in _GIVEN
    ]


def adjoint_members(members: Sequence[Member]) -> list[str]:
    """Return where adjoints of fields and numbers are added up, as members of the C structure."""
    return [
        f"double* adjoint_{each.name};" if each.shape is None else f"real* adjoint_{each.name}[2];" for each in members
    ]


def _adjoint(each: OperatorCode, number: int) -> RateAdjoint:
    operator, rate = each.operator, each.operator.rate[number]
    code: RateCode = each.rates[number]
    names = set(symbols(rate))
    fields = [field for field in operator.fields if field.name in names]
    numbers = [name for name in operator.numbers if name in names]
    wanted = [*(field.name for field in fields), *numbers]
    if not wanted:
        return RateAdjoint((), ())
    made = adjoint(Traced(tuple(sorted(names)), (rate,)), wanted)
    statements, results = cpp.code(
        made.outputs, lambda name: "given" if name == _SEED else f"v_{name}", replace(DIALECT, name="an adjoint")
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
    return RateAdjoint((*code.shared, *code.of_species), (*statements, *giving))
