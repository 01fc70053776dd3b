"""Mutation testing: mutants of a text, selection of tests, and comparison of results."""

import ast
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from validation.mutants import __main__ as command
from validation.mutants.__main__ import comparison, sample
from validation.mutants.cpp_mutants import cpp_mutants
from validation.mutants.python_mutants import Mutant, python_mutants
from validation.mutants.selection import Coverage, batches, read_seconds, runs_at_import

PYTHON = '''"""Numbers: 1 + 2."""

from typing import Literal

LIMIT = 0.5


def area(values: Literal[3], *, scale: int = 7) -> "int | None":
    """Return 1 < 2."""
    if not values or values[0] == -4:
        raise ValueError("°" * 80)
    total = 2 * values[1:][0] - scale  # 2 * 3
    total += helper(scale=total)
    report(total)
    return (
        total if total is not None and total < LIMIT else None
    )


def __repr__() -> str:
    return f"{1 + 1}" + "2"
'''

PYTHON_MUTANTS = {
    (5, "0.5", "0.65"),
    (10, "not values", "values"), (10, "or", "and"), (10, "==", "!="), (10, "-4", "4"), (10, "4", "5"), (10, "0", "1"),
    (10, "not values or values[0] == -4", "(not (not values or values[0] == -4))"),
    (12, "2", "3"), (12, "*", "/"), (12, "1", "2"), (12, "0", "1"), (12, "-", "+"),
    (13, "total += helper(scale=total)", "pass"), (13, "scale=total", ""),
    (14, "report(total)", "pass"),
    (15, "return (\n        total if total is not None and total < LIMIT else None\n    )", "return None"),
    (16, "is not", "is"), (16, "and", "or"), (16, "<", "<="),
    (16, "total is not None and total < LIMIT", "(not (total is not None and total < LIMIT))"),
}  # fmt: skip

CPP = """#include <a + b>
// a + b
{% if count - 1 %}
double half = 0.5 * (x[i + 1] - y); // y + 1
for (int z = 0; z < NZ; z++) sum += maximum(a, b);
"""

CPP_MUTANTS = {
    (4, "0.5", "0.6"), (4, " * ", " / "), (4, " + ", " - "), (4, "+ 1", "+ 2"), (4, " - ", " + "),
    (5, " < ", " <= "), (5, " += ", " -= "), (5, "maximum(", "minimum("),
}  # fmt: skip


def mutants_of(folder: Path, name: str, text: str, make: Any) -> list[Mutant]:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return make(folder, path)


@pytest.mark.parametrize(
    ("name", "text", "make", "expected"),
    [("a.py", PYTHON, python_mutants, PYTHON_MUTANTS), ("a.hpp", CPP, cpp_mutants, CPP_MUTANTS)],
    ids=["Python", "C++"],
)
def test_each_mutant_changes_one_span_of_the_code(
    tmp_path: Path, name: str, text: str, make: Any, expected: set[tuple[int, str, str]]
) -> None:
    mutants = mutants_of(tmp_path, name, text, make)
    assert {(each.line, each.old, each.new) for each in mutants} == expected
    for each in mutants:
        changed = each.apply(text)
        assert changed != text
        assert changed == text[: each.start] + each.new + text[each.end :]
        if name.endswith(".py"):
            assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(text))


def test_a_mutant_of_another_text_is_refused(tmp_path: Path) -> None:
    mutant = mutants_of(tmp_path, "a.py", PYTHON, python_mutants)[0]
    with pytest.raises(ValueError, match=f"a.py:{mutant.line} is not the text"):
        mutant.apply("\n" + PYTHON)


def test_a_sample_follows_from_its_seed_and_takes_each_file_in_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "ROOT", tmp_path)
    for name, times in (("long.py", 40), ("short.py", 1), ("other.py", 1)):
        mutants_of(tmp_path / "src/airshed/core", name, "a = b + c\n" * times, python_mutants)
    mutants_of(tmp_path / "src/airshed/core", "cpu.hpp", CPP, cpp_mutants)
    first, again, other = (list(sample(["core"], seed, python=12, cpp=2)) for seed in (1, 1, 2))
    assert first == again != other
    files = [Path(each.file).name for each in first]
    assert set(files[:3]) == {"long.py", "short.py", "other.py"}
    assert files[3:] == ["long.py"] * 9 + ["cpu.hpp"] * 2
    assert len(set(first)) == 14


def database(path: Path, lines: dict[str, dict[str, set[int]]]) -> Path:
    """Write a coverage database in the format of coverage.py: sets of lines as bits."""
    with sqlite3.connect(path) as connection:
        connection.execute("create table file (id integer primary key, path text)")
        connection.execute("create table context (id integer primary key, context text)")
        connection.execute("create table line_bits (file_id integer, context_id integer, numbits blob)")
        for number, (file, contexts) in enumerate(lines.items()):
            connection.execute("insert into file values (?, ?)", (number, f"/anywhere/{file}"))
            for context, chosen in contexts.items():
                key = connection.execute("insert into context (context) values (?)", (context,)).lastrowid
                bits = bytearray(max(chosen) // 8 + 1)
                for line in chosen:
                    bits[line // 8] |= 1 << line % 8
                connection.execute("insert into line_bits values (?, ?, ?)", (number, key, bytes(bits)))
    connection.close()
    return path


def test_the_tests_of_a_line_are_those_whose_context_ran_it(tmp_path: Path) -> None:
    file = "src/airshed/core/a.py"
    contexts = {
        "": {1, 8, 15}, "tests/core/test_a.py::test_x[a|b]|run": {7, 8}, "tests/core/test_a.py::test_y|setup": {8, 23},
        "tests/core/test_a.py::test_y|run": {16},
    }  # fmt: skip
    coverage = Coverage(database(tmp_path / "coverage", {file: contexts}))
    x, y = "tests/core/test_a.py::test_x[a|b]", "tests/core/test_a.py::test_y"
    found = {line: coverage.tests_of(file, line) for line in (1, 7, 8, 15, 16, 23, 24, 800, None)}
    assert found == {1: set(), 7: {x}, 8: {x, y}, 15: set(), 16: {y}, 23: {y}, 24: set(), 800: set(), None: {x, y}}
    assert coverage.tests_of("src/airshed/core/b.py", 8) == set()


def test_lines_outside_of_functions_run_at_import() -> None:
    assert [line for line in range(1, 8) if runs_at_import("A = 1\ndef f(\n  a=2,\n):\n  b = 3\n\nB = 4\n", line)] == [
        1, 2, 3, 4, 6, 7,
    ]  # fmt: skip


def test_seconds_are_those_of_setup_and_call_of_both_kinds_of_lines() -> None:
    lines = "0.25\t9.0\tsetup\tpassed\ttests/a.py::x[a b]\n1.5s call     tests/a.py::x[a b]\n.F. [1%]\n"
    assert read_seconds(lines) == {"tests/a.py::x[a b]": 1.75}


def test_batches_grow_take_near_and_cheap_tests_first_and_end_at_the_limit() -> None:
    seconds = {"tests/a/1": 4.0, "tests/a/2": 3.0, "tests/b/1": 1.0, "tests/b/2": 0.1, "tests/b/3": 6.0}
    assert batches(seconds, seconds, "tests/a/", 100.0) == [
        ["tests/b/2", "tests/a/2", "tests/a/1"], ["tests/b/1", "tests/b/3"],
    ]  # fmt: skip
    assert batches(seconds, seconds, "tests/a/", 8.0) == [["tests/b/2", "tests/a/2", "tests/a/1"]]
    assert batches([], seconds, "tests/a/", 8.0) == []


def test_the_comparison_lists_mutants_that_are_no_longer_caught() -> None:
    mutants = [
        Mutant("src/airshed/core/sign.py", 2, 1, 2, "1.0", "2.0"),
        Mutant("src/airshed/core/sign.py", 2, 3, 4, ">", ">="),
        Mutant("src/airshed/core/sign.hpp", 1, 1, 4, " + ", " - "),
        Mutant("src/airshed/models/air/programs/a.py", 3, 1, 2, "a\n  b", "c"),
    ]

    def lines(*caught: bool) -> list[dict[str, object]]:
        pairs = zip(mutants, caught, strict=False)
        return [{**vars(mutant), "caught": each, "by": "some test" if each else ""} for mutant, each in pairs]

    assert comparison(lines(True, True, False, True), lines(True, False, True)).splitlines() == [
        "| package | mutants | caught before | caught now | share |",
        "| --- | --- | --- | --- | --- |",
        "| core | 2 | 2 | 1 | 50.0% |",
        "| core (C++) | 1 | 0 | 1 | 0.0% |",
        "| all | 3 | 2 | 2 | 50.0% |",
        "",
        "Caught before and not now:",
        "- src/airshed/core/sign.py:2 `>` -> `>=` (some test)",
        "Not compared: 1 mutants that are in one of the results only.",
    ]
    assert "- src/airshed/models/air/programs/a.py:3 `a b` -> `c` (some test)" in comparison(
        lines(True, True, True, True), lines(True, True, True, False)
    )
