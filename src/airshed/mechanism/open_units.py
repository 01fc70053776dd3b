"""Infers the units of what a mechanism leaves open from where it stands in the rates."""

from collections.abc import Iterator
from typing import Final

from airshed.formula.tree import Binary, Expression, Negate, Symbol, walk
from airshed.mechanism.expressions import AIR_GASES, Parameter, substitute
from airshed.mechanism.network import ReactionNetwork

_PER_ORDER: Final = ("molecules/cm3/s", "1/s", "cm3/s", "cm6/s", "cm9/s")
"""Units of rates of reactions with 0, 1, 2 ... reactants."""

_PURE: Final = "1"


def units_of_open(network: ReactionNetwork) -> dict[str, tuple[str, ...]]:
    """Return parameter -> the units that fit where it stands; parameters of which nothing is known are left out.

    What the file tells counts. Else a parameter that is a term of a rate, or a factor of one besides numbers, air and
    the sun, has the unit of the rate over that of the air; beside a number, a function, a power or a sum, any of which
    may hold that unit, also 1. One that stands inside of these could be anything.
    """
    given = {each.name: (each.unit,) for each in network.parameters if each.unit}
    found: dict[str, dict[str, None]] = {}
    anything: set[str] = set()
    for reaction in network.reactions:
        order = round(sum(number for _, number in reaction.reactants))
        for name, units in _uses(substitute(reaction.rate, network.bound), order):
            found.setdefault(name, {}).update(dict.fromkeys(units))
            anything.update(() if units else {name})
    return {name: tuple(units) for name, units in found.items() if name not in anything} | given


def _uses(rate: Expression, order: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each parameter of a sum with the units that fit, none where any may."""
    match rate:
        case Negate(operand):
            yield from _uses(operand, order)
        case Binary("+" | "-", left, right):
            yield from _uses(left, order)
            yield from _uses(right, order)
        case _:
            yield from _in_product(list(_factors(rate, above=True)), order)


def _in_product(factors: list[tuple[Expression, bool]], order: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    bare = [(node.name, above) for node, above in factors if isinstance(node, Parameter)]
    others = [node for node, _ in factors if not isinstance(node, Parameter)]
    inside = {node.name for other in others for node in walk(other) if isinstance(node, Parameter)}
    yield from ((name, ()) for name in inside)
    for node, above in factors:
        if isinstance(node, Symbol) and node.name in AIR_GASES:
            order += 1 if above else -1
    of_state = any(isinstance(node, Symbol) and node.name in ("TEMP", "PRESS") for node in others)
    fits = len(bare) == 1 and bare[0][1] and 0 <= order < len(_PER_ORDER) and not of_state
    may_hold_unit = any(not isinstance(node, Symbol) for node in others)
    for name, _ in bare:
        yield name, (_PER_ORDER[order], *([_PURE] if may_hold_unit else [])) if fits else ()


def _factors(rate: Expression, *, above: bool) -> Iterator[tuple[Expression, bool]]:
    """Yield the factors of a product, and whether they stand above its line."""
    match rate:
        case Binary("*" | "/" as operator, left, right):
            yield from _factors(left, above=above)
            yield from _factors(right, above=above if operator == "*" else not above)
        case _:
            yield rate, above
