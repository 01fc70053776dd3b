"""The writer of C++: expressions and statements from formulas, and frames that they are put into.

Frames (``.jinja``) and hand-written headers lie beside the kernels that they belong to.

Code consists of numbers and of text of the generator. Names from a mechanism reach it only in comments, through
:func:`comment`; a frame refuses any other value that could end a line.
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
"""Characters that no comment has: all but printable ASCII; backslashes, which continue a line; ??, as trigraphs can
write one."""

CELLS: Final = replace(
    PACKS,
    name="code of cells",
    functions={**PACKS.functions, "min": "least({0}, {1})", "max": "greatest({0}, {1})"},
)
"""Formulas of cells: what is not a number stays so in the least and the greatest of two, as in NumPy."""

RATES: Final = replace(DOUBLES, name="the rate of an operator", type="dvalue", choice="select({0}, {1}, {2})")
"""Rates of operators, whose values may carry changes."""

_LINE: Final = re.compile(r"[ -~]*")


class GeneratedText(str):
    """Text of several lines that the generator wrote, or that lies in a header."""

    __slots__ = ()


def render(frame: str, **values: object) -> str:
    """Return the text of a frame with its values put in; raise jinja2.UndefinedError for one that is not given."""
    return _frame(frame).render(values)


@cache
def _frame(name: str) -> Template:
    environment = Environment(
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False, finalize=_checked
    )
    environment.filters |= {"comment": comment, "written": GeneratedText}
    return environment.from_string(header(name))


def _checked(value: Any) -> Any:
    """Return a value for the code; raise KernelError for one that could end a line, or is no number in C++."""
    if (
        isinstance(value, str)
        and not isinstance(value, GeneratedText)
        and (not _LINE.fullmatch(value) or value[-1:] == "\\")
    ):
        raise KernelError(f"generated code would have the line {ascii(value)[:80]}, which is none")
    if isinstance(value, float) and not isfinite(value):
        raise KernelError("the mechanism has a number that is not finite, once its units are converted")
    return value


def header(*names: str) -> GeneratedText:
    """Return the text of headers, one after the other."""
    return GeneratedText("\n".join((_FOLDER / name).read_text() for name in names))


def comment(text: object) -> str:
    """Return a text for a comment of one line, in which nothing can end or continue the comment."""
    return _STRANGE.sub("_", str(text))


def described(reaction: Reaction) -> str:
    """Return a reaction for a comment in one line, its label once: some files have it in the text of the equation."""
    label = f"<{reaction.label}>"
    text = reaction.text if reaction.text.startswith(label) else f"{label} {reaction.text}"
    return comment(text)


class Coefficients:
    """The numbers of generated code, each once, by their place in the table ``c``.

    As a literal every number would fill a whole pack, and those of a large mechanism the first-level cache; from a
    table the compiler broadcasts them as it loads them.
    """

    def __init__(self) -> None:
        self.values: list[float] = []
        self._places: dict[float, int] = {}

    def __call__(self, value: float) -> str:
        """Return the text of a number."""
        if value not in self._places:
            self._places[value] = len(self.values)
            self.values.append(value)
        return f"c[{self._places[value]}]"


def inline(expression: Expression, coefficients: Coefficients) -> str:
    """Return a formula of packs as C++, its numbers from a table."""
    return cpp.inline(expression, str, replace(PACKS, number=coefficients))
