"""Docstrings with aligned columns: the site shows paragraphs of names and meanings as they are in the source."""

import re
from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

COLUMNS = re.compile(r"\S {2,}\S")
UNDERLINE = re.compile(r"\s*-{3,}\s*")


def with_literal_tables(lines: list[str]) -> list[str]:
    """Return a docstring whose tables and indented code are literal blocks; numpydoc sections stay as they are."""
    if any(map(UNDERLINE.fullmatch, lines)):
        return lines
    return [line for paragraph in _paragraphs(lines) for line in _literal(paragraph)]


def _paragraphs(lines: list[str]) -> Iterator[list[str]]:
    """Yield the paragraphs of a text."""
    yield from (list(block) for empty, block in groupby(lines, key=lambda line: not line.strip()) if not empty)


def _literal(paragraph: list[str]) -> Iterator[str]:
    """Yield a paragraph of reStructuredText, literal if it is a table or code."""
    aligned = any(COLUMNS.search(line) or line.startswith(" ") for line in paragraph)
    if aligned:
        yield from ("::", "", *(f"    {line}" for line in paragraph), "")
    else:
        yield from (*paragraph, "")


def _on_docstring(app: "Sphinx", what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    lines[:] = with_literal_tables(lines)


def setup(app: "Sphinx") -> dict[str, bool]:
    """Change docstrings before numpydoc does."""
    app.connect("autodoc-process-docstring", _on_docstring, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
