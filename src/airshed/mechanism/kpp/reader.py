"""Reads a mechanism in KPP syntax, with the files that it includes, into a ReactionNetwork."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from airshed.core.errors import MechanismError
from airshed.core.resources import resource
from airshed.mechanism.elements import ATOMIC_WEIGHTS
from airshed.mechanism.kpp.parser import parse_section
from airshed.mechanism.kpp.source import INCLUDE, Section, SourceFile, read_source
from airshed.mechanism.kpp.statements import (
    Amount,
    AtomStatement,
    EquationStatement,
    MisplacedError,
    SpeciesStatement,
    Statement,
    ValueStatement,
)
from airshed.mechanism.location import Location, error_at, nearest
from airshed.mechanism.network import Reaction, ReactionNetwork, Species

_LIGHT, _NOTHING = "hv", "prod"
_GROUPS = ("all_spec", "var_spec", "fix_spec")


def read_kpp(path: Path, shown: str | None = None) -> ReactionNetwork:
    """Return the mechanism of a .def, .kpp, .eqn or .spc file and its includes, named after the file.

    shown  what messages and provenance call the file, if not by its path

    Raises MechanismError with file, line and column.
    """
    collection = _Collection()
    _collect(read_source(path, shown or str(path)), collection)
    if not collection.declared(fixed=False):
        raise MechanismError(f"{shown or path}: no species; declare them under #DEFVAR, or #INCLUDE a file that does")
    return _network(path.stem, collection)


@dataclass
class _Collection:
    """What the files state, in their order; names are keyed with their case folded."""

    sources: list[SourceFile] = field(default_factory=list)
    atoms: dict[str, str] = field(default_factory=dict)
    species: dict[str, tuple[Location, Species]] = field(default_factory=dict)
    equations: list[tuple[SourceFile, EquationStatement]] = field(default_factory=list)
    values: list[tuple[Location, ValueStatement]] = field(default_factory=list)
    compositions: list[tuple[SourceFile, str, tuple[Amount, ...]]] = field(default_factory=list)

    def declared(self, *, fixed: bool) -> tuple[Species, ...]:
        return tuple(species for _, species in self.species.values() if species.fixed == fixed)


def _collect(source: SourceFile, collection: _Collection) -> None:
    """Add the statements of a file and of what it includes; a file that was read before is not read again."""
    if any(source.path.resolve() == known.path.resolve() for known in collection.sources):
        return
    collection.sources.append(source)
    for section in _placed(source):
        if section.command == INCLUDE:
            _collect(_included(source, section), collection)
            continue
        try:
            statements = parse_section(section.command, source.text, section.start, section.end)
        except MisplacedError as error:
            raise error_at(source.location(error.offset), error.message) from None
        for statement in statements:
            _add(source, section.command, statement, collection)


def _placed(source: SourceFile) -> Iterator[Section]:
    try:
        yield from source.sections()
    except MisplacedError as error:
        raise error_at(source.location(error.offset), error.message) from None


def _included(source: SourceFile, section: Section) -> SourceFile:
    """Return the file that an #INCLUDE names: beside the including file, or among the shipped mechanisms."""
    line, _, rest = source.text[section.start : section.end].partition("\n")
    here = source.location(section.start)
    if not line.strip():
        raise error_at(here, "expected the name of the file to include, on this line")
    if rest.strip():
        after = source.location(section.end - len(rest.lstrip()))
        raise error_at(after, "expected a command such as #DEFVAR or #EQUATIONS after the line of #INCLUDE")
    name = line.strip().strip("\"'")
    beside = source.path.parent / name, str(Path(source.name).parent / name)
    shipped = [(resource("mechanisms") / file, file) for file in (name, f"{name}.kpp")]
    for path, shown in (beside, *shipped):
        if _is_file(path):
            return read_source(path, shown)
    neighbours = [path.name for path in source.path.parent.iterdir()]
    hint = nearest(name[:80], neighbours)
    raise error_at(here, f"the file {name[:80]!r} to include is not beside {source.path.name}{hint}")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that no file system takes
        return False


def _add(source: SourceFile, command: str, statement: Statement, collection: _Collection) -> None:
    location = source.location(statement.offset)
    match statement:
        case AtomStatement(name=name):
            collection.atoms.setdefault(name.casefold(), name)
        case SpeciesStatement(name=name, composition=parts):
            _refuse_second(location, name, collection)
            species = Species(name, {}, source.remark(statement.offset), fixed=command == "DEFFIX")
            collection.species[name.casefold()] = (location, species)
            collection.compositions.append((source, name.casefold(), parts))
        case EquationStatement():
            collection.equations.append((source, statement))
        case ValueStatement():
            collection.values.append((location, statement))


def _refuse_second(location: Location, name: str, collection: _Collection) -> None:
    if name.casefold() == _LIGHT:
        raise error_at(location, f"{name} stands for light in an equation and cannot be a species")
    if name.casefold() in collection.species:
        first = collection.species[name.casefold()][0]
        raise error_at(location, f"species {name!r} is declared a second time; the first is at {first}")


def _network(name: str, collection: _Collection) -> ReactionNetwork:
    _compose(collection)
    atoms = tuple(collection.atoms.values())
    return ReactionNetwork(
        name=name,
        species=collection.declared(fixed=False),
        fixed=collection.declared(fixed=True),
        reactions=_reactions(collection),
        atoms=atoms,
        initial=_initial(collection),
        sources=tuple(source.name for source in collection.sources),
    )


def _compose(collection: _Collection) -> None:
    """Give every species its atoms; where no file has #ATOMS, the chemical elements may be used."""
    known = collection.atoms or {symbol.casefold(): symbol for symbol in ATOMIC_WEIGHTS}
    used = collection.atoms
    for source, key, parts in collection.compositions:
        atoms: dict[str, int] = {}
        for part in parts:
            atom = known.get(part.name.casefold())
            if atom is None:
                hint = nearest(part.name, known.values())
                raise error_at(source.location(part.offset), f"atom {part.name!r} is not declared under #ATOMS{hint}")
            used.setdefault(atom.casefold(), atom)
            atoms[atom] = atoms.get(atom, 0) + int(part.coefficient)
        location, species = collection.species[key]
        collection.species[key] = (location, replace(species, atoms=atoms))


def _reactions(collection: _Collection) -> tuple[Reaction, ...]:
    reactions: dict[str, Reaction] = {}
    for number, (source, equation) in enumerate(collection.equations, start=1):
        location = source.location(equation.offset)
        label = equation.label or f"R{number}"
        if label.casefold() in reactions:
            first = reactions[label.casefold()].location
            raise error_at(location, f"the label <{label}> stands a second time; the first is at {first}")
        reactions[label.casefold()] = Reaction(
            label=label,
            reactants=_amounts(source, equation.reactants, collection, ignored=(_LIGHT,)),
            products=_amounts(source, equation.products, collection, ignored=(_LIGHT, _NOTHING)),
            rate=equation.rate,
            text=" ".join(source.text[equation.offset : equation.end].split()),
            location=location,
        )
    return tuple(reactions.values())


def _amounts(
    source: SourceFile, amounts: Sequence[Amount], collection: _Collection, ignored: Sequence[str]
) -> tuple[tuple[str, float], ...]:
    """Return (declared name, coefficient) pairs, without light and, unless declared, the product that is nothing."""
    result = []
    for amount in amounts:
        declared = collection.species.get(amount.name.casefold())
        if declared is not None:
            result.append((declared[1].name, amount.coefficient))
        elif amount.name.casefold() not in ignored:
            names = [species.name for _, species in collection.species.values()]
            hint = nearest(amount.name, names)
            raise error_at(source.location(amount.offset), f"species {amount.name!r} is not declared{hint}")
    return tuple(result)


def _initial(collection: _Collection) -> dict[str, float]:
    """Return the initial values [molecules cm-3]: CFACTOR times those of #INITVALUES, of which the last counts."""
    factor = 1.0
    values: dict[str, float] = {}
    for location, statement in collection.values:
        key = statement.name.casefold()
        if key == "cfactor":
            factor = statement.value
        elif key in _GROUPS:
            wanted = {"all_spec": (True, False), "var_spec": (False,), "fix_spec": (True,)}[key]
            members = [known.name for _, known in collection.species.values() if known.fixed in wanted]
            values |= dict.fromkeys(members, statement.value)
        elif key in collection.species:
            values[collection.species[key][1].name] = statement.value
        else:
            hint = nearest(statement.name, [known.name for _, known in collection.species.values()])
            raise error_at(location, f"species {statement.name!r} is not declared{hint}")
    return {name: factor * value for name, value in values.items()}
