"""Counts the atoms that each reaction makes or loses, and follows them as species of their own.

The change of an atom in a reaction is the sum over its products of coefficient * atoms, minus that over its reactants:
zero where the reaction conserves the atom. Photochemical schemes seldom conserve all: a product that no longer matters
has no species, and one species stands for many.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from airshed.core.errors import MechanismError
from airshed.mechanism.location import nearest
from airshed.mechanism.network import ReactionNetwork
from airshed.mechanism.reaction import Reaction, Species

_MADE, _LOST = "atoms_of_{}_made", "atoms_of_{}_lost"


@dataclass(frozen=True)
class Imbalance:
    """An atom that a reaction does not conserve: `change` atoms made (> 0) or lost (< 0) each time that it happens."""

    reaction: int
    label: str
    atom: str
    change: float


def atom_counts(network: ReactionNetwork, atom: str) -> tuple[int, ...]:
    """Return the atoms of one element in each variable species; raise MechanismError if it is not declared.

    The weights of the element's family: sum over species of counts[i] * y_i is its concentration [atoms cm-3].
    """
    declared = _declared(network, atom)
    return tuple(species.atoms.get(declared, 0) for species in network.species)


def imbalances(network: ReactionNetwork, atom: str) -> tuple[Imbalance, ...]:
    """Return the reactions that do not conserve an atom, in their order; raise MechanismError if it is not declared.

    Coefficients are added as decimals, as written. Fixed species count with their atoms; one whose composition the file
    does not tell (IGNORE) counts with none.
    """
    declared = _declared(network, atom)
    numbers = {species.name: species.atoms.get(declared, 0) for species in network.species + network.fixed}
    changes = [_change(reaction, numbers) for reaction in network.reactions]
    return tuple(
        Imbalance(index, network.reactions[index].label, declared, float(change))
        for index, change in enumerate(changes)
        if change
    )


def follow(network: ReactionNetwork, elements: tuple[str, ...]) -> ReactionNetwork:
    """Return the network with a species for the atoms made, and one for those lost, of each element, in this order.

    Nothing depends on these species. With them the element is a linear invariant of the network, which Rosenbrock
    methods keep to round-off, so that any other change of it is an error of the integration.
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

    Atoms that the mechanism does not declare are left out.
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
