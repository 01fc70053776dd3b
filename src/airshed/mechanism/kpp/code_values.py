"""Values that inlined code computes by plain formulas, as KRO2NO in files of the Master Chemical Mechanism.

They are read where this is exact. The code must run at each update of the rates (F90_RCONST) without branches and
loops. It must assign each name once, in the language of rates, before its use, and must not pass it to a subroutine.
All other code of a file is ignored.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Final

from airshed.core.errors import MechanismError
from airshed.mechanism.file_air import AIR_NAMES
from airshed.mechanism.kpp.meaning import KNOWN, Definition
from airshed.mechanism.kpp.parser import parse_formula
from airshed.mechanism.kpp.source import SourceFile
from airshed.mechanism.kpp.statements import Formula, MisplacedError, names_in
from airshed.mechanism.kpp.sums import GUARDED, statements_of
from airshed.mechanism.location import error_at

_BLOCKS: Final = re.compile(r"\w+_RCONST", re.IGNORECASE)
_ASSIGNMENT: Final = re.compile(r"([A-Za-z]\w*)\s*=\s*([^=].*)")
_DECLARATION: Final = re.compile(r"(?:use|real|integer|implicit|parameter|double|logical)\b.*|.*::[^=]*", re.IGNORECASE)
_CALL: Final = re.compile(r"call\s+\w+\s*(.*)", re.IGNORECASE)
_INDEX: Final = re.compile(r"indf?_", re.IGNORECASE)


def code_values(sources: Iterable[SourceFile], species: Mapping[str, bool]) -> dict[str, Definition]:
    """Return the values by name, with case folded, except those with the name of the air or a species.

    species  name, its case folded -> whether it is fixed: concentrations of others are not part of a value
    """
    sources, found = tuple(sources), dict[str, Definition]()
    counted = Counter(name for source in sources for name in source.assignments_in_code)
    taken = {*map(str.casefold, KNOWN), *species}
    for source in sources:
        for block, offset, code in source.blocks:
            if not _BLOCKS.fullmatch(block):
                continue
            locate = partial(_error, source, offset)
            for name, formula in _assigned(code):
                key = name.casefold()
                indices = [each.name for each in names_in(formula) if _INDEX.match(each.name)]
                is_fixed = all(species.get(each.partition("_")[2].casefold(), False) for each in indices)
                if counted[key] == 1 and key not in taken and is_fixed:
                    found[key] = Definition(name, (), formula, locate)
    return found


def set_in_code(sources: Iterable[SourceFile], species: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of the air, and the species, whose value or concentration inlined code sets.

    species  name, its case folded -> as declared
    """
    sources = tuple(sources)
    concentrations = {name for source in sources for name in source.concentrations_in_code}
    defined = {name for source in sources for name in source.values_in_code} | concentrations
    air = [name for name in AIR_NAMES if name.casefold() in defined]
    known = [species[name] for name in sorted(concentrations) if name in species]
    return (*air, *(name for name in known if name.upper() not in AIR_NAMES))


def _assigned(code: str) -> Iterator[tuple[str, Formula]]:
    """Yield the assignments of a piece of code; none if it contains anything else."""
    statements, is_plain = statements_of(code)
    calls = [match[1] for each in statements if (match := _CALL.fullmatch(each))]
    values = [match for each in statements if (match := _ASSIGNMENT.fullmatch(each))]
    guarded = [match[2] for each in statements if (match := GUARDED.fullmatch(each))]
    declared = [each for each in statements if not each or _DECLARATION.fullmatch(each)]
    if not is_plain or len(calls) + len(values) + len(guarded) + len(declared) < len(statements):
        return
    handed = {name.casefold() for each in calls + guarded for name in re.findall(r"[A-Za-z]\w*", each)}
    later = [match[1].casefold() for match in values]
    for match in values:
        formula = _formula(match[2])
        named = {each.name.casefold() for each in names_in(formula)} if formula is not None else set()
        if formula is not None and named.isdisjoint(later) and match[1].casefold() not in handed:
            yield match[1], formula
        later.pop(0)


def _formula(text: str) -> Formula | None:
    """Return a formula in the language of rates; None for any other text."""
    try:
        return parse_formula(text)
    except MisplacedError:
        return None


def _error(source: SourceFile, offset: int, error: MisplacedError) -> MechanismError:
    return error_at(source.location(offset), f"in this inlined code: {error.message}")
