"""Rate constants as coefficient x air^n x shared functions, so that constant factors cost nothing in the step.

With mixing ratios q = y / N (N: number density of air) the rate of a reaction of order m is

    v / N = k N^(m-1) q_1 ... q_m,    k N^(m-1) = c n^p f_1(T, ...) ... J_1 ...,    n = N / REFERENCE_DENSITY

with a number c, functions f of the state of the air, and photolysis functions J = exp(-b sec z) of the column.
Reactions that differ only in c share a function. A function that is huge or tiny in usual air is scaled by a power of
two to a size near one, and c inversely. Single precision ends at 1e38; a power of two costs no digit.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import frexp, isfinite
from typing import Final, TypeVar

import numpy as np

from airshed.core.errors import KernelError
from airshed.formula import cpp
from airshed.formula.dialect import POSITIVE
from airshed.formula.factoring import product
from airshed.formula.tree import Binary, Call, Expression, Negate, Number, Symbol, rewrite
from airshed.kernels.schedule import NOON, noon
from airshed.mechanism.expressions import DAYLIGHT, PHOTO, SECANT, Environment, evaluate, expand_photolysis, substitute
from airshed.mechanism.network import ReactionNetwork, Term

Item = TypeVar("Item")

Factor = tuple[str, int]
"""A factor of a product in a step: ``("y", i)`` mixing ratio of species i, ``("k", j)`` rate function j, ``("j", m)``
photolysis function m, ``("n", 0)`` relative air density. On request also ``("z", r)``, a factor on the rate of reaction
r, which sorts last."""

Products = dict[tuple[Factor, ...], float]
"""Factors of each product of a sum, in order, and the numerical coefficient of the product."""

REFERENCE_DENSITY: Final = 2.5e19
"""Number density [molecules cm-3] to which relative air densities refer: single precision needs numbers near one."""

BOLTZMANN_CM: Final = 1.380649e-17
"""Boltzmann's constant [Pa cm3/K], for number densities per cm3."""

_HUGE: Final = 1e10
_LARGEST_POWER: Final = 8
_LARGEST_BASE: Final = 1e38  # its eighth power is a number


@dataclass(frozen=True)
class Rate:
    """c n^p f_1 f_2 ... J_1 ...: `functions` and `photolyses` index the lists of a :class:`RateTable`."""

    coefficient: float
    air_power: int
    functions: tuple[int, ...]
    photolyses: tuple[int, ...]


@dataclass
class RateTable:
    """The rates of all reactions and the functions that they share.

    usual  air in which the functions are scaled to moderate size
    """

    usual: Environment = field(default_factory=lambda: NOON)
    rates: list[Rate] = field(default_factory=list)
    functions: list[Expression] = field(default_factory=list)
    photolyses: list[float] = field(default_factory=list)

    def add(self, constant: Expression, order: int) -> None:
        """Append the rate of a reaction with `order` variable reactants."""
        coefficient, factors = _factors(constant)
        power, functions, photolyses = order - 1, [], []
        rest: list[Expression] = []
        for factor in factors:
            if factor == Symbol("M"):
                power += 1
            elif isinstance(factor, Call) and factor.name == PHOTO:
                a, b = factor.arguments
                coefficient *= _number(a)
                photolyses.append(_place(self.photolyses, _number(b)))
            else:
                rest.append(factor)
        if power < 0:  # a source of zeroth order: cm-3 s-1, not per molecule
            rest.append(Binary("/", Number(REFERENCE_DENSITY), Symbol("M")))
            coefficient /= REFERENCE_DENSITY
            power = 0
        if rest:
            function, scale = _scaled(product(sorted(rest, key=str)), self.usual)
            functions.append(_place(self.functions, function))
            coefficient *= scale
        coefficient *= REFERENCE_DENSITY**power
        self.rates.append(Rate(coefficient, power, tuple(functions), tuple(photolyses)))

    def products(self, terms: Iterable[Term], *, of_reactions: bool = False) -> Products:
        """Return terms of production or loss as products, with equal products added up.

        of_reactions  whether each product has a factor of its own reaction
        """
        collected: Products = {}
        for term in terms:
            rate = self.rates[term.reaction]
            factors: list[Factor] = [("n", 0)] * rate.air_power
            factors += [("k", function) for function in rate.functions]
            factors += [("j", photolysis) for photolysis in rate.photolyses]
            factors += [("y", species) for species in term.factors]
            factors += [("z", term.reaction)] * of_reactions
            key = tuple(sorted(factors))
            collected[key] = collected.get(key, 0.0) + term.coefficient * rate.coefficient
        return collected


def rate_table(network: ReactionNetwork) -> RateTable:
    """Return the rates of a mechanism, reaction by reaction."""
    table = RateTable(noon(network))
    for constant, reactants in zip(network.rate_constants, network.reactant_indices, strict=True):
        table.add(constant, len(reactants))
    return table


def rate_code(expressions: Sequence[Expression], parameters: Sequence[str] = ()) -> tuple[list[str], list[str]]:
    """Return statements that compute rates in double, each common sub-expression once, and the text of each value.

    Always in double: rate constants span eighty decades.

    parameters  names of the open parameters of the expressions, in the order of the array ``parameter``
    """
    places: dict[str, Expression] = {name: Symbol(f"parameter[{number}]") for number, name in enumerate(parameters)}

    def per_temperature(node: Expression) -> Expression:
        match node:
            case Binary("/", left, Symbol("TEMP")):
                return Binary("*", left, Symbol("inverse_temperature"))
        return node

    prepared = [
        rewrite(expand_photolysis(substitute(expression, places), DAYLIGHT, SECANT), per_temperature)
        for expression in expressions
    ]
    return cpp.code(prepared, lambda name: _NAMES.get(name, name), POSITIVE)


_NAMES: Final = {
    "TEMP": "temperature", "PRESS": "pressure", "M": "density", "O2": "oxygen", "N2": "nitrogen", "H2O": "water",
    "SUN": "sun", "daylight": "light", "sec_zenith": "secant",
}  # fmt: skip
"""Names of the air and the sun in generated code."""


def _factors(expression: Expression) -> tuple[float, list[Expression]]:
    """Return a number and factors whose product is the expression; a number that overflows remains a factor."""
    match expression:
        case Number(value):
            return value, []
        case Negate(operand):
            coefficient, factors = _factors(operand)
            return -coefficient, factors
        case Binary("*", left, right):
            first, second = _factors(left), _factors(right)
            if isfinite(coefficient := first[0] * second[0]):
                return coefficient, first[1] + second[1]
        case Binary("/", left, right):
            first, second = _factors(left), _factors(right)
            inverse: list[Expression] = [Binary("/", Number(1.0), product(second[1]))] if second[1] else []
            if second[0] and isfinite(quotient := first[0] / second[0]):
                return quotient, first[1] + inverse
        case Binary("^", base, Number(power)) if power in range(1, _LARGEST_POWER + 1):
            coefficient, factors = _factors(base)
            if abs(coefficient) < _LARGEST_BASE:
                return coefficient**power, factors * int(power)
    return 1.0, [expression]


def _scaled(function: Expression, usual: Environment) -> tuple[Expression, float]:
    """Return a function of moderate size in usual air, and the power of two that multiplies it."""
    with np.errstate(all="ignore"):
        value = abs(float(evaluate(function, usual)))
    if not isfinite(value) or value == 0.0 or 1.0 / _HUGE < value < _HUGE:
        return function, 1.0
    scale = 2.0 ** frexp(value)[1]
    return Binary("*", Number(1.0 / scale), function), scale


def _number(expression: Expression) -> float:
    coefficient, factors = _factors(expression)
    if factors:
        raise KernelError(f"the arguments of a photolysis rate are constants, not {expression}")
    return coefficient


def _place(items: list[Item], item: Item) -> int:
    if item not in items:
        items.append(item)
    return items.index(item)
