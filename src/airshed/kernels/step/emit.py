"""Generation of a mechanism as C++: rate functions, photolysis functions and one sweep over its species.

The code is readable: production and loss of a species follow a comment with their reactions.

The adjoint of the sweeps is generated from the same network and schedule. Production P and loss L of a species are sums
of products, so their derivatives are sums of products, too, and use the same factoring. A species reads another one
after the sweep (``y1``) if that one is solved before it, otherwise after the previous sweep (``y0``).

Let p be the adjoint of P and l that of L. A product  c k y_1 y_2  in P contributes  p c k y_2  to the adjoint of y_1,
p c k y_1  to that of y_2, and  p c k y_1 y_2  to that of a factor on the rate of its reaction. Common factors of
products with the same mixing ratios are computed once (``r0 = p (c k + ...)``).
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from airshed.formula.factoring import Key, factored
from airshed.formula.tree import Expression, Symbol, operations
from airshed.kernels import abi
from airshed.kernels.column.operator_code import adjoint_members, operator_adjoints, operators_code
from airshed.kernels.cpp import Coefficients, GeneratedText, described, header, inline, render
from airshed.kernels.layout import MechanismShape
from airshed.kernels.operators import Member
from airshed.kernels.rates import BOLTZMANN_CM, REFERENCE_DENSITY, RateTable, rate_code, rate_table
from airshed.kernels.schedule import Schedule
from airshed.mechanism.network import ReactionNetwork, Term
from airshed.mechanism.structure import imbalances

_PLACES: Final = {
    "n": "n[z]", "k": "k[{} * NZ + z]", "j": "j[{}]", "y": "y[{} * NZ + z]", "z": "f[{}]", "r": "r{}",
    "y0": "y0[{} * NZ + z]", "y1": "y1[{} * NZ + z]", "bar": "{}",
}  # fmt: skip
"""Factors in code, by kind; r, y0, y1 and bar are factors of the adjoint."""

SpeciesCode = dict[str, Any]
"""One species in code: number, name, production and loss, and further values for its template."""


@dataclass(frozen=True)
class Source:
    """Generated text and its cost: operations for P and L of all species in one cell."""

    text: str
    table: RateTable
    operations: int


@dataclass(frozen=True)
class Headers:
    """Headers of a step for a processor: packs, values and levels before the generated functions, entry points after.

    elimination  header of the tri-diagonal systems
    """

    first: tuple[str, ...]
    last: tuple[str, ...]
    elimination: str = "column/elimination.hpp"
    tangent: bool = False


_SHARED = ("backends/cpu/clock.hpp", "step/step.hpp", "backends/cpu/work_sharing.hpp")

CPU: Final = Headers(("step/pack.hpp", "step/value.hpp", "step/levels.hpp"), (*_SHARED, "backends/cpu/control.hpp"))
"""A step on the CPU."""

TANGENT: Final = Headers(("step/pack.hpp", "step/tangent.hpp", "step/levels.hpp"), _SHARED, tangent=True)
"""A tangent step: values have tangents, and each reaction a variable factor."""


def emit(network: ReactionNetwork, schedule: Schedule, shape: MechanismShape, headers: Headers = CPU) -> Source:
    """Return the complete translation unit of a mechanism: headers and generated functions."""
    tangent = headers.tangent
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
        operators_text=GeneratedText(render("column/operators.cpp.jinja", operators=code, tangent=tangent)),
        rate_code={"statements": statements, "results": results},
        tangent=tangent,
        pack=header(*headers.first),
        structures=GeneratedText(abi.declarations(abi.STEP, Step=[each.declaration for each in code.members])),
        transport=header("transport/transport.hpp"),
        column=header("column/column.hpp", headers.elimination),
        tail=header(*headers.last),
    )
    return Source(text, table, count)


def _groups(
    network: ReactionNetwork, schedule: Schedule, table: RateTable, coefficients: Coefficients, *, of_reactions: bool
) -> tuple[list[list[SpeciesCode]], int]:
    """Return the code of the species of each group, and the number of operations in one cell."""
    groups, count = [], 0
    for group in schedule.groups:
        members = []
        for species in group:
            sums = [
                factored(table.products(terms[species], of_reactions=of_reactions), operand)
                for terms in (network.production_terms, network.loss_terms)
            ]
            count += sum(map(operations, sums))
            production, loss = (inline(each, coefficients) for each in sums)
            signed = (("+", network.production_terms[species]), ("-", network.loss_terms[species]))
            comments = [
                f"{sign} {term.coefficient:g} {described(network.reactions[term.reaction])}"
                for sign, terms in signed for term in terms
            ]  # fmt: skip
            members.append({
                "number": species, "name": network.names[species], "lifetime": schedule.lifetimes[species],
                "comments": comments, "production": production, "loss": loss,
            })  # fmt: skip
        groups.append(members)
    return groups, count


def _imbalance(
    network: ReactionNetwork, table: RateTable, coefficients: Coefficients, number: int, element: str
) -> dict[str, object]:
    """Return the code of the atoms of an element that unbalanced reactions produce or consume."""
    terms = [
        Term(each.change, each.reaction, network.reactant_indices[each.reaction])
        for each in imbalances(network, element)
    ]
    text = inline(factored(table.products(terms), operand), coefficients) if terms else None
    return {"number": number, "element": element, "text": text}


def factors_of(network: ReactionNetwork) -> Member:
    """Return the factors on the rates of reactions as a member of the step: a name that no operator can have."""
    count = len(network.reactions)
    return Member("factors", "factors of reactions", None, count, (1.0,) * count)


def operand(factor: tuple[str, int | str]) -> Symbol:
    """Return a factor in generated code: a memory reference, which the compiler may keep in a register."""
    kind, number = factor
    return Symbol(_PLACES[kind].format(number))


def emit_reverse(
    network: ReactionNetwork, schedule: Schedule, shape: MechanismShape, forward: Source, *, frozen: bool
) -> Source:
    """Return the translation unit of a reversed step: the forward code, followed by its adjoint.

    frozen  whether limiters of the transport are frozen, rather than differentiated
    """
    writer = AdjointWriter(network, schedule, forward.table)
    groups = [[writer.species(number) for number in group] for group in schedule.groups]
    operators = operators_code(shape.operators, len(network.species), shape.own_terms)
    text = render(
        "step/adjoint.cpp.jinja",
        network=network,
        groups=groups,
        group_of=[str(writer.group_of[number]) for number in range(len(network.species))],
        production_takes=[str(int(writer.production_takes(number))) for number in range(len(network.species))],
        coefficients=writer.coefficients,
        frozen=frozen,
        operators=operators,
        structures=GeneratedText(abi.declarations(abi.STEP_ADJOINT, Reverse=adjoint_members(operators.members))),
        operators_of_sweeps=GeneratedText(render("column/operators_of_sweeps_adjoint.cpp.jinja", operators=operators)),
        operators_text=GeneratedText(
            render("column/operators_adjoint.cpp.jinja", operators=operators, adjoints=operator_adjoints(operators))
        ),
        branches=header("transport/branches.hpp"),
        faces=header("transport/adjoint.hpp"),
        column=header("column/adjoint.hpp"),
        sweeps=header("column/sweeps_adjoint.hpp"),
        rows=header("backends/cpu/rows.hpp"),
        step=header("step/adjoint.hpp"),
    )
    return Source(f"{forward.text}\n{text}", forward.table, writer.operations)


@dataclass(frozen=True)
class _RateProduct:
    """Products of the same mixing ratios: the adjoint factor, the mixing ratios, and rates by reaction."""

    bar: str
    factors: tuple[tuple[str, int], ...]
    rates: dict[int, dict[Key, float]]

    @property
    def rate(self) -> dict[Key, float]:
        """The sum of all rates."""
        total: dict[Key, float] = {}
        for rates in self.rates.values():
            for key, value in rates.items():
                total[key] = total.get(key, 0.0) + value
        return total


class AdjointWriter:
    """Generator of sums of products for the adjoint; it counts their operations in one cell and sweep."""

    def __init__(self, network: ReactionNetwork, schedule: Schedule, table: RateTable) -> None:
        self._network, self._table = network, table
        self.group_of = {number: place for place, group in enumerate(schedule.groups) for number in group}
        self.coefficients = Coefficients()
        self.operations = 0

    def species(self, number: int) -> SpeciesCode:
        """Return the code of one species in reverse: its production and loss, and statements.

        speeds   name common factors of several products
        giving   add to the adjoints of the inputs of production and loss
        summing  add to the adjoints of factors on the rates of reactions
        """
        network, speeds = self._network, self._rate_products(number)
        production, loss = (
            self._sum(self._products(number, terms)) for terms in (network.production_terms, network.loss_terms)
        )
        return {
            "number": number, "name": network.names[number], "production": production, "loss": loss,
            "speeds": list(self._named(speeds)), "giving": list(self._contributions(number, speeds)),
            "summing": list(self._to_reactions(speeds)),
        }  # fmt: skip

    def production_takes(self, number: int) -> bool:
        """Return whether a term of the production is negative, so that the solution may be negative."""
        products = self._table.products(self._network.production_terms[number])
        return any(value < 0.0 for value in products.values())

    def _products(self, number: int, terms: Sequence[Sequence[Term]]) -> dict[Key, float]:
        """Return production or loss of a species as products of the values that it reads."""
        return {
            tuple(sorted(self._seen(number, factor[1]) if factor[0] == "y" else factor for factor in key)): value
            for key, value in self._table.products(terms[number]).items()
        }

    def _seen(self, number: int, other: int) -> tuple[str, int]:
        return "y1" if self.group_of[other] < self.group_of[number] else "y0", other

    def _rate_products(self, number: int) -> list[_RateProduct]:
        """Return the products of production and loss of a species, grouped by mixing ratios."""
        found: dict[tuple[str, tuple[tuple[str, int], ...]], _RateProduct] = {}
        terms = [("p", term) for term in self._network.production_terms[number]]
        terms += [("l", term) for term in self._network.loss_terms[number]]
        for bar, term in terms:
            rate = self._table.rates[term.reaction]
            symbols = [("n", 0)] * rate.air_power
            symbols += [("k", place) for place in rate.functions] + [("j", place) for place in rate.photolyses]
            value = term.coefficient * rate.coefficient
            if ("n", 0) in symbols:  # p n and l n are computed once
                symbols.remove(("n", 0))
                bar += "n"
            factors = tuple(sorted(self._seen(number, factor) for factor in term.factors))
            speed = found.setdefault((bar, factors), _RateProduct(bar, factors, {}))
            rates = speed.rates.setdefault(term.reaction, {})
            rates[tuple(sorted(symbols))] = rates.get(tuple(sorted(symbols)), 0.0) + value
        return list(found.values())

    def _named(self, speeds: Sequence[_RateProduct]) -> Iterator[str]:
        """Yield statements that name each group of products without its mixing ratios."""
        for place, speed in enumerate(speeds):
            yield f"const pack r{place} = {speed.bar} * ({self._sum(speed.rate, of_adjoint=True)});"
            self.operations += 1

    def _contributions(self, number: int, speeds: Sequence[_RateProduct]) -> Iterator[str]:
        """Yield statements that add to the adjoints of the inputs of production and loss."""
        contributions: defaultdict[int, dict[Key, float]] = defaultdict(dict)
        for place, speed in enumerate(speeds):
            for at, (_, other) in enumerate(speed.factors):
                key = (("r", place), *speed.factors[:at], *speed.factors[at + 1 :])
                contributions[other][key] = contributions[other].get(key, 0.0) + 1.0
        for other, products in contributions.items():
            yield f"bar[{other} * NZ + z] += {self._sum(products, of_adjoint=True)};"
            self.operations += 1

    def _to_reactions(self, speeds: Sequence[_RateProduct]) -> Iterator[str]:
        """Yield statements that add to the sensitivities to factors on reaction rates."""
        found: defaultdict[int, dict[Key, float]] = defaultdict(dict)
        for place, speed in enumerate(speeds):
            for reaction, rates in speed.rates.items():
                if len(speed.rates) == 1:
                    found[reaction][("r", place), *speed.factors] = 1.0
                else:
                    bar = ("bar", speed.bar)
                    found[reaction] |= {tuple(sorted([*key, bar, *speed.factors])): rates[key] for key in rates}
        for reaction, products in found.items():
            yield f"reactions[{reaction}] += {self._sum(products)};"

    def _sum(self, products: dict[Key, float], *, of_adjoint: bool = False) -> str:
        formula: Expression = factored(products, operand)
        self.operations += operations(formula) if of_adjoint else 0
        return inline(formula, self.coefficients)
