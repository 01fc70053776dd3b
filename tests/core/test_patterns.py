"""Patterns that read a user's text take a number of steps linear in its length."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.core.steps import worst

import airshed

ROOT = Path(airshed.__file__).parent
READERS = (
    "core", "formula", "fields", "grid", "mechanism", "process", "io", "case", "observations", "air", "assimilate",
    "pasture", "points", "runtime", "serve", "inverse/checkpoints", "evaluate", "sweep",
)  # fmt: skip
SEARCHING = {"search", "finditer", "findall", "sub", "split"}
MOST = 2.6
"""Growth of steps when a text is doubled: 2 is linear, 4 quadratic; short texts have a constant part."""


def used() -> dict[tuple[str, int, bool], str]:
    """Return every pattern of the readers with its flags, whether it searches, and its location."""
    files = [file for name in READERS for file in sorted((ROOT / name).rglob("*.py"))]
    trees = {file: ast.parse(file.read_text(encoding="utf-8")) for file in files}
    methods: dict[str, set[str]] = {}
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                methods.setdefault(node.value.id, set()).add(node.attr)
    found: dict[tuple[str, int, bool], str] = {}
    for file, tree in trees.items():
        for pattern, flags, search, line in _patterns(file, tree, methods):
            found.setdefault((pattern, flags, search), f"{file.relative_to(ROOT)}:{line}")
    return found


def _patterns(file: Path, tree: ast.Module, methods: dict[str, set[str]]) -> Iterator[tuple[str, int, bool, int]]:
    names: dict[int, str] = {}
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        for target in targets:
            if isinstance(target, ast.Name):
                names[node.lineno] = target.id
    module: Any = None
    for number, name in names.items():
        source = ast.unparse(next(each for each in tree.body if each.lineno == number))
        if "re.compile" not in source:
            continue
        module = module or import_module(".".join(("airshed", *file.relative_to(ROOT).with_suffix("").parts)))
        value = getattr(module, name)
        if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
            yield value.pattern, value.flags, bool(methods.get(name, set()) & SEARCHING), number
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "re":
            given = node.args[0] if node.args else None
            if node.func.attr != "compile" and isinstance(given, ast.Constant) and isinstance(given.value, str):
                yield given.value, re.compile(given.value).flags, node.func.attr in SEARCHING, node.lineno


PATTERNS = used()


def test_patterns_are_found() -> None:
    assert len(PATTERNS) > 40
    assert any("case/toml.py" in place for place in PATTERNS.values())


@pytest.mark.thorough
@pytest.mark.parametrize("given", PATTERNS, ids=PATTERNS.values())
def test_steps_grow_no_faster_than_the_text(given: tuple[str, int, bool]) -> None:
    pattern, flags, search = given
    growth, text = worst(pattern, flags, search=search)
    assert growth < MOST, f"{pattern!r} on {text!r}: {growth:.1f} times the steps for twice the text"


@pytest.mark.parametrize(
    ("pattern", "search"),
    [
        (r"\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?", False),  # took minutes for 4 kB of blanks
        (r"(a+)+b", False),
        (r"\s+$", True),
        (r"(.*?)\s*(?:\[([^\]]*)\])?", False),
    ],
)
def test_superlinear_patterns_are_found(pattern: str, search: bool) -> None:
    assert worst(pattern, re.compile(pattern).flags, search=search)[0] > MOST


@pytest.mark.parametrize("pattern", [r"[A-Za-z]\w*", r"\s*([-+]?\d+)\s*=", r"(?:ab|cd)*e"])
def test_linear_patterns_pass(pattern: str) -> None:
    assert worst(pattern, re.compile(pattern).flags, search=False)[0] < MOST
