"""What a command has to say: tables as data, for the terminal, for JSON and for tests alike."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite, isnan
from typing import Any

from airshed.core.text import printable

Cell = str | int | float | bool | None
"""What a table holds; None is an empty cell."""


def shown(value: Cell) -> str:
    """Return a value as text: yes or no, four significant digits, nothing for None, and - for NaN, which is unknown."""
    if value is None:
        return ""
    if isinstance(value, float) and isnan(value):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else printable(str(value))


def json_cell(value: Cell) -> Cell:
    """Return a value that JSON has: it knows no infinity and no NaN."""
    return None if isinstance(value, float) and not isfinite(value) else value


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[object]], words: int | None = None) -> str:
    """Return a table in Markdown; columns after the first `words`, where it is given, are numbers, to the right."""
    left = len(columns) if words is None else words
    rule = "---|" * left + "---:|" * (len(columns) - left)
    lines = [f"| {' | '.join(map(str, cells))} |" for cells in (columns, *rows)]
    return "\n".join([lines[0], f"|{rule}", *lines[1:]])


@dataclass(frozen=True)
class Table:
    """Rows under named columns; a column's unit is part of its name, as in "emitted [mol]"."""

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
        """Return the table as plain text: words to the left, numbers to the right."""
        cells = [[shown(value) for value in row] for row in self.rows]
        columns = [printable(name) for name in self.columns]
        widths = [max(map(len, column)) for column in zip(columns, *cells, strict=True)]
        numeric = [any(isinstance(row[i], int | float) for row in self.rows) for i in range(len(widths))]

        def line(texts: Sequence[str]) -> str:
            aligned = zip(texts, widths, numeric, strict=True)
            return "  ".join(t.rjust(w) if right else t.ljust(w) for t, w, right in aligned).rstrip()

        rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
        note = [printable(self.note)] if self.note else []
        return "\n".join([printable(self.title), line(columns), rule, *map(line, cells), *note])

    def to_dict(self) -> dict[str, Any]:
        """Return the table as a JSON object with one object for each row."""
        rows = [dict(zip(self.columns, map(json_cell, row), strict=True)) for row in self.rows]
        return {"title": self.title, "rows": rows, **({"note": self.note} if self.note else {})}


@dataclass(frozen=True)
class Report:
    """Facts and tables; ``ok`` is False when something that was checked does not hold.

    warnings  the names of facts that a person must see who asked for nothing else
    """

    title: str
    tables: Sequence[Table] = ()
    facts: Mapping[str, Cell] = field(default_factory=dict)
    ok: bool = True
    warnings: Sequence[str] = field(default=(), kw_only=True)

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self) -> str:
        """Return the report as plain text."""
        named = {printable(name): value for name, value in self.facts.items()}
        width = max(map(len, named), default=0)
        facts = [f"{name:<{width}}  {shown(value)}" for name, value in named.items()]
        parts = ["\n".join([printable(self.title), *facts]), *(table.to_text() for table in self.tables)]
        return "\n\n".join(parts) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        tables = [table.to_dict() for table in self.tables]
        facts = {name: json_cell(value) for name, value in self.facts.items()}
        return {"title": self.title, "ok": self.ok, "facts": facts, "tables": tables}
