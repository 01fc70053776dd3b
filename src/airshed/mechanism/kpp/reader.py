"""Reader of a mechanism in KPP syntax, with its included files and its side file, into a ReactionNetwork."""

from collections.abc import Iterator
from pathlib import Path

from airshed.core.errors import MechanismError
from airshed.core.files import resource
from airshed.mechanism.kpp.assembly import Collection, assemble
from airshed.mechanism.kpp.parser import parse_section
from airshed.mechanism.kpp.source import INCLUDE, MODEL, Section, SourceFile, read_source
from airshed.mechanism.kpp.statements import MisplacedError
from airshed.mechanism.location import error_at, nearest
from airshed.mechanism.network import ReactionNetwork
from airshed.mechanism.rates_file import CodePolicy, RatesFile, rates_path, read_rates_file

_DEEPEST = 20


def read_kpp(path: Path, shown: str | None = None, code: CodePolicy = CodePolicy.REFUSED) -> ReactionNetwork:
    """Return the mechanism of a .def, .kpp, .eqn or .spc file and its includes, named after the file.

    Missing definitions of its rates are read from `<mechanism>.rates.toml` next to it, if that exists.

    shown  name of the file in messages and provenance, if not its path
    code   policy for functions in Python

    Raises MechanismError with file, line and column.
    """
    source, side = read_source(path, shown or str(path)), rates_path(path)
    name = str(Path(shown).with_name(side.name)) if shown else None
    return read_mechanism(source, path.stem, read_rates_file(side, name, code))


def read_mechanism(source: SourceFile, name: str, rates: RatesFile) -> ReactionNetwork:
    """Return the mechanism of a text in KPP syntax and its includes; raise MechanismError."""
    collection = Collection()
    _collect(source, collection, ())
    if not collection.declared(fixed=False):
        absent = f"; {collection.absent[0]} of #MODEL is not in the same folder" if collection.absent else ""
        advice = f"declare them under #DEFVAR, or #INCLUDE a file that does{absent}"
        raise MechanismError(f"{source.name}: no species; {advice}")
    return assemble(name, collection, rates)


def _collect(source: SourceFile, collection: Collection, above: tuple[SourceFile, ...]) -> None:
    """Add the statements of a file and of its includes; a file is read only once."""
    if any(source.path.resolve() == known.path.resolve() for known in collection.sources):
        return
    collection.sources.append(source)
    for section in _placed(source):
        if section.command in (INCLUDE, MODEL):
            _include(source, section, collection, (*above, source))
            continue
        try:
            statements = parse_section(section.command, source.text, section.start, section.end)
        except MisplacedError as error:
            raise error_at(source.location(error.offset), error.message) from None
        for statement in statements:
            collection.add(source, section.command, statement)


def _include(source: SourceFile, section: Section, collection: Collection, above: tuple[SourceFile, ...]) -> None:
    included = _included(source, section, collection.absent)
    if included is None:
        return
    here = source.location(section.start)
    for number, file in enumerate(above):
        if included.path.resolve() == file.path.resolve():
            circle = " -> ".join(each.path.name for each in (*above[number:], included))
            raise error_at(here, f"the files include each other in a circle: {circle}")
    if len(above) > _DEEPEST:
        raise error_at(here, f"files include each other more than {_DEEPEST} levels deep")
    _collect(included, collection, above)


def _placed(source: SourceFile) -> Iterator[Section]:
    try:
        yield from source.sections()
    except MisplacedError as error:
        raise error_at(source.location(error.offset), error.message) from None


def _included(source: SourceFile, section: Section, absent: list[str]) -> SourceFile | None:
    """Return the file of an #INCLUDE or #MODEL: next to the including file, or among the shipped mechanisms.

    A missing #MODEL is None: it names one that comes with KPP, and its content may be in the file itself.
    """
    here = source.location(section.start)
    try:
        name = source.argument(section)
    except MisplacedError as error:
        raise error_at(source.location(error.offset), error.message) from None
    if not name:
        raise error_at(
            here, f"expected the name of the {'model' if section.command == MODEL else 'file to include'}, on this line"
        )
    if Path(name).is_absolute() or name.startswith("~"):
        raise error_at(
            here, f"the file {name[:80]!r} to include is named from the root; name it from this file's folder"
        )
    name = f"{name}.def" if section.command == MODEL else name
    beside = source.path.parent / name, str(Path(source.name).parent / name)
    shipped = [(resource("mechanisms") / file, file) for file in (name, f"{name}.kpp")]
    for path, shown in (beside, *shipped):
        if _is_file(path):
            return read_source(path, shown)
    if section.command == MODEL:
        absent.append(name)
        return None
    neighbours = [path.name for path in source.path.parent.iterdir()]
    hint = nearest(name[:80], neighbours)
    raise error_at(here, f"the file {name[:80]!r} to include is not in the folder of {source.path.name}{hint}")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # an invalid file name
        return False
