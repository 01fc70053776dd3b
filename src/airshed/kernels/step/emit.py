"""Writes a mechanism as C++: rate functions, photolysis functions and one sweep over its species.

The text is meant to be read: production and loss of a species follow a comment with their reactions.
"""

from dataclasses import dataclass, replace
from typing import Final

from airshed.formula import cpp
from airshed.formula.dialect import PACKS
from airshed.formula.factoring import factored
from airshed.formula.tree import Expression, Symbol, operations
from airshed.kernels import abi
from airshed.kernels.column.operator_code import operators_code
from airshed.kernels.cpp import Coefficients, Written, described, header, render
from airshed.kernels.layout import MechanismShape
from airshed.kernels.operators import Member
from airshed.kernels.rates import BOLTZMANN_CM, REFERENCE_DENSITY, Factor, RateTable, rate_code, rate_table
from airshed.kernels.schedule import Schedule
from airshed.mechanism.network import ReactionNetwork, Term
from airshed.mechanism.structure import imbalances

_PLACES: Final = {"n": "n[z]", "k": "k[{} * NZ + z]", "j": "j[{}]", "y": "y[{} * NZ + z]", "z": "f[{}]"}


@dataclass(frozen=True)
class SpeciesCode:
    """Production and loss of one species as text."""

    number: int
    name: str
    lifetime: float
    comments: tuple[str, ...]
    production: str
    loss: str


@dataclass(frozen=True)
class Source:
    """Generated text and its cost: operations for P and L of all species in one cell."""

    text: str
    table: RateTable
    operations: int


def emit(network: ReactionNetwork, schedule: Schedule, shape: MechanismShape, *, tangent: bool = False) -> Source:
    """Return the complete translation unit of a mechanism: fixed headers and generated functions.

    tangent  whether values carry their changes along, and each reaction has a factor that may change
    """
    table, coefficients = rate_table(network), Coefficients()
    groups, count = _groups(network, schedule, table, coefficients, of_reactions=tangent)
    statements, results = rate_code(table.functions, [each.name for each in network.parameters])
    unbalanced = [_imbalance(network, table, coefficients, *family) for family in enumerate(shape.families)]
    code = operators_code(shape.operators, len(network.species), shape.own_terms)
    if tangent:
        code = replace(code, members=(*code.members, factors_of(network)))
    text = render(
        "step/step.cpp.jinja",
        network=network,
        shape=shape,
        table=table,
        groups=groups,
        together=max(map(len, schedule.groups), default=1),
        reference_density=REFERENCE_DENSITY,
        boltzmann=BOLTZMANN_CM,
        coefficients=coefficients,
        imbalances=unbalanced,
        operators=code,
        operators_text=Written(render("column/operators.cpp.jinja", operators=code, tangent=tangent)),
        rate_code={"statements": statements, "results": results},
        tangent=tangent,
        pack=header("step/pack.hpp", "step/tangent.hpp" if tangent else "step/value.hpp"),
        structures=Written(abi.declarations(abi.STEP, Step=[each.declaration for each in code.members])),
        transport=header("transport/transport.hpp"),
        column=header("column/column.hpp"),
        tail=header(
            "step/step.hpp", "backends/cpu/work_sharing.hpp", *([] if tangent else ["backends/cpu/control.hpp"])
        ),
    )
    return Source(text, table, count)


def _groups(
    network: ReactionNetwork, schedule: Schedule, table: RateTable, coefficients: Coefficients, *, of_reactions: bool
) -> tuple[list[list[SpeciesCode]], int]:
    """Return the code of the species of each group, and their operations in one cell."""
    groups, count = [], 0
    for group in schedule.groups:
        members = []
        for species in group:
            sums = [
                factored(table.products(terms[species], of_reactions=of_reactions), operand)
                for terms in (network.production_terms, network.loss_terms)
            ]
            count += sum(map(operations, sums))
            production, loss = (sum_code(each, coefficients) for each in sums)
            comments = _comments(network, species)
            lifetime = schedule.lifetimes[species]
            members.append(SpeciesCode(species, network.names[species], lifetime, comments, production, loss))
        groups.append(members)
    return groups, count


def _imbalance(
    network: ReactionNetwork, table: RateTable, coefficients: Coefficients, number: int, element: str
) -> dict[str, object]:
    """The atoms of an element that reactions make or lose by the mechanism's own definition, as code."""
    terms = [
        Term(each.change, each.reaction, network.reactant_indices[each.reaction])
        for each in imbalances(network, element)
    ]
    text = sum_code(factored(table.products(terms), operand), coefficients) if terms else None
    return {"number": number, "element": element, "text": text}


def factors_of(network: ReactionNetwork) -> Member:
    """Return the factors on the rates of reactions as a step finds them: a number that no operator can have."""
    count = len(network.reactions)
    return Member("factors", "factors of reactions", None, count, (1.0,) * count)


def operand(factor: Factor) -> Symbol:
    """Return a factor in the generated code: a place in memory, which the compiler may keep in a register."""
    kind, number = factor
    return Symbol(_PLACES[kind].format(number))


def sum_code(sum_of_products: Expression, coefficients: Coefficients) -> str:
    """Return a sum as C++, its numbers from a table."""
    return cpp.inline(sum_of_products, str, replace(PACKS, number=coefficients))


def _comments(network: ReactionNetwork, species: int) -> tuple[str, ...]:
    signed = (("+", network.production_terms[species]), ("-", network.loss_terms[species]))
    return tuple(
        f"{sign} {term.coefficient:g} {described(network.reactions[term.reaction])}"
        for sign, terms in signed
        for term in terms
    )
