"""Reads the sections of an OpenAtmos v1 document: species, phases and reactions, in place or in files that it lists."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from airshed.mechanism.location import nearest
from airshed.mechanism.openatmos.document import read_beside
from airshed.mechanism.openatmos.node import Fields, Node
from airshed.mechanism.openatmos.rates import BRANCHED, PREFIXES, SURFACE, Units
from airshed.mechanism.openatmos.reactions import Amounts, Collection, Equation, refuse_other_kinds
from airshed.mechanism.openatmos.species import Gas, in_phase, read_species

GAS: Final = "gas"
_MOLAR: Final = Units(camp=False)
_SECTIONS: Final = ("aerosol representations", "aerosol processes")

_KEYS: Final = {
    **dict.fromkeys(("ARRHENIUS", "TAYLOR_SERIES"), ("A", "B", "C", "D", "E", "Ea")),
    "TUNNELING": ("A", "B", "C"),
}


def read_version1(root: Fields, path: Path) -> tuple[dict[str, Gas], Collection]:
    """Return the species of the gas phase, and the reactions; raise MechanismError with the place of a fault."""
    species = _section(root.need("species"), path)
    reactions = _section(root.need("reactions"), path) if "reactions" in root else ()
    kinds = [(node, _kind(node)) for node in reactions]
    processes = [
        (node, node.fields().text("type") or "a representation of aerosol")
        for key in _SECTIONS
        if (section := root.get(key)) is not None
        for node in _section(section, path)
    ]
    refuse_other_kinds([*kinds, *processes])
    phases = _section(root.need("phases"), path)
    declared = read_species(species)
    gases = in_phase(declared, _phase(phases, reactions, root.node)) if phases or declared else {}
    collection = Collection(gases)
    for node, kind in kinds:
        _add(collection, kind, node)
    return gases, collection


def _section(node: Node, path: Path) -> Sequence[Node]:
    """Return the items of a section: a list, or ``{"files": [...]}`` with the names of files that hold lists."""
    if not isinstance(node.value, dict):
        return node.items()
    fields = node.fields()
    files = fields.need("files").items()
    fields.finish()
    return [item for file in files for item in read_beside(file, path)[0].items()]


def _phase(phases: Sequence[Node], reactions: Sequence[Node], root: Node) -> Node:
    """Return the phase that the reactions take place in; without reactions the one called gas."""
    by_name: dict[str, Node] = {}
    for node in phases:
        fields = node.fields()
        name = fields.need("name").text()
        fields.need("species").items()
        fields.finish()
        if name in by_name:
            raise node.error(f"the phase {name!r} stands twice")
        by_name[name] = node
    wanted = GAS
    for number, reaction in enumerate(reactions):
        place = reaction.fields().need("gas phase")
        wanted = place.text() if number == 0 else wanted
        if place.text() != wanted:
            raise place.error(f"the reactions above take place in {wanted!r}: a mechanism has one gas phase")
        if wanted not in by_name:
            raise place.error(f"the phase {wanted!r} is not among the phases{nearest(wanted, by_name)}")
    if wanted not in by_name:
        raise root.error(f"there is no phase {GAS!r} among the phases")
    return by_name[wanted]


def _kind(node: Node) -> str:
    kind = node.fields().need("type").text()
    return BRANCHED if kind in ("BRANCHED_NO_RO2", "BRANCHED") else kind


def _add(collection: Collection, kind: str, node: Node) -> None:
    fields = node.fields()
    fields.ignore("type", "gas phase", "condensed phase")
    name = fields.text("name")
    if kind == BRANCHED:
        keys = ("reactants", "alkoxy products", "nitrate products")
        reactants, alkoxy, nitrate = (_amounts(collection, fields, key, needed=True) for key in keys)
        collection.add_branched(name, fields, (reactants, alkoxy, nitrate), _MOLAR)
    else:
        collection.add(kind, name, fields, _equation(collection, kind, fields), _MOLAR)
    fields.finish()


def _equation(collection: Collection, kind: str, fields: Fields) -> Equation:
    if kind == SURFACE:
        reactants = _amounts(collection, fields, "gas-phase species", needed=True)
        products = _amounts(collection, fields, "gas-phase products", needed=True)
    else:
        reactants = () if kind == "EMISSION" else _amounts(collection, fields, "reactants", needed=True)
        products = _amounts(collection, fields, "products", needed=kind != "FIRST_ORDER_LOSS")
    equation = Equation(reactants, products)
    single = kind in (SURFACE, "PHOTOLYSIS", "FIRST_ORDER_LOSS")
    if single and equation.order != 1:
        raise fields.node.error(f"a reaction of type {kind} has one reactant, not {equation.order}")
    if kind not in PREFIXES and not reactants:
        raise fields.node.error(f"a reaction of type {kind} has reactants; without them it is an EMISSION")
    return equation


def _amounts(collection: Collection, fields: Fields, key: str, *, needed: bool) -> Amounts:
    node = fields.need(key) if needed else fields.get(key)
    return () if node is None else collection.amounts(_members(node), reactants=key in _REACTANTS)


_REACTANTS: Final = ("reactants", "gas-phase species")


def _members(node: Node) -> Iterator[tuple[Node, str, float]]:
    """Yield the species of one side: a list, or one alone, each an object or a name."""
    for item in node.items() if isinstance(node.value, list) else [node]:
        if isinstance(item.value, str):
            yield item, item.text(), 1.0
            continue
        fields = item.fields()
        names = [found for key in ("name", "species name") if (found := fields.get(key)) is not None]
        if len(names) != 1:
            raise item.error("a species is named by either 'name' or 'species name'")
        coefficient = fields.number("coefficient", 1.0)
        fields.finish()
        yield names[0], names[0].text(), coefficient
