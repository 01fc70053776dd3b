"""Access to a mechanism by name or path, and the choice of the format from the file name."""

import re
from os import PathLike
from pathlib import Path
from typing import Final

from airshed.core.errors import MechanismError, UnknownMechanismError
from airshed.core.files import resource
from airshed.core.text import nearest as nearest_name
from airshed.core.text import printable
from airshed.mechanism.kpp import read_kpp, write_kpp
from airshed.mechanism.location import nearest
from airshed.mechanism.network import ReactionNetwork
from airshed.mechanism.rates_file import CodePolicy, rates_path, read_rates_file, with_rates

_HEAD: Final = 200_000  # characters that are searched
_FLAGS: Final = re.MULTILINE | re.IGNORECASE

_FACSIMILE: Final = re.compile(r"^[ \t]*%[^:;\n]*:[^:;=%]*=[^:;%]*;", _FLAGS)
"""``% k : A + B = C ;``: a reaction of FACSIMILE, its rate before a colon."""

_CMAQ: Final = re.compile(r"^[ \t]*REACTIONS[ \t]*\[[ \t]*CM[ \t]*\]", _FLAGS)
_MOZART: Final = re.compile(r"^[ \t]*SPECIES[ \t]*$[\s\S]{0,2000}?^[ \t]*Solution[ \t]*$|^[ \t]*BEGSIM\b", _FLAGS)
_F0AM: Final = re.compile(r"\bSpeciesToAdd\b|^[ \t]*Rnames\{", _FLAGS)
_CHEMKIN: Final = re.compile(r"^[ \t]*ELEM(ENTS)?\b[\s\S]{0,2000}?\bEND\b[\s\S]{0,200}?^[ \t]*SPEC(IES)?\b", _FLAGS)
_CANTERA: Final = re.compile(
    r"^cantera-version[ \t]*:|^[ \t]*-[ \t]*(?:\{[ \t]*)?equation[ \t]*:|\bthermo[ \t]*:[ \t]*ideal-gas\b", _FLAGS
)
_BARE: Final = re.compile(r"^[ \t]*(\{\d+\.?\}|<[^<>\n]+>)[^=;#%]{1,400}=[^:;%]{0,400}:[^;]{1,400};", re.MULTILINE)

LANGUAGES: Final = (
    (_FACSIMILE, "FACSIMILE in a file of another suffix", "end the name of the file in .fac"),
    (_CMAQ, "CMAQ's mech.def", "write the reactions in KPP syntax, with k in molecules, cm3 and s"),
    (_MOZART, "MOZART's and CAM's .in", "take musica:ts1, which is MOZART TS1, or write the reactions in KPP syntax"),
    (_F0AM, "F0AM's .m", "export the mechanism as KPP or FACSIMILE where it comes from; the MCM's site offers both"),
    (_CANTERA, "Cantera's YAML", "write the reactions in KPP syntax, with k in molecules, cm3 and s"),
    (_CHEMKIN, "CHEMKIN", "write the reactions in KPP syntax, with k in molecules, cm3 and s"),
    (_BARE, "equations without KPP's sections, as PyBox has them",
     "put #DEFVAR with the species, and #EQUATIONS, before them"),
)  # fmt: skip
"""Pattern -> language and remedy; the first match is used."""


def refuse_other_language(path: Path) -> None:
    """Raise MechanismError with the name of the language and a remedy for a file in an unsupported language."""
    try:
        text = path.read_text(encoding="latin-1")[:_HEAD] if path.is_file() else ""
    except OSError:
        return  # the reader reports the reason
    if re.search(r"^[ \t]*#[ \t]*(DEFVAR|EQUATIONS|INCLUDE|MODEL)\b", text, _FLAGS):
        return
    for pattern, language, way in LANGUAGES:
        if pattern.search(text):
            fault = f"this appears to be {language}, which is not supported"
            raise MechanismError(f"{printable(str(path))}: {fault}; {way}")


# Reading and writing by name.


SUFFIXES = (".def", ".kpp", ".eqn", ".spc")
"""Suffixes of files in KPP syntax."""

FACSIMILE = (".fac",)
"""Suffixes of files in FACSIMILE's language, of the Master Chemical Mechanism and AtChem."""

OPENATMOS = (".json", ".yaml", ".yml")
"""Suffixes of files in the OpenAtmos format."""

READ = SUFFIXES + FACSIMILE + OPENATMOS
"""Suffixes of supported files."""


_LONGEST = 200


def shipped_mechanisms() -> tuple[str, ...]:
    """Return the names of the shipped mechanisms."""
    return tuple(sorted(path.stem for path in resource("mechanisms").glob("*.def")))


def load_mechanism(name_or_path: str | PathLike[str], *, allow_code: bool = False) -> ReactionNetwork:
    """Return a shipped mechanism by its name, such as ``emep``, or the mechanism of a file or folder by its path.

    Supported are files in KPP syntax (.def, .kpp, .eqn, .spc), in FACSIMILE's language (.fac), and in the OpenAtmos
    format (.json, .yaml, .yml, or a folder in its older form); ``musica:ts1`` is a mechanism of the installed package
    musica. Missing definitions are read from ``<mechanism>.rates.toml`` next to the file, if that exists.

    allow_code  whether functions in Python of the mechanism may run, with the rights of the user

    Raises MechanismError with the available names, with file, line and column of a fault in the file, or for code that
    is not allowed.
    """
    return _load(name_or_path, CodePolicy.RUN if allow_code else CodePolicy.REFUSED)


def inspect_mechanism(name_or_path: str | PathLike[str]) -> ReactionNetwork:
    """Return a mechanism for inspection: as :func:`load_mechanism`, but its code is never run.

    Functions in Python are present by name; a call raises MechanismError.
    """
    return _load(name_or_path, CodePolicy.LEFT)


def _load(name_or_path: str | PathLike[str], code: CodePolicy) -> ReactionNetwork:
    text = str(name_or_path)
    path = _of_musica(text) or Path(text)
    suffix = path.suffix.lower()
    if suffix in READ or len(path.parts) > 1:
        _refuse_missing(path)
    if suffix in FACSIMILE:
        from airshed.mechanism.facsimile import read_facsimile

        return read_facsimile(path, code)
    refuse_other_language(path)
    if suffix in OPENATMOS or (suffix not in SUFFIXES and _is_folder(path)):
        from airshed.mechanism.openatmos import read_openatmos

        return with_rates(read_openatmos(path), read_rates_file(rates_path(path), code=code))
    if suffix in SUFFIXES or len(path.parts) > 1:
        return read_kpp(path, code=code)
    name = _shipped_name(text)
    return read_kpp(resource("mechanisms") / f"{name}.def", shown=f"{name}.def")


def check_mechanism(name_or_path: str) -> None:
    """Raise UnknownMechanismError for a name that no shipped mechanism has; a path is not checked."""
    path = Path(name_or_path)
    if not (name_or_path.startswith("musica:") or path.suffix.lower() in SUFFIXES + OPENATMOS or len(path.parts) > 1):
        _shipped_name(name_or_path)


def _shipped_name(text: str) -> str:
    names = shipped_mechanisms()
    for name in names:
        if name.casefold() == text.casefold():
            return name
    known = ", ".join(names)
    raise UnknownMechanismError(
        f"there is no mechanism {text[:80]!r} (shipped are {known}; a path ends in .def, .eqn, .spc or .kpp, .fac,"
        f" .json or .yaml)"
        f"{nearest(text[:80], names)}"
    )


def _refuse_missing(path: Path) -> None:
    """Raise MechanismError, with the nearest existing or shipped name, if there is no such file or folder."""
    try:
        if path.exists():
            return
        beside = [each.name for each in path.parent.iterdir() if each.suffix.lower() in READ]
    except (OSError, ValueError):  # an invalid name, or no folder
        beside = []
    known = {name: name for name in shipped_mechanisms()} | {Path(name).stem: name for name in sorted(beside)}
    match = nearest_name(path.stem[:_LONGEST], known)  # of stems: suffixes are always alike
    hint = f"; did you mean {known[match]!r}?" if match else ""
    shown = printable(str(path) if len(str(path)) <= _LONGEST else f"{str(path)[:_LONGEST]}...")
    raise MechanismError(f"{shown}: there is no such file; expected a reaction file (.def, .eqn, .json, ...){hint}")


def _of_musica(text: str) -> Path | None:
    """Return the file of ``musica:NAME`` in the package musica, or None for any other text."""
    prefix, _, name = text.partition(":")
    if prefix != "musica":
        return None
    from airshed.mechanism.openatmos import musica_file

    return musica_file(name)


def save_mechanism(network: ReactionNetwork, path: Path) -> tuple[Path, ...]:
    """Write a mechanism in the format of the path's suffix, and return the written files.

    Raises MechanismError for an unknown suffix and for content that the format cannot represent; OutputError.
    """
    suffix = path.suffix.lower()
    if suffix in SUFFIXES:
        return write_kpp(network, path)
    if suffix in OPENATMOS:
        from airshed.mechanism.openatmos import write_openatmos

        write_openatmos(network, path)
        return (path,)
    raise MechanismError(
        f"{path}: the suffix does not determine the format; use {', '.join(SUFFIXES)} (KPP) or {', '.join(OPENATMOS)}"
        " (OpenAtmos)"
    )


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir() and any((path / name).is_file() for name in ("config.json", "config.yaml", "species.json"))
    except (OSError, ValueError):  # an invalid file name
        return False
