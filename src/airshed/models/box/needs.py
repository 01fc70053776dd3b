"""Names that a mechanism and the formulas of its conditions need, and those that lack a value."""

from collections.abc import Iterable, Mapping
from typing import Final

from airshed.core.errors import CaseError
from airshed.formula.functions import FUNCTIONS
from airshed.formula.parse import CONSTANTS, Formula, unknown_name
from airshed.mechanism.expressions import AIR_GASES
from airshed.mechanism.network import ReactionNetwork
from airshed.mechanism.structure import units_of_open

_DENSITY: Final = "environment.pressure or fixed.M"
_SUN: Final = "rates.SUN, rates.sec_zenith or environment.location"
_WATER: Final = "environment.humidity or fixed.H2O"
_GIVE: Final = {
    "T": "environment.temperature",
    "p": _DENSITY,
    "M": _DENSITY,
    "O2": _DENSITY,
    "N2": _DENSITY,
    "H2O": _WATER,
    "humidity": _WATER,
    "SUN": _SUN,
    "sec_zenith": _SUN,
    "daylight": _SUN,
}
"""What a conditions file gives for a name."""


class Needs:
    """Follows names through formulas down to what is known."""

    def __init__(self, network: ReactionNetwork, formulas: Mapping[str, Formula], known: Iterable[str]) -> None:
        self._network, self._formulas, self._known = network, formulas, frozenset(known)
        self._open = {each.name: each for each in network.parameters}
        self._units = units_of_open(network)

    def settled(self, name: str) -> bool:
        """Return whether a name follows from what is known."""
        return not any(True for _ in self._missing(name, None, set()))

    def check(self, *groups: Iterable[str], whose: str = "") -> None:
        """Raise CaseError for the first name that means nothing, else one for all names that lack a value.

        whose  need it is, by default the mechanism's
        """
        missing: list[tuple[str, str]] = []
        for name in (name for group in groups for name in group):
            for lacking, formula in self._missing(name, None, set()):
                text = self._give(lacking)
                if text is None and formula is not None:
                    names = [name for name in (*self._known, *_GIVE, *self._open) if name.isidentifier()]
                    raise unknown_name(formula, lacking, [*names, *FUNCTIONS, *CONSTANTS])
                missing.append(text or ("", lacking))
        if missing:
            whose = whose or f"mechanism {self._network.name!r}"
            heading = f"{whose} needs what the conditions do not give:"
            lines = _lines(list(dict.fromkeys(missing)))
            listed = f"{heading} {lines[0]}" if len(lines) == 1 else "\n  ".join([heading, *lines])
            raise CaseError(listed + self._zeros())

    def _zeros(self) -> str:
        """Return a remark on initial values 0 of the air, which do not count."""
        zero = [name for name, value in self._network.initial.items() if name.upper() in AIR_GASES and not value]
        listed = ", ".join(zero)
        return f"\n(the initial value 0 of {listed} in the mechanism's file counts as none)" if zero else ""

    def _missing(self, name: str, formula: Formula | None, above: set[str]) -> Iterable[tuple[str, Formula | None]]:
        """Yield names without a value, and the formula that has them; circles are errors of the evaluation."""
        if name in self._known or name in above:
            return
        if name not in self._formulas:
            yield name, formula
            return
        for needed in self._formulas[name].names:
            yield from self._missing(needed, self._formulas[name], above | {name})

    def _give(self, name: str) -> tuple[str, str] | None:
        """Return what to give, below which heading; None for a name that means nothing."""
        if name in _GIVE:
            return "", _GIVE[name]
        if name not in self._open:
            return None
        fixed = any(each.name == name for each in self._network.fixed)
        unit = self._units.get(name, ("",))[0]
        quoted = name if name.replace("_", "").isalnum() else f'"{name}"'
        return f"{'fixed' if fixed else 'rates'}{f' in {unit}' if unit else ''}", quoted


def _lines(missing: list[tuple[str, str]]) -> list[str]:
    """Return what to give, a line each, and names that stand below one heading on one."""
    headings = [heading for heading in dict.fromkeys(heading for heading, _ in missing) if heading]
    grouped = [f"{each}: {', '.join(name for heading, name in missing if heading == each)}" for each in headings]
    return sorted(name for heading, name in missing if not heading) + grouped
