"""Reader of a mechanism in OpenAtmos v1 (JSON or YAML) or Camp JSON into a ReactionNetwork."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from airshed.core.errors import MechanismError
from airshed.core.text import printable
from airshed.formula.tree import Expression
from airshed.mechanism.location import check_label, check_name, nearest
from airshed.mechanism.network import OpenParameter, ReactionNetwork
from airshed.mechanism.openatmos.camp import DATA, FILES, read_camp
from airshed.mechanism.openatmos.document import Fields, Node, read_document, read_relative
from airshed.mechanism.openatmos.rates import (
    BRANCHED,
    PREFIXES,
    SURFACE,
    Amounts,
    Collection,
    Equation,
    Units,
    read_expression,
    refuse_other_kinds,
)
from airshed.mechanism.openatmos.species import Gas, in_phase, read_species

GAS: Final = "gas"
_MOLAR: Final = Units(camp=False)
_SECTIONS: Final = ("aerosol representations", "aerosol processes")

_KEYS: Final = {
    **dict.fromkeys(("ARRHENIUS", "TAYLOR_SERIES"), ("A", "B", "C", "D", "E", "Ea")),
    "TUNNELING": ("A", "B", "C"),
}


def read_version1(root: Fields, path: Path) -> tuple[dict[str, Gas], Collection]:
    """Return the species of the gas phase, and the reactions; raise MechanismError with the location of a fault."""
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
    return [item for file in files for item in read_relative(file, path)[0].items()]


def _phase(phases: Sequence[Node], reactions: Sequence[Node], root: Node) -> Node:
    """Return the phase of the reactions; without reactions the one called gas."""
    by_name: dict[str, Node] = {}
    for node in phases:
        fields = node.fields()
        name = fields.need("name").text()
        fields.need("species").items()
        fields.finish()
        if name in by_name:
            raise node.error(f"the phase {name!r} occurs twice")
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
    """Yield the species of one side: a list, or a single one, each an object or a name."""
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


# Reader of a mechanism in OpenAtmos v1 (JSON or YAML) or Camp JSON into a ReactionNetwork.


ATOMS: Final = "__atoms"
CHECKED: Final = "__check"
PARAMETERS: Final = "__parameters"
BINDINGS: Final = "__bindings"
SUMS: Final = "__sums"
"""Species that is a sum, see `airshed.mechanism.kpp.sums` -> the weights of the species in it."""

MECHANISM: Final = "mechanism"
"""Key of a MusicBox file, next to the conditions of the box."""

COMPONENTS: Final = "model components"
"""Key of a MusicBox file of the older form, for a list with the mechanism's file."""

CONFIGURATION: Final = "configuration file"
"""Key of that file in the list."""

CONFIGURATIONS: Final = ("config.yaml", "config.yml", "config.json")
"""File names of a folder's mechanism, in the order of MICM's search."""

_NAME = re.compile(r"[\w.+-]{1,80}", re.ASCII)


def read_openatmos(path: Path, shown: str | None = None) -> ReactionNetwork:
    """Return the mechanism of a JSON or YAML file, or of a folder with a config.json, converted to molecules and cm3.

    shown  name of the file in messages and provenance, if not its path

    A species of the file is one of the network, as in MICM: O2, N2, H2O, and M unless it "is third body", are variable
    if the file does not fix them. Raises MechanismError with file, line, column and JSON pointer.
    """
    path, shown = Path(path), shown or str(path)
    if path.is_dir():
        names = [name for name in CONFIGURATIONS if (path / name).is_file()]
        if not names:
            raise MechanismError(f"{shown}: the folder has none of {', '.join(CONFIGURATIONS)}")
        path, shown = path / names[0], str(Path(shown) / names[0])
    node = read_document(path, shown)
    if not isinstance(node.value, dict):
        raise node.expected("a mechanism: an object with 'version', 'species', 'phases' and 'reactions'")
    node, path, shown = _of_musicbox(node, path, shown)
    root = node.fields()
    if FILES in root:
        gases, collection, others = read_camp(root, path)
        return _network(node, _stem(path), gases, collection, (shown, *others))
    if DATA in root:
        raise root.need(DATA).error(
            f"this is a part of a mechanism in Camp JSON; give the file that lists it in {FILES!r}"
        )
    _check_version(root)
    gases, collection = read_version1(root, path)
    name = root.text("name")
    root.ignore("emissions")  # inventories of a host, no chemistry
    root.finish()
    return _network(node, name if _NAME.fullmatch(name) else _stem(path), gases, collection, (shown,))


def _of_musicbox(node: Node, path: Path, shown: str) -> tuple[Node, Path, str]:
    """Return the mechanism of a MusicBox file, which is under `mechanism` or in the file named there.

    Raises MechanismError for a file of the older form, which names the file of its mechanism.
    """
    older = node.value.get(COMPONENTS)
    if older is not None and isinstance(older.value, list):
        named = [each.value[CONFIGURATION] for each in older.items() if CONFIGURATION in each.mapping()]
        if named:
            name = named[0].text()
            raise older.error(f"a MusicBox file of the older form: give the mechanism that it names, {name!r}")
    inner = node.value.get(MECHANISM) if "version" not in node.value else None
    if inner is None:
        return node, path, shown
    if isinstance(inner.value, str):
        found, name = read_relative(inner, path)
        if not isinstance(found.value, dict):
            raise found.expected("a mechanism: an object with 'version', 'species', 'phases' and 'reactions'")
        return found, path.parent / inner.value, name
    if not isinstance(inner.value, dict):
        raise inner.expected("a mechanism: an object with 'version', 'species', 'phases' and 'reactions'")
    return inner, path, shown


def _check_version(root: Fields) -> None:
    """Raise MechanismError unless the file declares version 1."""
    node = root.get("version")
    if node is None:
        message = f"this is no mechanism: 'version' is missing (Camp JSON has {FILES!r} instead)"
        raise root.node.error(message)
    text = node.value if isinstance(node.value, str) else f"{node.number():g}"
    if text.partition(".")[0] != "1":
        raise node.error(f"version {text[:20]!r} is not read: expected 1.0 to 1.4, or Camp JSON")


def _stem(path: Path) -> str:
    """Return a name for a mechanism from its file, or its folder if the file has a generic name."""
    general = path.stem.casefold() in ("config", "mechanism") and path.resolve().parent.name
    return path.resolve().parent.name if general else path.stem


def _network(
    node: Node, name: str, gases: Mapping[str, Gas], collection: Collection, sources: tuple[str, ...]
) -> ReactionNetwork:
    if not any(not gas.species.fixed for gas in gases.values()):
        raise node.error("no species of the gas phase that chemistry changes")
    root = node.fields()
    bindings = {gas.species.name: gas.binding for gas in gases.values() if gas.binding is not None}
    bindings = {key: value for key, value in bindings.items() if key.upper() != str(value)}
    renamed = {key: gas.species.name for key, gas in gases.items() if gas.species.name != key}
    used = [atom for gas in gases.values() for atom in gas.species.atoms]
    return ReactionNetwork(
        name=name,
        species=tuple(gas.species for gas in gases.values() if not gas.species.fixed),
        fixed=tuple(gas.species for gas in gases.values() if gas.species.fixed),
        reactions=tuple(collection.reactions),
        atoms=tuple(dict.fromkeys([*_texts(root, ATOMS), *used])),
        initial={gas.species.name: gas.initial for gas in gases.values() if gas.initial is not None},
        declared=_declared(root, collection),
        bindings={**bindings, **_bindings(root, renamed)},
        renamed=renamed,
        checked=tuple(_texts(root, CHECKED)),
        sources=sources,
        sums=_sums(root, {gas.species.name for gas in gases.values() if not gas.species.fixed}),
    )


def _texts(root: Fields, key: str) -> list[str]:
    node = root.get(key)
    items = [] if node is None or not isinstance(node.value, list) else node.items()
    for item in items:
        check_name("atom", item.text(), item.location)
    return [item.text() for item in items]


def _declared(root: Fields, collection: Collection) -> tuple[OpenParameter, ...]:
    known = dict(collection.parameters)
    node = root.get(PARAMETERS)
    for item in node.items() if node is not None else ():
        fields = item.fields()
        name = fields.need("name").text()
        default = fields.optional_number("default")
        check_label("the open parameter", name, item.location)
        known[name] = OpenParameter(name, printable(fields.text("unit")), printable(fields.text("text")), default)
        fields.finish()
    return tuple(known.values())


def _sums(root: Fields, species: set[str]) -> dict[str, dict[str, float]]:
    node = root.get(SUMS)
    if node is None:
        return {}
    sums = {
        name: {each: weight.number() for each, weight in item.mapping().items()}
        for name, item in node.mapping().items()
    }
    for name in (*sums, *(each for weights in sums.values() for each in weights)):
        if name not in species:
            raise node.error(f"species {name!r} is not declared{nearest(name, species)}")
    return sums


def _bindings(root: Fields, renamed: Mapping[str, str]) -> dict[str, Expression]:
    node = root.get(BINDINGS)
    if node is None:
        return {}
    for name, item in node.mapping().items():
        check_label("the open parameter", name, item.location)
    return {renamed.get(name, name): read_expression(item) for name, item in node.mapping().items()}
