"""Follows the atoms that a mechanism's own reactions make or lose, as species that nothing depends on.

With two species for an element, one for atoms made and one for atoms lost, the element is a linear invariant of the
network, which Rosenbrock methods keep to round-off: what an integration leaves is no error of its own.
"""

from dataclasses import replace

from airshed.mechanism.balance import imbalances
from airshed.mechanism.network import Reaction, ReactionNetwork, Species

_MADE, _LOST = "atoms_of_{}_made", "atoms_of_{}_lost"


def follow(network: ReactionNetwork, elements: tuple[str, ...]) -> ReactionNetwork:
    """Return the network with a species for the atoms made, and one for those lost, of each element, in this order."""
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
