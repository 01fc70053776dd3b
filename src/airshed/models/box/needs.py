"""Names, units and missing values of conditions that a mechanism and formulas require."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from airshed.core.errors import CaseError
from airshed.core.text import suggestion
from airshed.formula.functions import FUNCTIONS
from airshed.formula.parse import CONSTANTS, Formula, unknown_name
from airshed.mechanism.expressions import AIR_GASES
from airshed.mechanism.network import OpenParameter, ReactionNetwork
from airshed.mechanism.structure import units_of_open
from airshed.models.box.values import RATE_UNITS, CsvColumn, Value, parse_value, spellings

SUN: Final = ("SUN", "sec_zenith", "daylight")
_DENSITY: Final = "environment.pressure or fixed.M"
_SUN: Final = "rates.SUN, rates.sec_zenith or environment.location"
_WATER: Final = "environment.humidity or fixed.H2O"

_KEYS: Final = {
    "T": "environment.temperature", **dict.fromkeys(("p", "M", "O2", "N2"), _DENSITY),
    **dict.fromkeys(("H2O", "humidity"), _WATER), **dict.fromkeys(SUN, _SUN),
}  # fmt: skip
"""Keys of a conditions file that provide a value."""


def in_unit(key: str, value: Value, parameter: OpenParameter | None, fitting: Mapping[str, tuple[str, ...]]) -> Value:
    """Return a value of [rates] in a valid unit: 1 for the sun, those of the rate, or any unit if these are unknown.

    A number without a unit is in the unit of the rate, unless the mechanism file gives a unit.
    """
    units = ("1",) if parameter is None else spellings(fitting.get(parameter.name, RATE_UNITS))
    if isinstance(value, CsvColumn):
        return replace(value, units=units)
    bare = value.formula is None and value.unit == "1" and not value.text.rstrip().endswith(("%", "percent"))
    if bare and (parameter is None or not parameter.unit):
        return value
    return parse_value(value, units, where=key)


def by_species(section: str, values: Mapping[str, Value], network: ReactionNetwork) -> dict[int, Value]:
    """Return values by species number; raises CaseError for an unknown or duplicate species."""
    numbers = {name.casefold(): number for number, name in enumerate(network.names)}
    found: dict[int, Value] = {}
    for name, value in values.items():
        number = numbers.get(name.casefold())
        if number is None:
            raise CaseError(f"{section}.{name}: not a species of {network.name}; {suggestion(name, network.names)}")
        if number in found:
            raise CaseError(f"{section}.{name} is given twice: upper and lower case are not distinguished")
        found[number] = value
    return found


class RequiredValues:
    """Search for missing values: names are followed through formulas to known values."""

    def __init__(self, network: ReactionNetwork, formulas: Mapping[str, Formula], known: Iterable[str]) -> None:
        self._network, self._formulas, self._known = network, formulas, frozenset(known)
        self._open = {each.name: each for each in network.parameters}
        self._units = units_of_open(network)

    def settled(self, name: str) -> bool:
        """Return True if a name follows from known values."""
        return not any(True for _ in self._missing(name, None, set()))

    def check(self, *groups: Iterable[str], whose: str = "") -> None:
        """Raise CaseError for the first unknown name, otherwise for all names without a value.

        whose  name of the process that requires the values, by default the mechanism
        """
        missing: list[tuple[str, str]] = []
        for name in (name for group in groups for name in group):
            for lacking, formula in self._missing(name, None, set()):
                text = self._give(lacking)
                if text is None and formula is not None:
                    names = [name for name in (*self._known, *_KEYS, *self._open) if name.isidentifier()]
                    raise unknown_name(formula, lacking, [*names, *FUNCTIONS, *CONSTANTS])
                missing.append(text or ("", lacking))
        if missing:
            whose = whose or f"mechanism {self._network.name!r}"
            heading = f"{whose} needs values that the conditions do not give:"
            # List one key per line; names with the same heading share a line.
            missing = list(dict.fromkeys(missing))
            heads = [head for head in dict.fromkeys(head for head, _ in missing) if head]
            grouped = [f"{each}: {', '.join(name for head, name in missing if head == each)}" for each in heads]
            lines = sorted(name for head, name in missing if not head) + grouped
            listed = f"{heading} {lines[0]}" if len(lines) == 1 else "\n  ".join([heading, *lines])

            # Mention initial values of 0 for air, which are ignored.
            initial = self._network.initial.items()
            zero = ", ".join(name for name, value in initial if name.upper() in AIR_GASES and not value)
            listed += f"\n(the initial value 0 of {zero} in the mechanism file is ignored)" if zero else ""
            raise CaseError(listed)

    def _missing(self, name: str, formula: Formula | None, above: set[str]) -> Iterator[tuple[str, Formula | None]]:
        """Yield names without a value and the formula that contains them; the evaluation reports circular formulas."""
        if name in self._known or name in above:
            return
        if name not in self._formulas:
            yield name, formula
            return
        for needed in self._formulas[name].names:
            yield from self._missing(needed, self._formulas[name], above | {name})

    def _give(self, name: str) -> tuple[str, str] | None:
        """Return the heading and the key for a missing value; None for an unknown name."""
        if name in _KEYS:
            return "", _KEYS[name]
        if name not in self._open:
            return None
        fixed = any(each.name == name for each in self._network.fixed)
        unit = self._units.get(name, ("",))[0]
        quoted = name if name.replace("_", "").isalnum() else f'"{name}"'
        return f"{'fixed' if fixed else 'rates'}{f' in {unit}' if unit else ''}", quoted
