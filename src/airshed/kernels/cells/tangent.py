"""Writes the tangent of a mechanism's dy/dt and of its Jacobian as C++, from the same network.

The rate of a reaction is v = k y_1 y_2 .., a product; so are its derivatives. With changes dk of k and dy of y,

    of dy/dt:   net(i) (k sum_j d(y_1 y_2 ..)/dy_j dy_j + dk y_1 y_2 ..)
    of J z:     net(i) (k sum_j sum_l z_j d2(y_1 y_2 ..)/dy_j dy_l dy_l + dk sum_j z_j d(y_1 y_2 ..)/dy_j)

is added to the change of species i.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from airshed.formula.factoring import total
from airshed.formula.tree import Binary, Expression, Number
from airshed.kernels import abi
from airshed.kernels.cells.adjoint import Function, slopes, times
from airshed.kernels.cells.emit import ChemistrySource, Statements, balanced, code, element, in_chunks
from airshed.kernels.cpp import Coefficients, Written, described, header, render
from airshed.mechanism.network import ReactionNetwork

_ARGUMENTS: Final = {
    "tendency_along": ("k", "y", "dk", "dy", "x"),
    "product_along": ("k", "y", "z", "dk", "dy", "x"),
}
"""The generated functions and what they are given, of which they add to what comes last."""


def emit_tangent(network: ReactionNetwork, forward: ChemistrySource) -> ChemistrySource:
    """Return the translation unit of steps with changes: the code of the solver, and its tangent after it."""
    writer = TangentWriter(network, forward)
    statements = {"tendency_along": writer.tendency(), "product_along": writer.product()}
    functions = [Function(name, _ARGUMENTS[name], in_chunks(each)) for name, each in statements.items()]
    text = render(
        "cells/tangent.cpp.jinja", functions=functions, coefficients=writer.coefficients,
        body=header("cells/tangent.hpp"), structures=Written(abi.declarations(abi.CELLS_TANGENT)),
    )  # fmt: skip
    return ChemistrySource(f"{forward.text}\n{text}", forward.elimination, forward.operations, forward.unrolled)


class TangentWriter:
    """The statements of the tangent that follow from the stoichiometry and from the order of elimination."""

    def __init__(self, network: ReactionNetwork, forward: ChemistrySource) -> None:
        self.network, self._place = network, forward.elimination.place
        self.coefficients = Coefficients()

    def tendency(self) -> Statements:
        """The tangent of dy/dt, reaction by reaction."""
        return [self._block(number, *self.of_tendency(number)) for number in self._active()]

    def product(self) -> Statements:
        """The tangent of the Jacobian times a z that has no change, reaction by reaction."""
        active = (number for number in self._active() if self.network.reactant_indices[number])
        return [self._block(number, *self.of_product(number)) for number in active]

    def of_tendency(self, number: int) -> tuple[list[Expression], list[Expression]]:
        """Return what multiplies a reaction's rate constant, and what multiplies the change of that."""
        reactants = self._reactants(number)
        by_species = [times(count, others, element("dy", species)) for species, count, others in slopes(reactants)]
        return by_species, [times(1, reactants)]

    def of_product(self, number: int) -> tuple[list[Expression], list[Expression]]:
        """Return the same for the slopes of a reaction's rate along z."""
        by_species, along = [], []
        for species, count, others in slopes(self._reactants(number)):
            z = element("z", species)
            along.append(times(count, others, z))
            for other, again, rest in slopes(others):
                by_species.append(times(count * again, rest, z, element("dy", other)))
        return by_species, along

    def _active(self) -> Iterator[int]:
        """Yield the reactions that change something."""
        return (number for number, net in enumerate(self.network.net_stoichiometry) if net)

    def _reactants(self, number: int) -> tuple[int, ...]:
        return tuple(self._place[species] for species in self.network.reactant_indices[number])

    def _block(self, number: int, by_species: Sequence[Expression], by_rate: Sequence[Expression]) -> str:
        speed: Expression = Binary("*", element("dk", number), total(by_rate))
        if by_species:
            speed = Binary("+", Binary("*", element("k", number), balanced(by_species)), speed)
        lines = [f"const pack w = {code(speed, self.coefficients)};"]
        for species, coefficient in self.network.net_stoichiometry[number]:
            scale = code(Number(coefficient), self.coefficients)
            lines.append(f"x[{self._place[species]}] += {scale} * w;")
        return f"{{ {' '.join(lines)} }}   // {described(self.network.reactions[number])}"
