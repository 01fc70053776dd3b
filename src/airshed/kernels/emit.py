"""Writes a mechanism as C++: rate functions, photolysis functions and one sweep over its species.

The text is meant to be read: each species' production and loss stand under the reactions that they come from.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jinja2 import Environment, StrictUndefined

from airshed.kernels.expression_code import ExpressionCode
from airshed.kernels.rates import REFERENCE_DENSITY, RateTable, rate_table
from airshed.kernels.schedule import Schedule
from airshed.kernels.terms import Symbol, products, symbols_of, write
from airshed.mechanism.balance import imbalances
from airshed.mechanism.network import ReactionNetwork, Term

_FOLDER: Final = Path(__file__).parent / "cpu"
_HEADERS: Final = ("pack.hpp", "layout.hpp", "transport.hpp")
_TAIL: Final = ("step.hpp",)


@dataclass(frozen=True)
class Shape:
    """What the code is compiled for: vertical levels, columns in a pack, precision, elements whose atoms are counted."""

    levels: int
    width: int
    precision: str
    families: tuple[str, ...] = ()

    @property
    def real(self) -> str:
        """The C++ type of the state."""
        return {"double": "double", "single": "float"}[self.precision]


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


def emit(network: ReactionNetwork, schedule: Schedule, shape: Shape) -> Source:
    """Return the complete translation unit of a mechanism: fixed headers and generated functions."""
    table = rate_table(network)
    groups, operations = [], 0
    for group in schedule.groups:
        sums = {s: (products(network.production_terms[s], table), products(network.loss_terms[s], table)) for s in group}
        members = []
        for species in group:
            production, loss = (write(terms, variable) for terms in sums[species])
            operations += production.operations + loss.operations
            comments = _comments(network, species)
            lifetime = schedule.lifetimes[species]
            name = network.names[species]
            members.append(SpeciesCode(species, name, lifetime, comments, production.text, loss.text))
        loads = [(variable(symbol), _load(symbol)) for symbol in symbols_of(pair for both in sums.values() for pair in both)]
        groups.append({"members": members, "loads": loads})
    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)
    template = environment.from_string((_FOLDER / "mechanism.cpp.jinja").read_text())
    text = template.render(
        network=network, shape=shape, table=table, groups=groups, reference_density=REFERENCE_DENSITY,
        imbalances=[_imbalance(network, table, *family) for family in enumerate(shape.families)],
        rate_code=ExpressionCode(table.functions), head=_read(_HEADERS), column=_read(("column.hpp",)), tail=_read(_TAIL),
    )  # fmt: skip
    return Source(text, table, operations)


def _imbalance(network: ReactionNetwork, table: RateTable, number: int, element: str) -> dict[str, object]:
    """The atoms of an element that reactions make or lose by the mechanism's own definition, as code."""
    terms = [Term(each.change, each.reaction, network.reactant_indices[each.reaction]) for each in imbalances(network, element)]
    sums = products(terms, table)
    loads = [(variable(symbol), _load(symbol)) for symbol in symbols_of([sums])]
    return {"number": number, "element": element, "loads": loads, "text": write(sums, variable).text}


def _read(names: tuple[str, ...]) -> str:
    return "\n".join((_FOLDER / name).read_text() for name in names)


def variable(symbol: Symbol) -> str:
    """Return the variable of a symbol in the generated code."""
    kind, number = symbol
    return "n" if kind == "n" else f"{kind}{number}"


def _load(symbol: Symbol) -> str:
    kind, number = symbol
    return {
        "n": "t.density[z]", "k": f"t.rate[{number} * NZ + z]", "j": f"t.light[{number}]", "y": f"y[{number} * NZ + z]",
    }[kind]  # fmt: skip


def _comments(network: ReactionNetwork, species: int) -> tuple[str, ...]:
    lines = []
    for sign, terms in (("+", network.production_terms[species]), ("-", network.loss_terms[species])):
        for term in terms:
            reaction = network.reactions[term.reaction]
            lines.append(f"{sign} {term.coefficient:g} <{reaction.label}> {reaction.text}".replace("\\", "/"))
    return tuple(lines)
