"""How units are written: "kg/m2/s", "molecules cm-3 s-1", "kg/(m2 s)", "1/s"; names are not looked up here."""

import re
from typing import Final

Factor = tuple[str, int]
"""The name of a unit and its power."""

_NAME: Final = r"([A-Za-z%]+(?:_[A-Za-z]+)*)(?:(?:\^|\*\*)?([-+]?\d{1,2})(?!\d))?"
_TERM: Final = re.compile(rf"(\s*[*/]\s*|\s+|)(?:{_NAME}|\(([^()]+)\))", re.ASCII)
_ONE_OVER: Final = re.compile(r"1(?=\s*/)")


def unit_factors(text: str) -> list[Factor] | None:
    """Return the factors of a unit, none for "" and "1"; None for a text that is no product of units.

    A line divides by what stands next to it: one unit with its power, or a product in ( ). A power stands behind the
    name, with ^ or ** between them or without: cm3, cm-3, cm^-3, cm**3.
    """
    if text in ("", "1"):
        return []
    text, ones = _ONE_OVER.subn("", text, count=1) if text.startswith("1") else (text, 0)
    factors: list[Factor] = []
    at = 0
    while at < len(text):
        term = _TERM.match(text, at)
        if term is None or (at == 0 and not ones) == bool(term[1]):  # nothing stands before the first one, only there
            return None
        inner = unit_factors(term[4].strip()) if term[4] else [(term[2], int(term[3] or 1))]
        if not inner or any(power == 0 for _, power in inner):
            return None
        direction = -1 if "/" in term[1] else 1
        factors += [(name, direction * power) for name, power in inner]
        at = term.end()
    return factors
