"""C++ generation: expressions and statements from formulas, and the templates that contain them.

Templates (``.jinja``) and hand-written headers are in the folders of their kernels.

Code consists of numbers and of text of the generator. Names from a mechanism appear only in comments, through
:func:`comment`; a template rejects any other value that could end a line.
"""

import re
from dataclasses import replace
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, StrictUndefined, Template

from airshed.core.errors import KernelError
from airshed.formula import cpp
from airshed.formula.dialect import DOUBLES, PACKS
from airshed.formula.tree import Expression
from airshed.mechanism.network import Reaction

_FOLDER: Final = Path(__file__).parent

_STRANGE: Final = re.compile(r"[^ -\[\]-~]|\?(?=\?)")
"""Characters that are not allowed in comments: non-printable or non-ASCII ones; backslashes, which continue a line; and
??, since a trigraph can be a backslash."""

CELLS: Final = replace(
    PACKS,
    name="code of cells",
    functions={**PACKS.functions, "min": "least({0}, {1})", "max": "greatest({0}, {1})"},
)
"""Dialect of formulas of cells: minimum and maximum propagate NaN, as in NumPy."""

RATES: Final = replace(DOUBLES, name="the rate of an operator", type="dvalue", choice="select({0}, {1}, {2})")
"""Dialect of rates of operators, whose values may have tangents."""

_LINE: Final = re.compile(r"[ -~]*")


class GeneratedText(str):
    """Text of several lines from the generator or from a header."""

    __slots__ = ()


def render(frame: str, **values: object) -> str:
    """Render a template with values; raise jinja2.UndefinedError for a missing value."""
    return _frame(frame).render(values)


@cache
def _frame(name: str) -> Template:
    environment = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False, finalize=_checked
    )
    environment.filters |= {"comment": comment, "written": GeneratedText}
    return environment.from_string(header(name))


def _checked(value: Any) -> Any:
    """Return a value for the code; raise KernelError if it could end a line, or is not finite."""
    if (
        isinstance(value, str)
        and not isinstance(value, GeneratedText)
        and (not _LINE.fullmatch(value) or value[-1:] == "\\")
    ):
        raise KernelError(f"{ascii(value)[:80]} cannot be a line of generated code")
    if isinstance(value, float) and not isfinite(value):
        raise KernelError("the mechanism has a number that is not finite after unit conversion")
    return value


def header(*names: str) -> GeneratedText:
    """Return the concatenated text of headers."""
    return GeneratedText("\n".join((_FOLDER / name).read_text() for name in names))


def comment(text: object) -> str:
    """Return a text for a comment of one line, without characters that end or continue the comment."""
    return _STRANGE.sub("_", str(text))


def described(reaction: Reaction) -> str:
    """Return a reaction for a comment of one line; its label appears once, also if the equation repeats it."""
    label = f"<{reaction.label}>"
    text = reaction.text if reaction.text.startswith(label) else f"{label} {reaction.text}"
    return comment(text)


class Coefficients:
    """Table ``c`` of the numbers of generated code, each stored once.

    A literal fills a whole pack, and the literals of a large mechanism fill the first-level cache. From a table the
    compiler broadcasts each number as it loads it.
    """

    def __init__(self) -> None:
        self.values: list[float] = []
        self._places: dict[float, int] = {}

    def __call__(self, value: float) -> str:
        """Return the text of a number, and add it to the table if it is new."""
        if value not in self._places:
            self._places[value] = len(self.values)
            self.values.append(value)
        return f"c[{self._places[value]}]"


def inline(expression: Expression, coefficients: Coefficients) -> str:
    """Return a formula of packs as C++, with numbers from a table."""
    return cpp.inline(expression, str, replace(PACKS, number=coefficients))
