"""Generation of the adjoint and the tangent of dy/dt and of its Jacobian as C++, from the reaction network.

The rate of a reaction is a product, v = k y_1 y_2 .., and so are its derivatives. Let w be k times the sum over species
i of net(i) bar_i. Here bar is the adjoint of dy/dt, or of the product of the Jacobian with a vector z. The adjoint adds

    of dy/dt:   bar_y_j += w d(y_1 y_2 ..)/dy_j,                            bar_k k += w y_1 y_2 ..
    of J z:     bar_y_l += w sum_j z_j d2(y_1 y_2 ..)/dy_j dy_l,            bar_k k += w sum_j z_j d(y_1 y_2 ..)/dy_j

With changes dk of k and dy of y, the tangent adds to the change of species i

    of dy/dt:   net(i) (k sum_j d(y_1 y_2 ..)/dy_j dy_j + dk y_1 y_2 ..)
    of J z:     net(i) (k sum_j sum_l z_j d2(y_1 y_2 ..)/dy_j dy_l dy_l + dk sum_j z_j d(y_1 y_2 ..)/dy_j)
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from airshed.formula.factoring import product, total
from airshed.formula.tree import Binary, Expression, Number
from airshed.kernels import abi
from airshed.kernels.cells.emit import (
    ChemistrySource,
    balanced,
    element,
    signed_sum,
)
from airshed.kernels.cells.sparsity import Elimination
from airshed.kernels.cells.statements import Statements, in_chunks
from airshed.kernels.cpp import Coefficients, GeneratedText, described, header, inline, render
from airshed.mechanism.network import ReactionNetwork

Products = dict[int, list[Expression]]

_WRITTEN: Final = ("x", "bar_y", "bar_k")
"""Output arguments of generated functions."""


def _function(name: str, arguments: tuple[str, ...], statements: Statements) -> dict[str, Any]:
    """Return a generated function: its name, its arguments with and without types, and its statements in pieces."""
    kinds = ["pack*" if each in _WRITTEN else "const pack*" for each in arguments]
    declared = ", ".join(f"{kind} __restrict {each}" for kind, each in zip(kinds, arguments, strict=True))
    return {"name": name, "arguments": arguments, "declared": declared, "chunks": in_chunks(statements)}


def emit_reverse(network: ReactionNetwork, forward: ChemistrySource) -> ChemistrySource:
    """Return the translation unit of reversed steps: the code of the solver, followed by its adjoint."""
    writer, unrolled = ReverseWriter(network, forward.elimination), forward.unrolled
    functions = [
        _function("tendency_reversed", ("k", "y", "bar_f", "bar_y", "bar_k"), writer.tendency()),
        _function("product_reversed", ("k", "y", "z", "bar_f", "bar_y", "bar_k"), writer.product()),
        _function("forward_transposed", ("a", "x"), writer.forward() if unrolled else []),
        _function("backward_transposed", ("a", "x"), writer.backward() if unrolled else []),
    ]
    text = render(
        "cells/adjoint.cpp.jinja", functions=functions, unrolled=unrolled,
        coefficients=writer.coefficients, body=header("cells/adjoint.hpp"),
        structures=GeneratedText(abi.declarations(abi.CELLS_ADJOINT)),
    )  # fmt: skip
    return replace(forward, text=f"{forward.text}\n{text}")


class _Writer:
    """The statements of a derivative, reaction by reaction."""

    def __init__(self, network: ReactionNetwork, elimination: Elimination) -> None:
        self.network, self.elimination = network, elimination
        self.coefficients = Coefficients()

    def tendency(self) -> Statements:
        """The derivative of dy/dt, for reactions with a net effect."""
        return [
            self._block(number, self.of_tendency(number))
            for number, net in enumerate(self.network.net_stoichiometry) if net
        ]  # fmt: skip

    def product(self) -> Statements:
        """The derivative of the product of the Jacobian with z; the tangent of z is zero."""
        both = zip(self.network.net_stoichiometry, self.network.reactant_indices, strict=True)
        return [
            self._block(number, self.of_product(number))
            for number, (net, reactants) in enumerate(both) if net and reactants
        ]  # fmt: skip

    def of_tendency(self, number: int) -> Any:
        """Return the contribution of the rate of a reaction."""
        raise NotImplementedError

    def of_product(self, number: int) -> Any:
        """Return the contribution of the derivative of a rate along z."""
        raise NotImplementedError

    def _block(self, number: int, given: Any) -> str:
        raise NotImplementedError

    def _reactants(self, number: int) -> tuple[int, ...]:
        """Return the indices of the reactants of a reaction in the order of elimination."""
        return tuple(self.elimination.place[species] for species in self.network.reactant_indices[number])

    def _text(self, expression: Expression) -> str:
        return inline(expression, self.coefficients)


class ReverseWriter(_Writer):
    """The statements of the adjoint that follow from the stoichiometry and from the order of elimination."""

    def of_tendency(self, number: int) -> Iterator[str]:
        """Yield the contributions of a reaction rate to the adjoints of its reactants and of its rate constant."""
        reactants = self._reactants(number)
        given = {species: [times(count, others)] for species, count, others in slopes(reactants)}
        yield from self._giving(number, given, [times(1, reactants)])

    def of_product(self, number: int) -> Iterator[str]:
        """Yield the contributions of the derivative of a rate along z to the same adjoints."""
        given: Products = {}
        along: list[Expression] = []
        for species, count, others in slopes(self._reactants(number)):
            z = element("z", species)
            along.append(times(count, others, z))
            for other, again, rest in slopes(others):
                given.setdefault(other, []).append(times(count * again, rest, z))
        yield from self._giving(number, given, along)

    def forward(self) -> Statements:
        """U' x = -right-hand side, in place."""
        statements = []
        for row in range(len(self.elimination.columns)):
            above = [self._solved(other, row) for other in range(row) if (other, row) in self.elimination.entry]
            whole = Binary("+", element("x", row), balanced(above)) if above else element("x", row)
            inverse = element("a", self.elimination.entry[row, row])
            statements.append(f"x[{row}] = {self._text(Binary('*', whole, inverse))};")
        return statements

    def backward(self) -> Statements:
        """L' x = rest: this solves (shift - Jacobian)' x = right-hand side."""
        statements, places = [], len(self.elimination.columns)
        for row in reversed(range(places)):
            below = [
                self._solved(other, row) for other in range(row + 1, places) if (other, row) in self.elimination.entry
            ]
            if below:
                statements.append(f"x[{row}] += {self._text(balanced(below))};")
        return statements

    def _solved(self, row: int, column: int) -> Expression:
        return Binary("*", element("a", self.elimination.entry[row, column]), element("x", row))

    def _block(self, number: int, given: Iterator[str]) -> str:
        giving, net = list(given), self.network.net_stoichiometry[number]
        bars = [(coefficient, element("bar_f", self.elimination.place[species])) for species, coefficient in net]
        weight = Binary("*", element("k", number), signed_sum(bars))
        lines = " ".join([f"const pack w = {self._text(weight)};", *giving])
        return f"{{ {lines} }}   // {described(self.network.reactions[number])}"

    def _giving(self, number: int, given: Products, worth: Sequence[Expression]) -> Iterator[str]:
        for species, products in given.items():
            yield f"bar_y[{species}] += w * ({self._text(total(products))});"
        yield f"bar_k[{number}] += w * ({self._text(total(worth))});"


def slopes(factors: Sequence[int]) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Yield the multiplicity of each species in a product, and the product without one of its factors."""
    for species in dict.fromkeys(factors):
        others = list(factors)
        others.remove(species)
        yield species, factors.count(species), tuple(others)


def times(count: int, factors: Sequence[int], *more: Expression) -> Expression:
    """Return the product of a number, y_1 y_2 .. and further factors; 1 without any factor."""
    front = [Number(count)] if count > 1 or not (factors or more) else []
    return product([*front, *(element("y", species) for species in factors), *more])


def emit_tangent(network: ReactionNetwork, forward: ChemistrySource) -> ChemistrySource:
    """Return the translation unit of tangent steps: the code of the solver, followed by its tangent."""
    writer = TangentWriter(network, forward.elimination)
    functions = [
        _function("tendency_along", ("k", "y", "dk", "dy", "x"), writer.tendency()),
        _function("product_along", ("k", "y", "z", "dk", "dy", "x"), writer.product()),
    ]
    text = render(
        "cells/tangent.cpp.jinja", functions=functions, coefficients=writer.coefficients,
        body=header("cells/tangent.hpp"), structures=GeneratedText(abi.declarations(abi.CELLS_TANGENT)),
    )  # fmt: skip
    return replace(forward, text=f"{forward.text}\n{text}")


class TangentWriter(_Writer):
    """The statements of the tangent that follow from the stoichiometry and from the order of elimination."""

    def of_tendency(self, number: int) -> tuple[list[Expression], list[Expression]]:
        """Return the factors of a rate constant, and the factors of its tangent."""
        reactants = self._reactants(number)
        by_species = [times(count, others, element("dy", species)) for species, count, others in slopes(reactants)]
        return by_species, [times(1, reactants)]

    def of_product(self, number: int) -> tuple[list[Expression], list[Expression]]:
        """Return the same for the derivative of a rate along z."""
        by_species, along = [], []
        for species, count, others in slopes(self._reactants(number)):
            z = element("z", species)
            along.append(times(count, others, z))
            for other, again, rest in slopes(others):
                by_species.append(times(count * again, rest, z, element("dy", other)))
        return by_species, along

    def _block(self, number: int, given: tuple[list[Expression], list[Expression]]) -> str:
        by_species, by_rate = given
        speed: Expression = Binary("*", element("dk", number), total(by_rate))
        if by_species:
            speed = Binary("+", Binary("*", element("k", number), balanced(by_species)), speed)
        lines = [f"const pack w = {self._text(speed)};"]
        for species, coefficient in self.network.net_stoichiometry[number]:
            scale = self._text(Number(coefficient))
            lines.append(f"x[{self.elimination.place[species]}] += {scale} * w;")
        return f"{{ {' '.join(lines)} }}   // {described(self.network.reactions[number])}"
