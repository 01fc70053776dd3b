"""Rate expressions: formulas of the state of the air and of open parameters.

A rate is a tree of :mod:`airshed.formula.tree` of numbers, the air's state (:data:`SYMBOLS`), functions
(:data:`FUNCTIONS`) and parameters, in molecules, cm3 and s: ``5.7e-34*(TEMP/300)**(-2.8)*M*O2``. Names of symbols are
canonical (upper case, ``T`` written ``TEMP``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from airshed import formula
from airshed.core.errors import MechanismError
from airshed.formula.functions import FUNCTIONS as FORMULA_FUNCTIONS
from airshed.formula.functions import Arity
from airshed.formula.tree import ZERO, Binary, Call, Compare, Expression, NamedValue, Negate, Symbol, ordered, rewrite
from airshed.mechanism.location import check_label, nearest

Value = float | npt.NDArray[np.float64]
"""A number or an array over cells."""

Environment = Mapping[str, Value]
"""Values of :data:`SYMBOLS`, of the sun's position and of parameters, all of shapes that broadcast together."""

Dependency = Literal["temperature", "pressure", "air", "water", "photolysis", "parameter"]


@dataclass(frozen=True, slots=True)
class EnvironmentSymbol:
    """Name for a part of the state of the air or the sun."""

    unit: str
    dependency: Dependency
    text: str


SYMBOLS: Final[Mapping[str, EnvironmentSymbol]] = {
    "TEMP": EnvironmentSymbol("K", "temperature", "air temperature"),
    "PRESS": EnvironmentSymbol("Pa", "pressure", "air pressure"),
    "M": EnvironmentSymbol("molecules cm-3", "air", "air"),
    "O2": EnvironmentSymbol("molecules cm-3", "air", "molecular oxygen"),
    "N2": EnvironmentSymbol("molecules cm-3", "air", "molecular nitrogen"),
    "H2O": EnvironmentSymbol("molecules cm-3", "water", "water vapour"),
    "SUN": EnvironmentSymbol("1", "photolysis", "cosine of the solar zenith angle while the sun is up, else 0"),
}
"""Symbols of the environment in rates."""

AIR_GASES: Final = ("M", "O2", "N2", "H2O")
"""The air and its gases among :data:`SYMBOLS` [molecules cm-3], which chemistry does not change."""

SUN_POSITION: Final[Mapping[str, EnvironmentSymbol]] = {
    "sec_zenith": EnvironmentSymbol("1", "photolysis", "secant of the solar zenith angle, anything finite at night"),
    "daylight": EnvironmentSymbol("1", "photolysis", "factor on clear-sky photolysis: 0 at night, 1 in clear daylight"),
}
"""Further entries of an environment, for ``PHOTO``; rates do not name them."""

ALIASES: Final[Mapping[str, str]] = {"T": "TEMP"}
"""Other spellings of :data:`SYMBOLS`."""

PHOTO: Final = "PHOTO"
"""``PHOTO(a, b)``: the photolysis rate daylight * a * exp(-b * sec_zenith) [1/s] of two constants a [1/s] and b [1]."""

SECANT: Final = Symbol("sec_zenith")
DAYLIGHT: Final = Symbol("daylight")

FUNCTIONS: Final[Mapping[str, Arity]] = {
    **{name.upper(): FORMULA_FUNCTIONS[name] for name in ("exp", "log", "log10", "sqrt", "abs")},
    "POW": Arity(2, 2),
    "MIN": FORMULA_FUNCTIONS["min"],
    "MAX": FORMULA_FUNCTIONS["max"],
    PHOTO: Arity(2, 2),
}
"""Functions in rates, as written: LOG is the natural logarithm, POW(a, b) the power a**b."""


@dataclass(frozen=True, slots=True, eq=False)
class Parameter(NamedValue):
    """Open parameter of a mechanism, such as a photolysis rate that a host model computes."""

    def __post_init__(self) -> None:
        check_label("the open parameter", self.name)


def symbol(name: str) -> Symbol:
    """Return the symbol of a name in upper or lower case; raise MechanismError if there is none."""
    canonical = ALIASES.get(name.upper(), name.upper())
    if canonical not in SYMBOLS:
        known = ", ".join(SYMBOLS)
        raise MechanismError(f"{name!r} is unknown in a rate (known are {known}){nearest(name, SYMBOLS)}")
    return Symbol(canonical)


def call(name: str, arguments: tuple[Expression, ...]) -> Expression:
    """Return the call of a known function; raise MechanismError for an unknown function or wrong arguments."""
    canonical = name.upper()
    function = FUNCTIONS.get(canonical)
    if function is None:
        known = ", ".join(known.lower() for known in FUNCTIONS)
        raise MechanismError(f"a rate cannot call {name!r} (it can call {known}){nearest(name, FUNCTIONS)}")
    if not function.takes(len(arguments)):
        raise MechanismError(f"{name} takes {function.wanted}, not {len(arguments)}")
    if canonical == "POW":
        return Binary("^", *arguments)
    if canonical != PHOTO:
        return Call(canonical.lower(), arguments)
    if any(dependencies(argument) for argument in arguments):
        raise MechanismError(f"{name} takes two constants, a [1/s] and b, for a*exp(-b*sec(zenith angle))")
    return Call(PHOTO, arguments)


def symbols(expression: Expression) -> frozenset[str]:
    """Return the names of the environment that the value requires, including those of the sun's position."""
    names = set()
    for node in ordered([expression]):
        if isinstance(node, Symbol):
            names.add(node.name)
        elif isinstance(node, Call) and node.name == PHOTO:
            names.update(SUN_POSITION)
    return frozenset(names)


def parameters(expression: Expression) -> tuple[str, ...]:
    """Return the names of the parameters that the value requires, without repetition, in the order of the text."""
    return tuple(node.name for node in ordered([expression]) if isinstance(node, Parameter))


def dependencies(expression: Expression) -> frozenset[Dependency]:
    """Return the parts of the environment on which the value depends; empty for a constant."""
    known = {**SYMBOLS, **SUN_POSITION}
    found: set[Dependency] = {known[name].dependency for name in symbols(expression)}
    return frozenset(found | {"parameter"} if parameters(expression) else found)


def substitute(expression: Expression, values: Mapping[str, Expression]) -> Expression:
    """Return the tree with each parameter in `values` replaced."""
    return rewrite(expression, lambda node: values.get(node.name, node) if isinstance(node, Parameter) else node)


def expand_photolysis(expression: Expression, daylight: Expression, secant: Expression) -> Expression:
    """Return the tree with daylight * a * exp(-b * secant) in place of PHOTO(a, b)."""

    def expanded(node: Expression) -> Expression:
        match node:
            case Call("PHOTO", (a, b)):
                return Binary("*", Binary("*", daylight, a), Call("exp", (Binary("*", Negate(b), secant),)))
        return node

    return rewrite(expression, expanded)


def evaluate(expression: Expression, environment: Environment) -> Value:
    """Return the value [molecules, cm3, s] for an environment whose values broadcast together.

    A photolysis rate is 0 at night. Raises MechanismError if the environment lacks a name. Undefined operations, such
    as sqrt(-1), give a value that is not finite.
    """
    return evaluate_all([expression], environment)[0]


def evaluate_all(expressions: Sequence[Expression], environment: Environment) -> list[Value]:
    """Return the values of several rates, with common parts computed once, as :func:`evaluate` does."""
    explicit = [_without_photolysis(expression) for expression in expressions]
    for node in ordered(explicit):
        if isinstance(node, NamedValue) and node.name not in environment:
            raise _missing(node)
    values = formula.evaluate_all(explicit, environment)
    return [float(value) if value.ndim == 0 else value for value in values]


@lru_cache(maxsize=4096)
def _without_photolysis(expression: Expression) -> Expression:
    """Return the tree with PHOTO as its formula. At night the secant is negative or huge and must not reach exp."""
    secant = Call("where", (Compare(">", DAYLIGHT, ZERO), SECANT, ZERO))
    return expand_photolysis(expression, DAYLIGHT, secant)


def _missing(node: NamedValue) -> MechanismError:
    if isinstance(node, Parameter):
        return MechanismError(f"the rates need {node.name}, which the mechanism leaves open: give it a value")
    known = {**SYMBOLS, **SUN_POSITION}[node.name]
    return MechanismError(f"the rates need {node.name} ({known.text}, {known.unit}), which the conditions do not give")
