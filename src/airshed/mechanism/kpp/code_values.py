"""Values that inlined code computes by plain formulas, as KRO2NO in files of the Master Chemical Mechanism.

They are read where that is exact: from code that runs at each update of the rates (F90_RCONST), without branches and
loops, which assigns each name once, in the language of rates, before it is used, and hands it to no subroutine. All
other code of a file stays unread.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

from airshed.core.errors import MechanismError
from airshed.mechanism.kpp.definitions import Definition
from airshed.mechanism.kpp.meaning import KNOWN
from airshed.mechanism.kpp.parser import parse_formula
from airshed.mechanism.kpp.source import SourceFile
from airshed.mechanism.kpp.statements import Formula, MisplacedError, names_in
from airshed.mechanism.kpp.sums import statements_of
from airshed.mechanism.location import error_at

_BLOCKS: Final = re.compile(r"\w+_RCONST", re.IGNORECASE)
_ASSIGNMENT: Final = re.compile(r"([A-Za-z]\w*)\s*=\s*([^=].*)")
_DECLARATION: Final = re.compile(r"(?:use|real|integer|implicit|parameter|double|logical)\b.*|.*::[^=]*", re.IGNORECASE)
_CALL: Final = re.compile(r"call\s+\w+\s*(.*)", re.IGNORECASE)
_INDEX: Final = re.compile(r"\bindf?_", re.IGNORECASE)


def code_values(sources: Iterable[SourceFile], species: Iterable[str]) -> dict[str, Definition]:
    """Return the values by their names, the case folded, without those that are called as the air or a species is."""
    sources, found = tuple(sources), dict[str, Definition]()
    counted = Counter(name for source in sources for name in source.assignments_in_code)
    taken = {name.casefold() for name in (*KNOWN, *species)}
    for source in sources:
        for block, offset, code in source.blocks:
            if not _BLOCKS.fullmatch(block):
                continue
            locate = partial(_error, source, offset)
            for name, formula in _assigned(code):
                key = name.casefold()
                if counted[key] == 1 and key not in taken:
                    found[key] = Definition(name, (), formula, locate)
    return found


def _assigned(code: str) -> Iterator[tuple[str, Formula]]:
    """Yield what a piece of code assigns; nothing of code that is more than assignments."""
    statements, is_plain = statements_of(code)
    calls = [match[1] for each in statements if (match := _CALL.fullmatch(each))]
    values = [match for each in statements if (match := _ASSIGNMENT.fullmatch(each))]
    declared = [each for each in statements if not each or _DECLARATION.fullmatch(each)]
    if not is_plain or len(calls) + len(values) + len(declared) < len(statements):
        return
    handed = {name.casefold() for each in calls for name in re.findall(r"[A-Za-z]\w*", each)}
    later = [match[1].casefold() for match in values]
    for match in values:
        formula = None if _INDEX.search(match[2]) else _formula(match[2])
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
