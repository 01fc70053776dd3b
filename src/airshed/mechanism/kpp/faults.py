"""Collects the faults of the reactions of a file, so that one message tells each kind once."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from airshed.core.errors import MechanismError
from airshed.mechanism.kpp.definitions import Unknown
from airshed.mechanism.kpp.dialects import Missing, message, of_dialect
from airshed.mechanism.kpp.meaning import Meaning, meant
from airshed.mechanism.kpp.sums import CodeSum
from airshed.mechanism.location import Location, error_at, nearest
from airshed.mechanism.rates_file import RatesFile
from airshed.mechanism.reaction import Reaction

_MOST_FAULTS: Final = 20
_LONGEST: Final = 1000
"""Characters of a message, of which a terminal shows a little more."""
_MOST_NAMES: Final = 8
_VARIABLE: Final = re.compile(r"a rate cannot depend on (\w+), a variable species")
_LABEL: Final = re.compile(r"the rate of <[^<>]{0,200}>")
_PLACE: Final = re.compile(r"^[^\n]*?:\d+:\d+: ")


class Faults:
    """The faults of many reactions, each of a kind once with the number of its places."""

    def __init__(self) -> None:
        self.found: dict[str, tuple[MechanismError, int]] = {}
        self._names: dict[str, dict[str, None]] = {}

    def add(self, fault: MechanismError) -> None:
        """Note a fault; alike are those that say the same of other places, or of other variable species."""
        kind = _LABEL.sub("the rate of <>", _PLACE.sub("", str(fault), count=1))
        named = _VARIABLE.search(kind)
        if named is not None:
            kind = kind.replace(named[0], "")
            self._names.setdefault(kind, {})[named[1]] = None
        first, number = self.found.get(kind, (fault, 0))
        self.found[kind] = (first, number + 1)

    @property
    def many(self) -> bool:
        """Whether there are more kinds than a message can list."""
        return len(self.found) > _MOST_FAULTS

    def text(self) -> str:
        """Return all of them, a line each."""
        lines: list[str] = []
        for kind, (fault, number) in list(self.found.items())[:_MOST_FAULTS]:
            if sum(map(len, lines)) + len(str(fault)) > _LONGEST and lines:
                left = "and more" if self.many else f"and {len(self.found) - len(lines)} more"
                return "\n".join([*lines, left])
            others = list(self._names.get(kind, ()))[1:]
            of = f" of {', '.join(others[:_MOST_NAMES])}{' ...' * (len(others) > _MOST_NAMES)} too" if others else ""
            lines.append(str(fault) + (f" ({number} places{of}, this is the first)" if number > 1 else ""))
        return "\n".join([*lines, *(["and more"] if self.many else [])])


def first_places(unknown: Iterable[tuple[Location, str, Unknown]]) -> list[tuple[Location, str, Unknown]]:
    """Return each name that nothing explains where it stands first."""
    first: dict[str, tuple[Location, str, Unknown]] = {}
    for each in unknown:
        first.setdefault(each[2].name.casefold(), each)
    return list(first.values())


def of_species(unknown: tuple[Location, str, Unknown], total: CodeSum, meaning: Meaning) -> MechanismError:
    """Return the error of a rate with what code computes from concentrations and cannot be carried as their sum."""
    place, label, each = unknown
    known = {**meaning.variable, **meaning.fixed}
    undeclared = [name for name in total.among(known) if name not in known]
    fixed = [meaning.fixed[name] for name in total.among(known) if name in meaning.fixed]
    if undeclared:
        first = undeclared[0].upper()
        more = f", nor are {len(undeclared) - 1} others of it" if len(undeclared) > 1 else ""
        fault = f"a sum with {first}, which is not declared{nearest(first, known.values())}{more}"
    elif fixed:
        fault = f"a sum with {fixed[0]}, a fixed species: take it out of the sum, and write reactions with it for it"
    else:
        fault = (
            "which inlined code computes from variable species, and not as their plain sum: write it as one line, "
            f"{each.name} = C(ind_A) + C(ind_B), or the reaction once for each species X of it, A + X = B + X : k"
        )
    return error_at(place, f"the rate of <{label}> depends on {each.name}, {fault}")


def of_power(reaction: Reaction, species: Sequence[str], sums: Iterable[str]) -> MechanismError:
    """Return the error of a rate that depends on concentrations in another way than by their powers."""
    text = (
        f"the rate of <{reaction.label}> depends on {' and '.join(sums)}, a sum of variable species, in another way "
        "than by a factor; write it as a reaction of these species"
    )
    if species:
        text = (
            f"a rate cannot depend on {species[0]}, a variable species, in another way than by a factor; write the "
            "function that takes it so, or without it"
        )
    return error_at(reaction.location, text)


def missing_formulas(unknown: Iterable[tuple[Location, str, Unknown]]) -> list[Missing]:
    """Return what no formula gives, each function once with the number of its places."""
    found: dict[tuple[str, int], Missing] = {}
    for place, label, each in unknown:
        key = each.name.casefold(), each.arguments
        if key in found:
            found[key] = replace(found[key], places=found[key].places + 1)
        else:
            found[key] = Missing(each.name, each.arguments, each.text, label, place, species=each.species)
    return list(found.values())


def unexplained(missing: Sequence[Missing], rates: RatesFile, file: str) -> MechanismError:
    """Return the error that names all that the rates call and no formula gives, each with its first reaction."""
    one = missing[0]
    alone = len(missing) == 1 and one.arguments and of_dialect(one.name, one.arguments) is None
    hint = meant(one.name, rates.definitions) if alone else ""
    return error_at(one.location, f"{message(missing, rates.path.name, file)}{hint}")
