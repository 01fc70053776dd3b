"""Fills the frames of generated code, which lie in ``cpu/`` beside the headers that are written by hand."""

from functools import cache
from pathlib import Path
from typing import Final

from jinja2 import Environment, StrictUndefined, Template

from airshed.mechanism.network import Reaction

_FOLDER: Final = Path(__file__).parent / "cpu"


def render(frame: str, **values: object) -> str:
    """Return the text of a frame with its values put in; raise jinja2.UndefinedError for one that is not given."""
    return _frame(frame).render(values)


@cache
def _frame(name: str) -> Template:
    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)
    return environment.from_string(header(name))


def header(*names: str) -> str:
    """Return the text of headers, one after the other."""
    return "\n".join((_FOLDER / name).read_text() for name in names)


def comment(reaction: Reaction) -> str:
    """Return a reaction for a comment in one line, its label once: some files have it in the text of the equation."""
    label = f"<{reaction.label}>"
    text = reaction.text if reaction.text.startswith(label) else f"{label} {reaction.text}"
    return text.replace("\\", "/").replace("\n", " ")  # a backslash at the end of a line would go on in the next
