"""Names of fields in plain words, their formulae, and their groups in lists."""

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

_PREFIX: Final = "Mixing ratio of "
_SUBSCRIPTS: Final = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_SPECIES: Final = "mol mol-1"
_RULES: Final = (
    ("Radicals", ("radical",)),
    ("Particles", ("particle", "particulate", "aerosol", "dust", " ash")),
    ("Organic gases", ("peroxide", "peracid", "peracetic", "organic", "hydrocarbon")),
)
"""Groups of species by words of their descriptions, the first match counts."""


@dataclass(frozen=True)
class FieldWords:
    """Words for a field.

    title     name, such as "Nitrogen dioxide"
    formula   with subscripts; empty for a field without one
    topic     group in lists, such as "Pollutants"
    keywords  further words by which a search finds it
    """

    title: str
    formula: str = ""
    topic: str = "Other"
    keywords: str = ""


def field_words(name: str, text: str, unit: str) -> FieldWords:
    """Return the words for a field: those of the data file, or the symbol and the description of the model."""
    found = _listed().get(name)
    if found is not None:
        return found
    title = text.removeprefix(_PREFIX).partition(";")[0] or name
    return FieldWords(title[:1].upper() + title[1:], topic=_topic(text, unit))


def with_subscripts(formula: str) -> str:
    """Return a formula with its numbers of atoms as subscripts; those after a bracket name a state, as in O(1D)."""
    made = []
    for number, part in enumerate(formula.split("(")):
        state, closing, rest = part.partition(")") if number else ("", "", part)
        lone = state.isalnum() and state[:1].isdigit()
        made.append((state if lone else state.translate(_SUBSCRIPTS)) + closing + rest.translate(_SUBSCRIPTS))
    return "(".join(made)


def _topic(text: str, unit: str) -> str:
    if unit != _SPECIES:
        return "Other"
    lower = text.lower()
    return next((topic for topic, parts in _RULES if any(each in lower for each in parts)), "Other gases")


@cache
def _listed() -> dict[str, FieldWords]:
    """Return the words of the data file by the name of a field."""
    content = files("airshed.serve.words").joinpath("data/fields.csv").read_text(encoding="utf-8")
    return {
        row["name"]: FieldWords(row["title"], with_subscripts(row["formula"]), row["topic"], row["keywords"])
        for row in csv.DictReader(content.splitlines())
    }
