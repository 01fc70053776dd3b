"""Docstrings of the public names: sections of numpydoc that agree with the signatures."""

import inspect
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import pytest

import airshed
from airshed import inverse
from airshed.io.accessor import AirshedAccessor
from airshed.runtime.clock import StepInfo
from airshed.runtime.display import Picture
from airshed.runtime.names import FieldNames

SECTIONS = ("Parameters", "Attributes", "Returns", "Yields", "Raises", "Notes", "References", "Examples")
"""Sections in their order."""

PACKAGES = ("bmi", "evaluate", "inverse", "mechanism", "plot")
INTERNAL = ("effect", "next_step", "values")
"""Methods of a simulation that other packages call, and completion does not offer."""

METHODS = (airshed.Case, airshed.Simulation, AirshedAccessor, Picture)
"""Classes of which each public method is checked."""


def sections(text: str) -> dict[str, list[str]]:
    """Return the lines of each section of a docstring; the lines before the first one are the summary."""
    found: dict[str, list[str]] = {"": []}
    lines, name = inspect.cleandoc(text).splitlines(), ""
    for number, line in enumerate(lines):
        if number + 1 < len(lines) and lines[number + 1] == "-" * len(line) and line:
            name = line
            found[name] = []
        elif not (number and line and set(line) == {"-"}):
            found[name].append(line)
    return found


def entries(lines: list[str]) -> list[str]:
    """Return the names of a section of parameters."""
    heads = [line for line in lines if line and not line.startswith(" ")]
    return [name.strip().lstrip("*") for head in heads for name in head.partition(":")[0].split(",")]


def faults(described: Callable[..., Any]) -> Iterator[str]:
    """Yield the faults in the docstring of a function or a class."""
    found = sections(described.__doc__ or "")
    summary = " ".join(found[""]).strip()
    if not re.match(r"[A-Z].*?\.(\s|$)", summary):
        yield "the summary is no sentence"
    if [name for name in SECTIONS if name in found] != [name for name in found if name]:
        yield f"sections {[name for name in found if name]}"
    if inspect.isclass(described) and issubclass(described, Exception):
        return
    names = [each.name for each in inspect.signature(described).parameters.values() if each.name not in ("self", "cls")]
    given = entries(found.get("Parameters", []))
    if given != names:
        yield f"parameters {given}, but the signature has {names}"
    returns = inspect.signature(described).return_annotation
    is_empty = returns in (None, "None", inspect.Signature.empty)
    if not inspect.isclass(described) and is_empty is ("Returns" in found):
        yield f"returns {returns}, and the section Returns is {'there' if 'Returns' in found else 'missing'}"
    if "Examples" not in found or not any(line.startswith(">>> ") for line in found["Examples"]):
        yield "no examples"
    for name, lines in found.items():
        if name and not any(lines):
            yield f"section {name} is empty"


def public() -> dict[str, Callable[..., Any]]:
    """Return the public functions, classes and methods by name."""
    names: dict[str, Any] = {
        name: getattr(airshed, name) for name in airshed.__all__ if name not in (*PACKAGES, "__version__", "Case")
    }
    names |= {f"inverse.{name}": getattr(inverse, name) for name in ("sensitivity", "gradient", "box_sensitivity")}
    names |= {"evaluate": airshed.evaluate.evaluate, "plot.plot_run": airshed.plot.plot_run}
    for owner in METHODS:
        for name in dir(owner):
            member = inspect.getattr_static(owner, name)
            if (
                not name.startswith("_")
                and name not in INTERNAL
                and (isinstance(member, classmethod) or inspect.isfunction(member))
            ):
                names[f"{owner.__name__}.{name}"] = getattr(owner, name)
    return names


CHECKED = public()


@pytest.mark.parametrize("name", CHECKED)
def test_a_public_docstring_agrees_with_its_signature(name: str) -> None:
    assert list(faults(CHECKED[name])) == []


@pytest.mark.parametrize("described", [airshed.Case, StepInfo, FieldNames, airshed.AirshedError])
def test_a_class_without_parameters_has_a_summary(described: Any) -> None:
    assert sections(described.__doc__)[""][0].endswith(".") or "." in " ".join(sections(described.__doc__)[""])


def test_properties_have_a_summary() -> None:
    for owner in METHODS:
        for name in dir(owner):
            member = inspect.getattr_static(owner, name)
            if isinstance(member, property | cached_property) and not name.startswith("_"):
                assert re.match(r"[A-Z].*\.", member.__doc__ or ""), f"{owner.__name__}.{name}"


# Negative controls: functions with faults of each kind.


def sound(size: int, *, unit: str = "m") -> float:
    """Return a length.

    Parameters
    ----------
    size
        Number of cells.
    unit
        Unit of the length.

    Returns
    -------
    float
        The length.

    Examples
    --------
    >>> sound(3)
    """
    return float(size) if unit == "m" else 0.0


CHANGES = {
    "another name": ("\nsize\n", "\ncount\n", "parameters"),
    "a missing parameter": ("unit\n    Unit of the length.\n", "", "parameters"),
    "no result": ("Returns\n-------\nfloat\n    The length.\n\n", "", "returns"),
    "no example": (">>> sound(3)", "sound(3)", "no examples"),
    "no sentence": ("Return a length.", "a length", "summary"),
    "another order": ("Examples\n--------\n", "Parameters\n----------\n", "parameters"),
    "an unknown section": ("Examples\n--------\n", "Samples\n-------\n", "sections"),
    "an empty section": ("\n>>> sound(3)", "", "section Examples is empty"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_fault_is_found(change: tuple[str, str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    before, after, message = change
    assert list(faults(sound)) == []
    text = inspect.cleandoc(sound.__doc__ or "")
    assert before in text
    monkeypatch.setattr(sound, "__doc__", text.replace(before, after))
    assert any(message in each for each in faults(sound))
