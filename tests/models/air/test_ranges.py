"""Every number of a case, and of the conditions of a box, has a range: extreme values are refused in a line, or do."""

import copy
import math
from typing import Any

import pytest

from airshed.core.errors import CaseError
from airshed.core.settings import Section, Setting, settings_of
from airshed.models.air.case import Case
from airshed.models.box import BoxConditions

CASE: dict[str, Any] = {
    "grid": {
        "area": {"lon": [0, 10], "lat": [0, 10]},
        "spacing": {"lon": "1 deg", "lat": "1 deg"},
        "layers": ["50 m"],
    },
    "time": {"start": "2022-08-31", "length": "24 h"},
    "chemistry": {"mechanism": "tracer"},
    "emissions": {
        "point": [{"species": "TRACER", "lon": 5.0, "lat": 5.0, "rate": "1 mol/s"}],
        "area": [{"lon": [0, 10], "lat": [0, 10], "rates": {"TRACER": "1 mol/m2/s"}}],
        "gridded": [{"files": ["emission.nc"]}],
    },
    "output": [{}],
    "assimilation": {"control": [{"name": "all", "species": ["TRACER"]}]},
}
BOX: dict[str, Any] = {
    "time": {"length": "24 h"},
    "environment": {"location": {"lat": 50, "lon": 10, "date": "2022-08-31"}},
    "output": [{}],
}
EXTREMES = (0.0, -1.0, 1e300, -1e300, 1e-300, math.nan, math.inf, -math.inf)
WHOLES = (0, -1, 10**18, -(10**18), 10**400)


def numeric(section: type[Section]) -> list[Setting]:
    """The settings that hold numbers, alone, in lists or in tables."""
    return [each for each in settings_of(section) if "number" in each.kind or "quantit" in each.kind]


def extremes_of(each: Setting) -> list[Any]:
    """Return extreme values for a setting."""
    unit = each.unit.split(" or ", maxsplit=1)[0]
    if "whole" in each.kind:
        values: list[Any] = list(WHOLES)
    elif "quantit" in each.kind:
        values = [f"{number!r} {unit}" for number in EXTREMES]
    else:
        values = list(EXTREMES)
    if "table" in each.kind:
        return [{"TRACER": value} for value in values]
    if "list" in each.kind:
        other = f"10 {unit}" if each.key == "receptor.time" else 10
        return [
            [value] if each.key in ("grid.layers", "time.restarts", "emissions.gridded.N.levels") else [value, other]
            for value in values
        ]
    return values


def put(data: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    """A copy of nested dictionaries with another value."""
    changed = copy.deepcopy(data)
    inside: Any = changed
    *above, last = key.replace(".N.", ".0.").split(".")
    for part in above:
        inside = inside[int(part)] if part == "0" else inside.setdefault(part, {})
    inside[last] = value
    return changed


@pytest.mark.parametrize("each", numeric(Case) + numeric(BoxConditions), ids=lambda each: each.key)
def test_every_number_has_a_range(each: Setting) -> None:
    assert " to " in each.range


@pytest.mark.parametrize(
    ("each", "made", "data"),
    [(each, Case.from_dict, CASE) for each in numeric(Case)]
    + [(each, BoxConditions.from_dict, BOX) for each in numeric(BoxConditions)],
    ids=lambda each: getattr(each, "key", ""),
)
def test_extreme_values_are_taken_or_refused_in_a_line(each: Setting, made: Any, data: dict[str, Any]) -> None:
    made(data)
    messages = []
    for value in extremes_of(each):
        try:
            made(put(data, each.key, value))
        except CaseError as error:
            messages.append(str(error))
    assert len(messages) >= 3  # values that are not finite, and a value far above the range
    section = each.key.replace(".N.", ".0.").rpartition(".")[0]
    wrong = [text for text in messages if not text.startswith(section) or "\n" in text or len(text) >= 400]
    assert not wrong


def test_the_check_notices_a_number_without_a_range() -> None:
    from airshed.core.settings import Number, setting

    class Loose(Section):
        free: Number = setting(1.0, "Anything.")

    assert [each.range for each in numeric(Loose)] == [""]
