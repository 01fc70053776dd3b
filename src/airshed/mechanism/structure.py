"""Static analysis of a mechanism: atom balances, pattern of the Jacobian, suspicious reactions, units.

The change of an atom in a reaction is the sum over its products of coefficient * atoms, minus that over its reactants:
zero if the reaction conserves the atom. Photochemical schemes seldom conserve all atoms: unimportant products have no
species, and one species represents many.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import zip_longest
from math import isclose
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from airshed.core.errors import MechanismError
from airshed.formula.tree import Binary, Expression, Negate, Number, Symbol, walk
from airshed.mechanism.expressions import (
    AIR_GASES,
    FUNCTIONS,
    SYMBOLS,
    Parameter,
    evaluate_all,
    parameters,
    substitute,
    symbols,
)
from airshed.mechanism.file_air import air_of_file, named_as_air, unclear_air, values_in_code
from airshed.mechanism.location import nearest
from airshed.mechanism.network import Reaction, ReactionNetwork, Species

_MADE, _LOST = "atoms_of_{}_made", "atoms_of_{}_lost"


@dataclass(frozen=True)
class Imbalance:
    """Atom that a reaction does not conserve: `change` atoms produced (> 0) or lost (< 0) per reaction."""

    reaction: int
    label: str
    atom: str
    change: float


def atom_counts(network: ReactionNetwork, atom: str) -> tuple[int, ...]:
    """Return the atoms of one element in each variable species; raise MechanismError if it is not declared.

    They are the weights of the element's family: sum over species of counts[i] * y_i is its concentration [atoms cm-3].
    """
    declared = _declared(network, atom)
    return tuple(species.atoms.get(declared, 0) for species in network.species)


def imbalances(network: ReactionNetwork, atom: str) -> tuple[Imbalance, ...]:
    """Return the reactions that do not conserve an atom, in order; raise MechanismError if it is not declared.

    Coefficients are added as decimals, as written. Fixed species count with their atoms; a fixed species of unknown
    composition (IGNORE) counts with none.
    """
    declared = _declared(network, atom)
    numbers = {species.name: species.atoms.get(declared, 0) for species in network.species + network.fixed}
    changes = [_change(reaction, numbers) for reaction in network.reactions]
    return tuple(
        Imbalance(index, network.reactions[index].label, declared, float(change))
        for index, change in enumerate(changes)
        if change
    )


def track_elements(network: ReactionNetwork, elements: tuple[str, ...]) -> ReactionNetwork:
    """Return the network with two more species per element: the atoms produced, and the atoms lost, in this order.

    Nothing depends on these species. With them the element is a linear invariant of the network. Rosenbrock methods
    preserve such invariants to round-off, so that any other change of it is an error of the integration.
    """
    products: dict[int, list[tuple[str, float]]] = {}
    for element in elements:
        for each in imbalances(network, element):
            name = (_MADE if each.change > 0.0 else _LOST).format(element)
            products.setdefault(each.reaction, []).append((name, abs(each.change)))
    followed = tuple(Species(text.format(element)) for element in elements for text in (_MADE, _LOST))
    reactions = tuple(_with(reaction, products.get(number, [])) for number, reaction in enumerate(network.reactions))
    return replace(network, species=network.species + followed, reactions=reactions)


def _with(reaction: Reaction, products: list[tuple[str, float]]) -> Reaction:
    return replace(reaction, products=(*reaction.products, *products))


def report(network: ReactionNetwork, atoms: Sequence[str] = ("C", "N", "S")) -> str:
    """Return a table of every reaction that does not conserve one of the atoms, with its change of each.

    Atoms that the mechanism does not declare are omitted.
    """
    shown = [atom for atom in atoms if atom in network.atoms]
    by_reaction: dict[int, dict[str, float]] = {}
    for atom in shown:
        for imbalance in imbalances(network, atom):
            by_reaction.setdefault(imbalance.reaction, {})[atom] = imbalance.change
    total = len(network.reactions)
    kept = ", ".join(f"{atom} {total - sum(atom in changes for changes in by_reaction.values())}" for atom in shown)
    lines = [f"{network.name}: {total} reactions, of which conserved by atom: {kept or 'none declared'}"]
    for index, changes in sorted(by_reaction.items()):
        cells = [f"{atom} {changes[atom]:+8.3f}" if atom in changes else " " * (len(atom) + 9) for atom in shown]
        lines.append(f"  {' '.join(cells)}  {network.reactions[index].text}")
    return "\n".join(lines)


def _change(reaction: Reaction, numbers: dict[str, int]) -> Decimal:
    change = Decimal(0)
    for sign, side in ((-1, reaction.reactants), (1, reaction.products)):
        for name, coefficient in side:
            change += sign * Decimal(repr(float(coefficient))) * numbers[name]
    return change


def _declared(network: ReactionNetwork, atom: str) -> str:
    for declared in network.atoms:
        if declared.casefold() == atom.casefold():
            return declared
    known = ", ".join(network.atoms) or "none"
    hint = nearest(atom, network.atoms)
    raise MechanismError(f"mechanism {network.name!r} has no atom {atom!r} (it declares {known}){hint}")


# Pattern of the Jacobian, suspicious reactions, differences.


_AIR: Final = {
    "TEMP": np.array([210.0, 268.0, 305.0]),
    "PRESS": np.array([1e4, 7e4, 1e5]),
    "M": np.array([3e18, 1.9e19, 2.4e19]),
    "O2": np.array([6e17, 4e18, 5e18]),
    "N2": np.array([2e18, 1.5e19, 1.9e19]),
    "H2O": np.array([1e13, 1e16, 5e17]),
    "SUN": np.array([0.1, 0.5, 0.9]),
    "sec_zenith": np.array([10.0, 2.0, 1.1]),
    "daylight": np.array([0.5, 1.0, 1.0]),
}
"""Three states of the air for the comparison of rates."""


def jacobian_pattern(network: ReactionNetwork) -> npt.NDArray[np.bool_]:
    """Return the entries d(dy_i/dt)/dy_j (species i, species j) of the Jacobian that a reaction can make nonzero."""
    size = len(network.species)
    pattern = np.zeros((size, size), dtype=bool)
    for net, reactants in zip(network.net_stoichiometry, network.reactant_indices, strict=True):
        for species, _ in net:
            pattern[species, list(reactants)] = True
    return pattern


@dataclass(frozen=True)
class Finding:
    """Finding about a mechanism that may be intended or an error."""

    kind: Literal[
        "renamed", "imbalance", "never produced", "never lost", "unused", "duplicate", "open", "loss", "empty",
        "air", "code", "sum",
    ]  # fmt: skip
    subject: str
    text: str


def findings(network: ReactionNetwork) -> tuple[Finding, ...]:
    """Return all findings, kind by kind, in the order of the mechanism."""
    kinds = (_renamed, _unbalanced, _one_sided, _duplicates, _losses, _open, _air, _sums)
    return tuple(each for kind in kinds for each in kind(network))


def differences(one: ReactionNetwork, other: ReactionNetwork) -> tuple[str, ...]:
    """Return the chemical differences of two networks, a line each; empty if they are equal.

    Compared are species in order with atoms and molar mass, reactions in order with stoichiometry and rate constant,
    initial values, and open parameters. Names of reactions, remarks and locations do not count, nor does the fifteenth
    digit of a number, which a change of units may affect.
    """
    found = []
    for what, mine, others in (("variable", one.species, other.species), ("fixed", one.fixed, other.fixed)):
        if [each.name for each in mine] != [each.name for each in others]:
            found.append(f"the {what} species are not the same, or not in the same order")
            continue
        found += [
            f"species {a.name}: its atoms or its molar mass"
            for a, b in zip(mine, others, strict=True)
            if dict(a.atoms) != dict(b.atoms) or a.molar_mass != b.molar_mass
        ]
    if len(one.reactions) != len(other.reactions):
        found.append(f"{len(one.reactions)} reactions against {len(other.reactions)}")
    elif not found:
        found += _different_reactions(one, other)
    if one.initial.keys() != other.initial.keys() or not all(map(_close, one.initial.values(), _ordered(other, one))):
        found.append("initial values")
    if {each.name for each in one.open_parameters} != {each.name for each in other.open_parameters}:
        found.append("open parameters")
    if {name: dict(weights) for name, weights in one.sums.items()} != dict(other.sums):
        found.append("sums of species")
    return tuple(found)


def _different_reactions(one: ReactionNetwork, other: ReactionNetwork) -> Iterable[str]:
    settled = one.with_defaults().rate_constants, other.with_defaults().rate_constants
    for number, reaction in enumerate(one.reactions):
        pairs = {
            "reactants": one.reactant_indices[number] == other.reactant_indices[number],
            "products": one.net_stoichiometry[number] == other.net_stoichiometry[number],
            "rate": _alike(settled[0][number], settled[1][number]),
        }
        yield from (f"reaction <{reaction.label}>: {what}" for what, same in pairs.items() if not same)


def _alike(one: Expression, other: Expression) -> bool:
    """Return whether two expressions are the same except for the last digit of their numbers, as text or by value."""
    same_text = all(
        _close(a.value, b.value) if isinstance(a, Number) and isinstance(b, Number) else _shape(a) == _shape(b)
        for a, b in zip_longest(walk(one), walk(other))
    )
    return same_text or _same_values(one, other)


def _same_values(one: Expression, other: Expression) -> bool:
    """Return whether two expressions, as (T/300)^-2 and (300/T)^2, have the same names and the same values."""
    names = parameters(one)
    if set(names) != set(parameters(other)) or symbols(one) != symbols(other):
        return False
    environment = _AIR | {name: np.full(3, 0.3 + 0.1 * number) for number, name in enumerate(sorted(names))}
    with np.errstate(all="ignore"):
        values = np.array([np.broadcast_to(value, 3) for value in evaluate_all([one, other], environment)])
    return bool(np.isfinite(values).all() and np.allclose(values[0], values[1], rtol=1e-12, atol=0.0))


def _shape(node: Expression | None) -> tuple[object, ...]:
    """Return the properties of a node other than its operands."""
    named = getattr(node, "name", None) or getattr(node, "operator", None)
    return type(node), named, len(node.children) if node is not None else 0


def _close(one: float, other: float) -> bool:
    return isclose(one, other, rel_tol=1e-14)


def _ordered(network: ReactionNetwork, like: ReactionNetwork) -> Iterable[float]:
    return (network.initial[name] for name in like.initial)


def _renamed(network: ReactionNetwork) -> Iterable[Finding]:
    for theirs, name in network.renamed.items():
        yield Finding("renamed", name, f"is {theirs!r} of the file: names are letters, digits and _")


def _unbalanced(network: ReactionNetwork) -> Iterable[Finding]:
    for atom in network.checked or network.atoms:
        for each in imbalances(network, atom):
            made = f"makes {each.change:g} {atom}" if each.change > 0 else f"loses {-each.change:g} {atom}"
            yield Finding("imbalance", each.label, f"{made}: {shown(network.reactions[each.reaction])}")


def _one_sided(network: ReactionNetwork) -> Iterable[Finding]:
    named = {name.casefold() for reaction in network.reactions for name, _ in reaction.reactants + reaction.products}
    for index, species in enumerate(network.species):
        if species.name.casefold() not in named:
            yield Finding("unused", species.name, "occurs in no reaction: it is only transported")
            continue
        made = any(term.coefficient > 0.0 for term in network.production_terms[index])
        lost = network.loss_terms[index] or any(term.coefficient < 0.0 for term in network.production_terms[index])
        if not made:
            yield Finding(
                "never produced", species.name, "no reaction makes it: it comes from elsewhere, or stays zero"
            )
        if not lost:
            yield Finding("never lost", species.name, "no reaction uses it up: it piles up, unless it is deposited")


def _duplicates(network: ReactionNetwork) -> Iterable[Finding]:
    first: dict[object, Reaction] = {}
    for number, reaction in enumerate(network.reactions):
        key = (
            tuple(sorted(network.reactant_indices[number])),
            network.net_stoichiometry[number],
            _fixed(network, number),
        )
        if not network.net_stoichiometry[number]:
            yield Finding("empty", reaction.label, f"changes nothing: {shown(reaction)}")
        elif key in first:
            yield Finding(
                "duplicate", reaction.label, f"is <{first[key].label}> again: {shown(reaction)}; add their rates"
            )
        first.setdefault(key, reaction)


def _fixed(network: ReactionNetwork, number: int) -> tuple[str, ...]:
    reactants = network.reactions[number].reactants
    fixed = {species.name.casefold() for species in network.fixed}
    return tuple(sorted(name.casefold() for name, _ in reactants if name.casefold() in fixed))


def _losses(network: ReactionNetwork) -> Iterable[Finding]:
    for net, reactants, reaction in zip(
        network.net_stoichiometry, network.reactant_indices, network.reactions, strict=True
    ):
        names = [network.names[species] for species, change in net if change < 0.0 and species not in reactants]
        names = [name for name in names if name not in network.sums]
        if names:
            text = f"uses up {', '.join(names)}, no reactant of it, which may fall below zero: {shown(reaction)}"
            yield Finding("loss", reaction.label, text)


def _open(network: ReactionNetwork) -> Iterable[Finding]:
    for each in network.open_parameters:
        hint = nearest(each.name, [*SYMBOLS, *FUNCTIONS])
        yield Finding("open", each.name, f"no formula gives it{f' [{each.unit}]' if each.unit else ''}{hint}")


def _air(network: ReactionNetwork) -> Iterable[Finding]:
    for name, density in air_of_file(network).items():
        own = name if name.upper() in AIR_GASES else "M"
        text = f"is {density:.4g} molecules/cm3 in the file; rates take {own} of the air of the run"
        yield Finding("air", name, text)
    for name in named_as_air(network):
        yield Finding("air", name, f"in the rates is that of the air, not the species {name}")
    for name in values_in_code(network)[0]:
        yield Finding("air", name, "that inlined code of the file sets is not used; rates take the air of the run")
    for name in values_in_code(network)[1]:
        yield Finding("code", name, "gets a concentration from inlined code of the file, which is not run")
    for each in unclear_air(network):
        yield Finding("air", each.name, f"is {each.default:g}, which is no density of air: it stays so in all air")


def _sums(network: ReactionNetwork) -> Iterable[Finding]:
    for name, weights in network.sums.items():
        yield Finding("sum", name, f"is carried as a species: the sum of {len(weights)} that inlined code gives")


def shown(reaction: Reaction) -> str:
    """Return an equation without its label and rate."""
    sides = []
    for side in (reaction.reactants, reaction.products):
        parts = [f"{'' if abs(number) == 1.0 else f'{abs(number):g} '}{name}" for name, number in side]
        signs = ["- " if number < 0.0 else "+ " for _, number in side]
        sides.append(" ".join(f"{sign}{part}" for sign, part in zip(signs, parts, strict=True)).removeprefix("+ "))
    return f"{sides[0] or 'hv'} = {sides[1] or 'PROD'}"


# Units of open parameters, inferred from their place in the rates.


_PER_ORDER: Final = ("molecules/cm3/s", "1/s", "cm3/s", "cm6/s", "cm9/s")
"""Units of rates of reactions with 0, 1, 2 ... reactants."""

_PURE: Final = "1"


def units_of_open(network: ReactionNetwork) -> dict[str, tuple[str, ...]]:
    """Return parameter -> the possible units; parameters with unknown units are omitted.

    Units in the file are used. Otherwise a parameter may be a term of a rate, or a factor of one together with numbers,
    air and the sun. It then has the unit of the rate over that of the air. Together with a number, a function, a power
    or a sum, any of which may have that unit, it may also be 1. A parameter inside one of these may have any unit.
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
    """Yield each parameter of a sum with the possible units, none if any is possible."""
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
    """Yield the factors of a product, and whether they are in its numerator."""
    match rate:
        case Binary("*" | "/" as operator, left, right):
            yield from _factors(left, above=above)
            yield from _factors(right, above=above if operator == "*" else not above)
        case _:
            yield rate, above
