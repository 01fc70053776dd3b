"""Reader of Camp JSON, OpenAtmos' predecessor: a config.json lists files, each with a list ``camp-data`` of objects.

As in MICM, every species is of the gas phase, and numbers are in molecules, cm3 and s. ``"time unit": "MIN"``, which
the first versions had, denotes rates per minute.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from airshed.mechanism.openatmos.document import Fields, Node, read_relative
from airshed.mechanism.openatmos.rates import BRANCHED, SURFACE, Collection, Equation, Units, refuse_other_kinds
from airshed.mechanism.openatmos.species import Gas, read_species

FILES: Final = "camp-files"
DATA: Final = "camp-data"

_ALIASES: Final = {"WENNBERG_NO_RO2": BRANCHED, "WENNBERG_TUNNELING": "TUNNELING"}
_NAME: Final = "MUSICA name"
_NO_REACTIONS: Final = ("CHEM_SPEC", "RELATIVE_TOLERANCE")
_TIME_UNITS: Final = {"s": 1.0, "S": 1.0, "min": 1.0 / 60.0, "MIN": 1.0 / 60.0}


def read_camp(root: Fields, path: Path) -> tuple[dict[str, Gas], Collection, list[str]]:
    """Return the species, the reactions and the files; raise MechanismError with the location of a fault."""
    nodes: list[Node] = []
    sources: list[str] = []
    for file in root.need(FILES).items():
        objects, shown = _objects(file, path)
        nodes.extend(objects)
        sources.append(shown)
    root.finish()
    kinds = [(node, _kind(node)) for node in nodes]
    refuse_other_kinds([(node, kind) for node, kind in kinds if kind not in _NO_REACTIONS])
    gases = read_species([node for node, kind in kinds if kind == "CHEM_SPEC"], camp=True)
    collection = Collection(gases)
    for node, kind in kinds:
        if kind not in _NO_REACTIONS:
            _add(collection, kind, node)
    return gases, collection, sources


def _objects(file: Node, path: Path) -> tuple[Sequence[Node], str]:
    """Return the objects of a file, with those of its mechanisms in place of them."""
    root, shown = read_relative(file, path)
    fields = root.fields()
    data = fields.need(DATA).items()
    fields.finish()
    return [item for node in data for item in _flat(node)], shown


def _flat(node: Node) -> Iterator[Node]:
    if _kind(node) != "MECHANISM":
        yield node
        return
    fields = node.fields()
    fields.ignore("type", "name")
    yield from fields.need("reactions").items()
    fields.finish()


def _kind(node: Node) -> str:
    kind = node.fields().need("type").text()
    return _ALIASES.get(kind, kind)


def _add(collection: Collection, kind: str, node: Node) -> None:
    fields = node.fields()
    fields.ignore("type")
    name = fields.text(_NAME)
    units = Units(camp=True, factor=_time_factor(fields))
    if kind == BRANCHED:
        keys = ("reactants", "alkoxy products", "nitrate products")
        reactants, alkoxy, nitrate = (_side(collection, fields, key) for key in keys)
        collection.add_branched(name, fields, (reactants, alkoxy, nitrate), units)
    else:
        collection.add(kind, name, fields, _equation(collection, kind, fields), units)
    fields.finish()


def _time_factor(fields: Fields) -> float:
    node = fields.get("time unit")
    if node is None:
        return 1.0
    if node.text() not in _TIME_UNITS:
        raise node.error(f"a time unit is 's' or 'MIN', not {node.shown()}")
    return _TIME_UNITS[node.text()]


def _equation(collection: Collection, kind: str, fields: Fields) -> Equation:
    if kind == SURFACE:
        reactant = _single(collection, fields.need("gas-phase reactant"))
        return Equation(reactant, _side(collection, fields, "gas-phase products"))
    if kind == "EMISSION":
        fields.ignore("products")
        return Equation((), _single(collection, fields.need("species")))
    if kind == "FIRST_ORDER_LOSS":
        return Equation(_single(collection, fields.need("species")), ())
    equation = Equation(_side(collection, fields, "reactants"), _side(collection, fields, "products"))
    if not equation.reactants:
        raise fields.node.error(f"a reaction of type {kind} has reactants; without them it is an EMISSION")
    return equation


def _single(collection: Collection, node: Node) -> tuple[tuple[str, float], ...]:
    return collection.amounts([(node, node.text(), 1.0)], reactants=True)


def _side(collection: Collection, fields: Fields, key: str) -> tuple[tuple[str, float], ...]:
    reactants = key == "reactants"
    members = _members(fields.need(key), "qty" if reactants else "yield")
    return collection.amounts(members, reactants=reactants)


def _members(node: Node, number: str) -> Iterator[tuple[Node, str, float]]:
    for name, item in node.mapping().items():
        fields = item.fields()
        coefficient = fields.number(number, 1.0)
        fields.finish()
        yield item, name, coefficient
