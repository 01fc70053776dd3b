"""Reactions that a process adds to the mechanism, as lines of text: `RN222 = PB214 : 2.1e-6`."""

import re
from collections.abc import Sequence
from typing import Final

from airshed.core.errors import CaseError, MechanismError
from airshed.core.text import suggestion
from airshed.mechanism.kpp.meaning import read_rate
from airshed.mechanism.reaction import Reaction

_MEMBER: Final = re.compile(r"((?:\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?)?\s*(?:\*\s*)?([A-Za-z]\w*)")


def read_reactions(lines: Sequence[str], species: Sequence[str], key: str) -> tuple[Reaction, ...]:
    """Return the reactions of a process; raises CaseError for a line that is none.

    A line is `reactants = products : rate`, the rate [s-1, cm3 s-1 ...] as reaction files write it; products may be
    left out. key  the process's, in front of their labels
    """
    return tuple(_read(line.strip().rstrip(";"), species, f"{key}_{number}") for number, line in enumerate(lines, 1))


def _read(line: str, species: Sequence[str], label: str) -> Reaction:
    equation, colon, rate = line.partition(":")
    left, equals, right = equation.partition("=")
    if not (colon and equals and left.strip()):
        raise CaseError(f"{label}: {line[:80]!r} is no reaction; write it as A + B = C : 1e-12")
    try:
        return Reaction(label, _members(left, species, label), _members(right, species, label), read_rate(rate), line)
    except MechanismError as error:
        raise CaseError(f"{label}: {line[:80]!r}: {error}") from None


def _members(side: str, species: Sequence[str], label: str) -> tuple[tuple[str, float], ...]:
    found = []
    for member in (part for part in map(str.strip, side.split("+")) if part not in ("", "PROD")):
        match = _MEMBER.fullmatch(member)
        if match is None:
            raise CaseError(f"{label}: {member[:40]!r} is no species with its number, such as 0.5 C")
        if match[2] not in species:
            raise CaseError(f"{label}: {match[2]!r} is no species of the mechanism; {suggestion(match[2], species)}")
        found.append((match[2], float(match[1] or 1.0)))
    return tuple(found)
