"""Tests that run a line, from a coverage database with a context for each test, the fastest first."""

import ast
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

NEAR = 0.2
"""Factor on the seconds of tests in the folder of the mutant's package, which come first."""


class Coverage:
    """Lines run by tests, as recorded by `pytest --cov --cov-context=test` in ``.coverage``."""

    def __init__(self, database: Path) -> None:
        self._database = database
        files = self._rows("select id, path from file")
        self._files = {
            path[path.index("/src/airshed/") + 1 :]: number for number, path in files if "/src/airshed/" in path
        }

    def tests_of(self, file: str, line: int | None) -> set[str]:
        """Return the node ids of the tests that run a line of a file, or any line of it."""
        query = "select context, numbits from line_bits join context on context_id = context.id where file_id = ?"
        found = self._rows(query, self._files.get(file, -1))
        tests = {context.rpartition("|")[0] for context, bits in found if line is None or _has(bits, line)}
        return tests - {""}

    def _rows(self, query: str, *values: int) -> list[Any]:
        with closing(sqlite3.connect(self._database)) as connection:
            return connection.execute(query, values).fetchall()


def _has(bits: bytes, line: int) -> bool:
    """Return whether a line is in a set of numbers: bit i of byte j stands for line 8 j + i."""
    return line // 8 < len(bits) and bool(bits[line // 8] >> line % 8 & 1)


def runs_at_import(text: str, line: int) -> bool:
    """Return whether a line of Python is outside of functions, so that at most one test is seen to run it."""
    bodies = (
        (node.body[0].lineno, node.end_lineno or 0)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return not any(first <= line <= last for first, last in bodies)


_DURATION = re.compile(r"^\s*([\d.]+)s?\s.*?\s*(tests/.*::.*)$")


def read_seconds(text: str) -> Mapping[str, float]:
    """Return the seconds of each test, summed over lines "seconds ... node id".

    `pytest --durations=0 -vv` prints such lines; other lines are skipped.
    """
    found: dict[str, float] = defaultdict(float)
    for match in filter(None, map(_DURATION.match, text.splitlines())):
        found[match[2]] += float(match[1])
    return found


def batches(tests: Iterable[str], seconds: Mapping[str, float], near: str, limit: float) -> list[list[str]]:
    """Return tests in batches of growing time: those of a folder first, the fastest first, up to a limit [s].

    near  start of the node ids of tests that are close to the mutant
    """
    ordered = sorted(tests, key=lambda name: (seconds.get(name, 1.0) * (NEAR if name.startswith(near) else 1.0), name))
    found, total, largest = [list[str]()], 0.0, 5.0
    spent = 0.0
    for name in ordered:
        if total + seconds.get(name, 1.0) > limit:
            break
        if spent > largest:
            found.append([])
            spent, largest = 0.0, 4.0 * largest
        found[-1].append(name)
        total += seconds.get(name, 1.0)
        spent += seconds.get(name, 1.0)
    return [batch for batch in found if batch]
