"""Results of commands: tables as data, for the terminal, JSON and tests."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import zip_longest
from math import isfinite, isnan
from typing import Any, Final

from airshed.core.text import printable

Cell = str | int | float | bool | None
"""Content of a table cell; None is an empty cell."""

WIDTH: Final = 99
"""Columns of a report as plain text."""
_NARROW: Final = 24
_GAP: Final = 2


def cell_text(value: Cell) -> str:
    """Return a value as text: yes or no, four significant digits, nothing for None, and - for NaN."""
    if value is None:
        return ""
    if isinstance(value, float) and isnan(value):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else printable(str(value))


def json_cell(value: Cell) -> Cell:
    """Return a value that JSON can represent: None in place of infinity and NaN."""
    return None if isinstance(value, float) and not isfinite(value) else value


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[object]], words: int | None = None) -> str:
    """Return a table in Markdown; the columns after the first `words`, if given, are numbers, aligned right."""
    left = len(columns) if words is None else words
    rule = "---|" * left + "---:|" * (len(columns) - left)
    lines = [f"| {' | '.join(map(str, cells))} |" for cells in (columns, *rows)]
    return "\n".join([lines[0], f"|{rule}", *lines[1:]])


def wrapped(text: str, indent: int = 0) -> list[str]:
    """Return a text as lines of at most `WIDTH` columns; all but the first are indented."""
    if len(text) <= WIDTH:
        return [text]
    head, rest = text[:indent], text[indent:]
    lines = textwrap.wrap(rest, max(WIDTH - indent, _NARROW), break_on_hyphens=False)
    return [f"{' ' * indent if number else head}{line}" for number, line in enumerate(lines)]


def _parts(widths: Sequence[int]) -> Iterator[list[int]]:
    """Yield the columns of each part of a table that fits `WIDTH`; each part begins with the first column."""
    chosen = [0]
    for index in range(1, len(widths)):
        if sum(widths[i] + _GAP for i in chosen) + widths[index] > WIDTH and len(chosen) > 1:
            yield chosen
            chosen = [0]
        chosen.append(index)
    yield chosen


def _fitted(widths: Sequence[int], least: Sequence[int]) -> list[int]:
    """Return widths of columns that fit `WIDTH` together, narrowing the widest first."""
    fitting = list(widths)
    while (excess := sum(fitting) + _GAP * (len(fitting) - 1) - WIDTH) > 0:
        spare = [width - low for width, low in zip(fitting, least, strict=True)]
        widest = max(range(len(fitting)), key=lambda i: fitting[i] if spare[i] > 0 else 0)
        if spare[widest] <= 0:
            break
        fitting[widest] -= min(excess, spare[widest])
    return fitting


def _aligned(texts: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    """Return a row of a table, of several lines where a cell is wrapped."""
    cells = [textwrap.wrap(t, w) if len(t) > w else [t] for t, w in zip(texts, widths, strict=True)]
    lines = []
    for parts in zip_longest(*cells, fillvalue=""):
        aligned = zip(parts, widths, right, strict=True)
        lines.append((" " * _GAP).join(t.rjust(w) if r else t.ljust(w) for t, w, r in aligned).rstrip())
    return "\n".join(lines)


@dataclass(frozen=True)
class Table:
    """Table with named columns; the unit of a column is part of its name, as in "emitted [mol]"."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(
                    f"table {self.title!r} has {len(self.columns)} columns, but a row of {len(row)}: {row}"
                )

    def to_text(self) -> str:
        """Return the table as plain text of at most `WIDTH` columns: words to the left, numbers to the right.

        Long words are wrapped within their column. A table with too many columns continues below, first column first.
        """
        cells = [[cell_text(value) for value in row] for row in self.rows]
        columns = [printable(name) for name in self.columns]
        numeric = [any(isinstance(row[i], int | float) for row in self.rows) for i in range(len(columns))]
        widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
        least = [w if right else min(w, _NARROW) for w, right in zip(widths, numeric, strict=True)]

        parts = []
        for chosen in _parts(least):
            fitting = _fitted([widths[i] for i in chosen], [least[i] for i in chosen])
            right = [numeric[i] for i in chosen]
            rule = "-" * (sum(fitting) + _GAP * (len(fitting) - 1))
            lines = [_aligned([row[i] for i in chosen], fitting, right) for row in (columns, *cells)]
            parts.append("\n".join([lines[0], rule, *lines[1:]]))
        note = wrapped(printable(self.note)) if self.note else []
        return "\n".join([*wrapped(printable(self.title)), "\n\n".join(parts), *note])

    def to_dict(self) -> dict[str, Any]:
        """Return the table as a JSON object, with one object for each row."""
        rows = [dict(zip(self.columns, map(json_cell, row), strict=True)) for row in self.rows]
        return {"title": self.title, "rows": rows, **({"note": self.note} if self.note else {})}


def _html_table(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """Return a table in HTML."""
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell_text(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


@dataclass(frozen=True)
class Report:
    """Facts and tables; ``ok`` is False if a check failed.

    warnings  names of facts that are shown even if no report was requested
    """

    title: str
    tables: Sequence[Table] = ()
    facts: Mapping[str, Cell] = field(default_factory=dict)
    ok: bool = True
    warnings: Sequence[str] = field(default=(), kw_only=True)

    def __repr__(self) -> str:
        return self.to_text()

    __str__ = __repr__

    def _repr_html_(self) -> str:
        """Return the report for notebooks: facts, and a table for each of its tables."""
        parts = [f"<h4>{escape(self.title)}</h4>", _html_table([], list(self.facts.items()))]
        for table in self.tables:
            note = f"<p>{escape(table.note)}</p>" if table.note else ""
            parts.append(f"<b>{escape(table.title)}</b>{_html_table(table.columns, table.rows)}{note}")
        return "".join(parts)

    def to_text(self) -> str:
        """Return the report as plain text."""
        named = {printable(name): value for name, value in self.facts.items()}
        width = max(map(len, named), default=0)
        facts = [
            line for name, value in named.items() for line in wrapped(f"{name:<{width}}  {cell_text(value)}", width + 2)
        ]
        parts = ["\n".join([printable(self.title), *facts]), *(table.to_text() for table in self.tables)]
        return "\n\n".join(parts) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        tables = [table.to_dict() for table in self.tables]
        facts = {name: json_cell(value) for name, value in self.facts.items()}
        return {"title": self.title, "ok": self.ok, "facts": facts, "tables": tables}
