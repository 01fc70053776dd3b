"""Shows reports on a terminal, or as JSON.

Words of files are shown literally: Rich's markup is not interpreted, see :func:`_plain`, and control characters become
escapes, see :func:`airshed.core.text.printable`.
"""

import json
import os
import sys
import textwrap
from typing import TYPE_CHECKING, Final, Literal

from airshed.core.report import Report, Table, cell_text
from airshed.core.text import printable
from airshed.parallel.launch import TERMINALS

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text


_HEAD: Final = 10
"""Columns that the head of a column may take, also where its cells are shorter."""
_UNBROKEN: Final = 24
"""Longest cells [columns] that are never broken."""


def on_terminal(name: Literal["stdout", "stderr"]) -> bool:
    """Return whether a stream ends on the user's terminal, directly or through the launcher of several ranks."""
    terminals = os.environ.get(TERMINALS)
    if terminals is not None:  # ranks of OpenMPI write to terminals of their own
        return name in terminals.split(",")
    return (sys.stdout if name == "stdout" else sys.stderr).isatty()


def terminal() -> "Console":
    """Return the console of standard output; text that goes to a file or a pipe is not cut to a width."""
    from rich.console import Console

    seen = on_terminal("stdout")
    forced = seen if seen or TERMINALS in os.environ else None  # otherwise the user's FORCE_COLOR decides
    return Console(highlight=False, force_terminal=forced, width=None if seen else 160)


def show(report: Report, *, as_json: bool = False) -> None:
    """Print a report."""
    if as_json:
        print(json.dumps(report.to_dict(), indent=2, allow_nan=False))
        return
    console = terminal()
    console.print(_plain(report.title), style="bold")
    width = max((len(name) for name in report.facts), default=0)
    for name, value in report.facts.items():
        lines = textwrap.wrap(printable(cell_text(value)), max(console.width - width - 4, 20), break_on_hyphens=False)
        for number, line in enumerate(lines or [""]):
            console.print(_plain(f"  {name if number == 0 else '':<{width}}  {line}".rstrip()))
    for table in report.tables:
        console.print()
        _print(console, drawn(table, console.width))
        if table.note:
            console.print(_plain(table.note), style="table.caption")  # a caption would be as narrow as its table


def _print(console: "Console", table: "RichTable") -> None:
    """Print a table; a table whose numbers do not fit is wider than the console."""
    from rich.measure import Measurement

    needed = Measurement.get(console, console.options.update(max_width=1000), table).minimum
    width = console.width
    console.width = max(width, needed)
    console.print(table)
    console.width = width


def drawn(table: Table, width: int = 80) -> "RichTable":
    """Return a table for a terminal of a width: text to the left, numbers to the right; no short cell is broken."""
    from rich import box
    from rich.table import Table as RichTable

    cells = [max((len(cell_text(row[index])) for row in table.rows), default=0) for index in range(len(table.columns))]
    fits = sum(max(size, len(name)) + 3 for size, name in zip(cells, table.columns, strict=True)) <= width
    rich = RichTable(title=_plain(table.title), title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for index, (name, size) in enumerate(zip(table.columns, cells, strict=True)):
        numeric = any(isinstance(row[index], int | float) for row in table.rows)
        head = name if fits else "\n".join(textwrap.wrap(name, max(size, _HEAD), break_long_words=False))
        rich.add_column(
            _lines(head), justify="right" if numeric else "left", overflow="fold", min_width=min(size, _UNBROKEN)
        )
    for row in table.rows:
        rich.add_row(*(_plain(cell_text(value)) for value in row))
    return rich


def _lines(text: str) -> "Text":
    """Return lines that Rich shows as they are."""
    from rich.text import Text

    return Text(printable(text, lines=True))


def _plain(text: str) -> "Text":
    """Return a text that Rich shows as it is."""
    from rich.text import Text

    return Text(printable(text))


def say(text: object, *, err: bool = False, end: str = "\n") -> None:
    """Print lines that may hold words of files."""
    print(printable(str(text), lines=True), file=sys.stderr if err else sys.stdout, end=end, flush=True)
