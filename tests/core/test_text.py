"""Foreign texts and values in messages: on one line, shortened and printable."""

import pytest

from airshed.core.errors import CaseError
from airshed.core.text import duration, nearest, number, shown, suggestion
from airshed.core.units import quantity


def test_values_are_shown_in_short() -> None:
    assert shown([1, "a"]) == "[1, 'a']"
    assert shown(["x"] * 20_000) == f"{str(['x'] * 20)[:57]}..."
    assert shown(10**5000) == "a number of thousands of digits"
    assert shown("a\x1b\n") == r"'a\x1b\n'"


@pytest.mark.parametrize("value", [["x"] * 20_000, "1" * 400, "x" * 100_000, f"1 {'m' * 5000}"])
def test_a_refused_quantity_is_quoted_in_short(value: object) -> None:
    with pytest.raises(CaseError) as caught:
        quantity(value, ("s",), where="time.step")
    assert str(caught.value).startswith("time.step")
    assert len(str(caught.value)) < 400


def test_the_message_of_an_error_can_be_printed_and_keeps_its_lines() -> None:
    assert str(CaseError("a\x7fb\x1b[31m\nc")) == "a\\x7fb\\x1b[31m\nc"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 h"), (600.0, "10 min"), (5400.0, "1.5 h"), (86400.0, "24 h"), (172800.0, "48 h"),
        (31536000.0, "365 days"),
        (1000.0, "1000 s"), (45.0, "45 s"), (0.25, "0.25 s"), (-3600.0, "-1 h"), (1234567.0, "1234567 s"),
        (float("nan"), "nan s"), (1e30, "1e+30 s"),
    ],
)  # fmt: skip
def test_durations_are_short(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_numbers_are_written_in_full() -> None:
    assert [number(each) for each in (1.2e6, 0.25, 1e-7, 100.0, 6371229.0)] == [
        "1200000", "0.25", "1e-07", "100", "6371229",
    ]  # fmt: skip


def test_a_suggestion_names_each_once() -> None:
    assert suggestion("qq", ["A", "B", "A"]) == "known are A, B"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("Road", "F_RoadTransport"),
        ("transport", "F_RoadTransport"),
        ("OffRoad", "I_Offroad"),
        ("Ship", "G_Shipping"),
    ],
)
def test_a_part_of_a_name_tells_which_is_meant(name: str, meant: str) -> None:
    assert nearest(name, ["F_RoadTransport", "I_Offroad", "G_Shipping", "ROG", "CO", "DE"]) == meant


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("ozone", "O3"),
        ("Ozone", "O3"),
        ("nitrogen dioxide", "NO2"),
        ("nitrogen_dioxide", "NO2"),
        ("Nitric-Oxide", "NO"),
        ("sulphur dioxide", "SO2"),
        ("hydroxyl radical", "OH"),
        ("formaldehyde", "HCHO"),
    ],
)
def test_a_species_is_found_by_its_common_name(name: str, meant: str) -> None:
    species = ["BURO2H", "C2H4", "HCHO", "NO", "NO2", "O3", "OH", "OZONIDE", "SO2"]
    assert nearest(name, species) == meant
    assert nearest(name, ["CO", "TRACER"]) is None  # a species that is not there is not suggested
    assert nearest(name, [name.lower(), meant]) == name.lower()  # a name of that spelling comes first
