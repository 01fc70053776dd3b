"""Words for readers: every species of the shipped mechanism has a name, and the data file is consistent."""

import csv
import re
from importlib.resources import files
from pathlib import Path

import pytest

from airshed.core.files import resource
from airshed.serve.words.fields import field_words, with_subscripts

GASES = {"Pollutants", "Particles", "Radicals", "Organic gases", "Other gases"}
TOPICS = GASES | {"Weather", "Plants", "Soil water", "Cattle", "Totals"}


def _rows() -> list[dict[str, str]]:
    content = files("airshed.serve.words").joinpath("data/fields.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(content.splitlines()))


def test_rows_are_complete_and_unique() -> None:
    rows = _rows()
    assert len({each["name"] for each in rows}) == len(rows)
    assert {each["topic"] for each in rows} == TOPICS
    assert all(each["title"] and None not in each.values() for each in rows)


def test_formulae_agree_with_the_mechanism() -> None:
    text = Path(resource("mechanisms"), "emep.spc").read_text(encoding="utf-8").partition("#INITVALUES")[0]
    atoms = {name: _atoms(sum_) for name, sum_ in re.findall(r"^(\w+)\s*= ([^;]+);", text, re.MULTILINE)}
    formulae = {each["name"]: each["formula"] for each in _rows() if each["formula"] not in ("PAN", "MPAN")}
    compared = [name for name in atoms if re.fullmatch(r"[A-Z0-9]+", formulae.get(name, ""))]
    assert {name for name in compared if _atoms(formulae[name], in_formula=True) != atoms[name]} == set()
    assert len(compared) > 30
    assert _atoms("NO2", in_formula=True) != _atoms("N + O")


def _atoms(text: str, *, in_formula: bool = False) -> dict[str, int]:
    """Return the numbers of atoms of a sum such as "2C + 6H", or of a formula such as C2H6."""
    found: dict[str, int] = {}
    parts = (
        re.findall(r"([A-Z])(\d*)", text) if in_formula else [pair[::-1] for pair in re.findall(r"(\d*)([A-Z])", text)]
    )
    for element, count in parts:
        found[element] = found.get(element, 0) + int(count or 1)
    return found


@pytest.mark.parametrize(
    ("name", "text", "title", "topic"),
    [
        ("O3", "Mixing ratio of ozone", "Ozone", "Pollutants"),
        ("XO2", "Mixing ratio of some peroxy radical; stands for others", "Some peroxy radical", "Radicals"),
        ("X", "Mixing ratio of something", "Something", "Other gases"),
    ],
)
def test_unknown_species_have_the_words_of_their_description(name: str, text: str, title: str, topic: str) -> None:
    found = field_words(name, text, "mol mol-1")
    assert (found.title, found.topic) == (title, topic)


def test_subscripts_leave_states_alone() -> None:
    assert [with_subscripts(each) for each in ("O3", "O(1D)", "CH3C(O)O2", "PM2.5")] == [
        "O₃",
        "O(1D)",
        "CH₃C(O)O₂",
        "PM₂.₅",
    ]


def test_other_fields_keep_their_text() -> None:
    assert field_words("x", "depth of snow", "m").title == "Depth of snow"
    assert field_words("x", "", "m").title == "X"
