"""Generation of the chemistry of independent cells as C++: rate constants, dy/dt, its Jacobian, and its factorisation.

Vectors are in the order of elimination, so that factorisation and solution read memory in sequence. The code is
readable: each statement has a comment with its reaction or species.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import inf
from typing import Final

from airshed.formula.factoring import LONGEST_SUM, product, total
from airshed.formula.tree import ZERO, Binary, Expression, Negate, Number, Symbol
from airshed.kernels import abi
from airshed.kernels.cells.positivity import HELD, REFLECTED, overdrawn
from airshed.kernels.cells.sparsity import Elimination, eliminate, pattern_of
from airshed.kernels.cells.statements import Statements, group, in_chunks
from airshed.kernels.cpp import Coefficients, GeneratedText, comment, described, header, inline, render
from airshed.kernels.host import vector_doubles
from airshed.kernels.layout import Shape
from airshed.kernels.rates import rate_code
from airshed.mechanism.network import ReactionNetwork

_RATES: Final = 80  # reactions per generated function of rate constants
_LARGEST_UNROLLED: Final = 12_000  # operations of the largest factorisation in straight-line code


@dataclass(frozen=True)
class ChemistryShape(Shape):
    """Options of the code; inspected: whether tests can call the parts of a step separately."""

    inspected: bool = False

    @property
    def unit(self) -> float:
        """Internal unit of concentration [molecules cm-3]: rate constants of single precision end at 1e-38."""
        return {"double": 1.0, "single": 2.0**30}[self.precision]


@dataclass(frozen=True)
class ChemistrySource:
    """Generated text, the order of its vectors, and its cost.

    operations  of one evaluation in one cell, by name: multiplications, additions, or fused. Products in several
                statements are counted, and mostly computed, once for each.
    unrolled    whether factorisation and solution are straight-line code
    """

    text: str
    elimination: Elimination
    operations: dict[str, int]
    unrolled: bool


@dataclass(frozen=True)
class Target:
    """Options of the code of cells for a processor.

    first, last  headers before and after the generated functions: vectors, and the solver
    doubles      lanes of a vector of doubles
    longest      most characters of a generated function with several statements
    loads        most loads in a group of statements, see :func:`.statements.group`; 0 for no groups
    structures   declarations of the solver, see ``kernels/abi.py``
    """

    first: tuple[str, ...]
    last: tuple[str, ...]
    doubles: int
    longest: float = inf
    loads: int = 0
    structures: str = abi.CELLS


CPU: Final = Target(
    ("step/pack.hpp", "backends/cpu/cell_vectors.hpp"),
    ("backends/cpu/cell_worker.hpp", "cells/rosenbrock.hpp", "backends/cpu/cell_queue.hpp"), vector_doubles(),
)  # fmt: skip
"""Cells on the CPU."""

SignedProduct = tuple[float, Expression]


def emit_chemistry(network: ReactionNetwork, shape: ChemistryShape, target: Target = CPU) -> ChemistrySource:
    """Return the complete translation unit of a mechanism for independent cells."""
    elimination = eliminate(pattern_of(network))
    writer = _Writer(network, elimination)
    unrolled = elimination.operations <= _LARGEST_UNROLLED
    together = partial(group, most=target.loads)
    parts = {
        "tendency": together(writer.tendency()),
        "jacobian": writer.jacobian() if shape.inspected or not unrolled else [],
        "factor": writer.factor() if unrolled else [],
        "forward": together(writer.forward()) if unrolled else [],
        "backward": together(writer.backward()) if unrolled else [],
    }
    text = render(
        "cells/chemistry.cpp.jinja", network=network, shape=shape, doubles=min(shape.width, target.doubles),
        elimination=elimination, coefficients=writer.coefficients,
        unrolled=unrolled, tables=None if unrolled else _tables(elimination),
        chunks={name: in_chunks(statements, target.longest) for name, statements in parts.items()},
        rates=_rates(network, shape.unit, together),
        orders=[len(reactants) for reactants in network.reactant_indices],
        reflected=REFLECTED, held=HELD, overdrawn=overdrawn(network),
        pack=header(*target.first), structures=GeneratedText(abi.declarations(target.structures)),
        body=header(*target.last),
    )  # fmt: skip
    operations = {**writer.operations, "factor": elimination.operations, "solve": elimination.size}
    return ChemistrySource(text, elimination, operations, unrolled)


class _Writer:
    """Statements that follow from the stoichiometry and from the order of elimination."""

    def __init__(self, network: ReactionNetwork, elimination: Elimination) -> None:
        self.network, self.elimination = network, elimination
        self.coefficients = Coefficients()
        self.operations = {"tendency": 0, "jacobian": 0}
        self._place = elimination.place

    def tendency(self) -> Statements:
        """dy_i/dt = sum over r of net(r, i) v_r, with v_r = k_r times the product of the reactants."""
        sums: dict[int, list[SignedProduct]] = defaultdict(list)
        for number, net in enumerate(self.network.net_stoichiometry):
            reactants = self.network.reactant_indices[number]
            speed = self._product(number, reactants)
            for species, coefficient in net:
                sums[species].append((coefficient, speed))
                self.operations["tendency"] += 1 + len(reactants)
        return [
            f"f[{place}] = {self.text(signed_sum(sums[species]))};   // {comment(self.network.names[species])}"
            for place, species in enumerate(self.elimination.order)
        ]

    def text(self, expression: Expression) -> str:
        """Return a formula as C++, with numbers from the table."""
        return inline(expression, self.coefficients)

    def _product(self, number: int, factors: Sequence[int], times: int = 1) -> Expression:
        """Return times k_r y_1 y_2 .., recomputed where it is used: that is as fast as a load."""
        names = [element("k", number), *(element("y", self._place[species]) for species in factors)]
        return product([Number(times), *names] if times > 1 else names)

    def _derivative(self, number: int, species: int) -> tuple[Expression, int]:
        """Return dv_r/dy_j = n_j k_r times the product of the other reactants, and its operations."""
        reactants = self.network.reactant_indices[number]
        others, times = list(reactants), reactants.count(species)
        others.remove(species)
        return self._product(number, others, times), len(others) + (times > 1)

    @cached_property
    def entries(self) -> list[Expression]:
        """The stored entries df_i/dy_j; fill-in is zero."""
        sums: dict[tuple[int, int], list[SignedProduct]] = defaultdict(list)
        for number, net in enumerate(self.network.net_stoichiometry):
            for species, coefficient in net:
                for reactant in dict.fromkeys(self.network.reactant_indices[number]):
                    derivative, operations = self._derivative(number, reactant)
                    sums[self._place[species], self._place[reactant]].append((coefficient, derivative))
                    self.operations["jacobian"] += 1 + operations
        return [signed_sum(sums.get(pair, [])) for pair in self.elimination.entry]

    def jacobian(self) -> Statements:
        """The Jacobian, entry by entry."""
        names = [comment(self.network.names[species]) for species in self.elimination.order]
        return [
            f"a[{index}] = {self.text(self.entries[index])};   // {names[row]}, {names[column]}"
            for (row, column), index in self.elimination.entry.items()
        ]

    def factor(self) -> Statements:
        """Rows of A = Jacobian - shift, factored one after the other as L U with a unit diagonal of L.

        Stored are -L left of the diagonal, -1/u on it and U right of it, so that no sign changes later. A barrier
        after each row keeps compilers from storing copies of all rows on the stack.
        """
        matrix, statements = self.elimination, []
        for row, columns in enumerate(matrix.columns):
            entry = {column: matrix.entry[row, column] for column in columns}
            values = {column: self.text(self._shifted(row, column)) for column in columns}
            lines = [f"{{ pack {', '.join(f'w{column} = {text}' for column, text in values.items())};"]
            for pivot in (column for column in columns if column < row):
                lines.append(f"w{pivot} *= a[{matrix.entry[pivot, pivot]}];")
                lines += [
                    f"w{column} += w{pivot} * a[{matrix.entry[pivot, column]}];"
                    for column in matrix.columns[pivot]
                    if column > pivot
                ]
            lines += [f"a[{index}] = w{column};" for column, index in entry.items() if column != row]
            lines.append(f"a[{entry[row]}] = reciprocal(-w{row}); }} FORGET;")
            statements.append(" ".join(lines))
        return statements

    def _shifted(self, row: int, column: int) -> Expression:
        entry, shift = self.entries[self.elimination.entry[row, column]], element("shift", row)
        if column != row:
            return entry
        return Negate(shift) if entry is ZERO else Binary("-", entry, shift)

    def forward(self) -> Statements:
        """L x = right-hand side, in place."""
        statements = []
        for row, columns in enumerate(self.elimination.columns):
            terms = [self._solved(row, column) for column in columns if column < row]
            if terms:
                statements.append(f"x[{row}] += {self.text(balanced(terms))};")
        return statements

    def backward(self) -> Statements:
        """x = -(rest + U x)/u: this solves (shift - Jacobian) x = right-hand side."""
        statements = []
        for row, columns in reversed(list(enumerate(self.elimination.columns))):
            terms = [self._solved(row, column) for column in columns if column > row]
            whole = Binary("+", element("x", row), balanced(terms)) if terms else element("x", row)
            inverse = element("a", self.elimination.entry[row, row])
            statements.append(f"x[{row}] = {self.text(Binary('*', whole, inverse))};")
        return statements

    def _solved(self, row: int, column: int) -> Expression:
        return Binary("*", element("a", self.elimination.entry[row, column]), element("x", column))


def element(array: str, number: int) -> Symbol:
    """Return an element of an array."""
    return Symbol(f"{array}[{number}]")


def signed_sum(terms: Sequence[SignedProduct]) -> Expression:
    """Return a sum of coefficient times product; a long sum is split, since chained additions wait for each other."""
    if len(terms) > LONGEST_SUM:
        half = len(terms) // 2
        return Binary("+", signed_sum(terms[:half]), signed_sum(terms[half:]))
    whole: Expression = ZERO
    for coefficient, factor in sorted(terms, key=lambda term: term[0] < 0.0):
        size = abs(coefficient)
        term = factor if size == 1.0 else Binary("*", Number(size), factor)
        if whole is ZERO:
            whole = Negate(term) if coefficient < 0.0 else term
        else:
            whole = Binary("-" if coefficient < 0.0 else "+", whole, term)
    return whole


def balanced(terms: Sequence[Expression]) -> Expression:
    """Return a balanced sum, since chained additions wait for each other."""
    if len(terms) <= LONGEST_SUM:
        return total(terms)
    half = len(terms) // 2
    return Binary("+", balanced(terms[:half]), balanced(terms[half:]))


def _tables(matrix: Elimination) -> dict[str, list[int]]:
    """Return the factorisation as index tables: for each entry left of a diagonal, the targets of its products."""
    starts, targets = [0], []
    for row, columns in enumerate(matrix.columns):
        for pivot in (column for column in columns if column < row):
            targets += [matrix.entry[row, column] for column in matrix.columns[pivot] if column > pivot]
    for columns in matrix.columns:
        starts.append(starts[-1] + len(columns))
    return {
        "row_start": starts,
        "diagonal": [matrix.entry[place, place] for place in range(len(matrix.columns))],
        "column": [column for columns in matrix.columns for column in columns],
        "target": targets,
    }


def _rates(network: ReactionNetwork, unit: float, together: Callable[[Statements], Statements]) -> list[Statements]:
    """Rate constants for concentrations in a unit; each function has several reactions and shares common factors."""
    names = [each.name for each in network.parameters]
    chunks = []
    for first in range(0, len(network.reactions), _RATES):
        statements, results = rate_code(network.rate_constants[first : first + _RATES], names)
        stores = []
        for number, result in enumerate(results, first):
            factor = unit ** (len(network.reactant_indices[number]) - 1)
            scaled = result if factor == 1.0 else f"{result} * {factor!r}"
            stores.append(f"store(k, {number}, {scaled});   // {described(network.reactions[number])}")
        chunks.append([*statements, *together(stores)])
    return chunks
