"""The catalogue of compiled libraries: refusals, and the number of tests that are marked to compile others."""

import ast
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import builds

from airshed.core.errors import KernelError
from airshed.kernels.toolchain import build

SOURCE = 'extern "C" int answer() { return 42; }'


def marks(node: ast.AST) -> set[str]:
    """Return the names of the pytest markers in an expression or a list of decorators."""
    return {
        each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute) and "mark" in ast.unparse(each.value)
    }


def marked(text: str) -> int:
    """Return the number of test functions of a file that are marked ``compiles`` and are not thorough."""
    tree = ast.parse(text)
    module = {name for node in tree.body if "pytestmark" in _targets(node) for name in marks(node)}
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"))
    names = (module.union(*map(marks, node.decorator_list)) for node in functions)
    return sum("compiles" in each and "thorough" not in each for each in names)


def _targets(node: ast.stmt) -> Iterator[str]:
    yield from (target.id for target in getattr(node, "targets", []) if isinstance(target, ast.Name))


def test_the_number_of_marked_tests_only_falls() -> None:
    found = sum(marked(path.read_text(encoding="utf-8")) for path in builds.HERE.rglob("test_*.py"))
    advice = "use a library of tests/builds.py; where the number fell, lower MARKED there"
    assert found == builds.MARKED, advice


def test_marks_are_counted_at_functions_and_modules() -> None:
    decorated = "@pytest.mark.compiles\ndef test_a(): pass\ndef test_b(): pass\n"
    assert marked(decorated) == 1
    assert marked(f"pytestmark = pytest.mark.thorough\n{decorated}") == 0
    assert marked(f"pytestmark = [pytest.mark.compiles, pytest.mark.skipif(True)]\n{decorated}") == 2


def test_a_test_without_the_mark_cannot_compile() -> None:
    with pytest.raises(KernelError, match=r"test_without_the_mark_cannot_compile \(call\) compiles answer-"):
        build(SOURCE, name="answer")


@pytest.mark.compiles
def test_a_marked_test_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRSHED_CACHE", str(tmp_path))
    assert build(SOURCE, name="answer").path.parent == tmp_path


def test_libraries_of_tests_and_of_users_differ() -> None:
    """The version that the compiler of tests reports, which is part of a library's key, names the optimisation."""
    version = subprocess.run([os.environ["AIRSHED_CXX"], "--version"], capture_output=True, text=True, check=True)
    assert version.stdout.endswith("for tests -O1\n")


def test_the_catalogue_has_few_libraries() -> None:
    key, *libraries = (Path(os.environ["AIRSHED_CACHE"]) / builds.MANIFEST).read_text(encoding="utf-8").splitlines()
    assert len(key) == 64
    assert 0 < len(builds.counted(libraries)) <= builds.MOST_LIBRARIES
