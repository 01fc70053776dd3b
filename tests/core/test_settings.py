"""Settings registry: sections describe their settings and refuse unknown keys."""

from collections.abc import Mapping
from math import inf
from typing import Annotated, Literal

import pytest
from pydantic import ValidationError

from airshed.core.errors import CaseError
from airshed.core.report import Report, Table
from airshed.core.settings import (
    KeywordUnion,
    Number,
    Section,
    Switch,
    Whole,
    ends_of,
    quantity_range,
    setting,
    settings_of,
)
from airshed.core.text import nearest, suggestion
from airshed.core.units import Quantity

Length = Annotated[Quantity, quantity_range("m", above=0.0)]


class Inner(Section):
    depth: Length = setting("2 m", "How deep.")
    weights: Mapping[str, Number] = setting({}, "By name.", unit="1")


class Outer(Section):
    inner: Inner = Inner()
    many: tuple[Inner, ...] = ()
    steps: Whole = setting(..., "How many.", unit="1", ge=1)
    on: Switch = setting(True, "Whether.")
    mode: Literal["a", "b"] = setting("a", "Which.")
    span: Annotated[Quantity | Literal["auto"], KeywordUnion(("auto",), Length)] = setting("auto", "How long.")
    heights: tuple[Length, ...] = setting(lambda: ("1 m",), "Where.")
    note: str | None = setting(None, "Anything.")


def test_settings_are_listed_in_order_with_unit_kind_and_default() -> None:
    listed = {s.key: s for s in settings_of(Outer)}
    assert list(listed) == [
        "inner.depth", "inner.weights", "many.N.depth", "many.N.weights", "steps", "on", "mode", "span",
        "heights", "note",
    ]  # fmt: skip
    assert (listed["inner.depth"].unit, listed["inner.depth"].default) == ("m", "2 m")
    assert listed["inner.depth"].kind == "quantity"
    assert listed["inner.weights"].kind == "table of numbers"
    assert listed["steps"].required
    assert (listed["steps"].kind, listed["steps"].text) == ("whole number", "How many.")
    assert listed["mode"].kind == '"a", "b"'
    assert (listed["span"].kind, listed["span"].unit) == ('"auto", quantity', "m")
    assert (listed["heights"].kind, listed["heights"].default) == ("list of quantities", ["1 m"])
    assert listed["note"].default is None
    assert not listed["note"].required


@pytest.mark.parametrize(
    ("annotation", "bounds", "unit", "ends"),
    [
        (Number, {}, "1", (-inf, inf)),
        (Number, {"ge": 0.5, "lt": 1.0}, "1", (0.5, 1.0)),
        (Annotated[Quantity, quantity_range("s", least="1 min", most="1 h")], {}, "s", (60.0, 3600.0)),
        (Annotated[Quantity, quantity_range("m", above=0.0)], {}, "m", (0.0, inf)),
        (Annotated[Quantity, quantity_range("s", least="1 s", most="1 h", or_zero=True)], {}, "s", (0.0, 3600.0)),
        (
            Mapping[str, Annotated[Quantity, quantity_range("s", least=1.0, most=9.0, or_negative=True)]],
            {},
            "s",
            (-9.0, 9.0),
        ),
    ],
)
def test_the_ends_of_a_range_are_numbers_in_a_unit(
    annotation: object, bounds: dict[str, float], unit: str, ends: tuple[float, float]
) -> None:
    assert ends_of(annotation, setting(1.0, "Any.", **bounds), unit) == ends


def test_a_section_is_parsed_and_given_back_as_plain_values() -> None:
    outer = Outer.model_validate({"steps": 2, "span": "3 km", "many": [{"depth": "1 cm"}]})
    assert isinstance(outer.span, Quantity)
    assert (outer.span.value, outer.span.text) == (3000.0, "3 km")
    assert outer.inner.depth.value == 2.0
    assert outer.to_dict() == {
        "inner": {"depth": "2 m", "weights": {}},
        "many": [{"depth": "1 cm", "weights": {}}],
        "steps": 2,
        "on": True,
        "mode": "a",
        "span": "3 km",
        "heights": ["1 m"],
    }
    assert Outer.model_validate(outer.to_dict()) == outer


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"stepps": 1},
        {"steps": "1"},
        {"steps": True},
        {"steps": 1, "on": 1},
        {"steps": 1, "span": "auto "},
        {"steps": 1, "inner": {"depth": "0 m"}},
        {"steps": 1, "inner": {"weights": {"a": "1"}}},
    ],
)
def test_what_is_unknown_or_of_the_wrong_type_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Outer.model_validate(wrong)


def test_a_section_cannot_be_changed() -> None:
    outer = Outer.model_validate({"steps": 2})
    with pytest.raises(CaseError, match="steps cannot be set: cases are immutable"):
        outer.steps = 3  # type: ignore[misc]


def test_nearest_names() -> None:
    assert nearest("stpe", ["step", "start"]) == "step"
    assert nearest("nox", ["NOx", "SOx"]) == "NOx"
    assert nearest("zzz", ["step"]) is None
    assert suggestion("o3", ["O3", "NO"]) == "did you mean O3?"
    assert suggestion("zzz", ["b", "a"]) == "known are a, b"
    assert suggestion("zzz", [f"s{i:02}" for i in range(15)]).endswith("s11 and 3 more")
    assert suggestion("zzz", []) == "there are none to choose from"


def test_a_table_refuses_a_row_of_the_wrong_length() -> None:
    table = Table("t", ("a", "b [m]"), [(1, 2.0)], note="n")
    assert table.to_dict() == {"title": "t", "rows": [{"a": 1, "b [m]": 2.0}], "note": "n"}
    assert Report("r", [table]).to_dict()["ok"] is True
    assert Report("r", facts={"x": float("nan"), "y": 1.0}).to_dict()["facts"] == {"x": None, "y": 1.0}
    with pytest.raises(ValueError, match="2 columns, but a row of 1"):
        Table("t", ("a", "b"), [(1,)])
