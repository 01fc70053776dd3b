"""Names in the texts of tests denote parts of the program: a test of a name that is gone would check nothing.

pytest refuses to patch a name that does not exist, unless `raising=False`. It accepts such a name in other texts: of
modules that must not be imported, of environment variables, and of files.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.test_site import ROOT, tracked

TESTS = [path for path in tracked("tests/*.py") if path.is_file() and path != Path(__file__)]
PLACES = ("src/*.py", "src/*.hpp", "src/*.cpp", "validation/*.py", "benchmarks/*.py", ".ci/*", "Makefile")
PROGRAM = [path for path in tracked(*PLACES) if path.is_file()]
PATCHED_IF_THERE = {"tests/cli/test_commands.py": "a stand-in for a module that may not be installed"}
"""Files that patch names with `raising=False`, with the reason."""


def exists(name: str) -> bool:
    """Return whether a dotted name is a package or module of the program, or occurs in the module that it names."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        place = ROOT / "src" / Path(*parts[:count])
        for module in (place.with_suffix(".py"), place / "__init__.py"):
            if module.is_file():
                rest = parts[count:]
                return (
                    not rest
                    or rest[0].startswith("__")
                    or re.search(rf"\b{rest[0]}\b", module.read_text(encoding="utf-8")) is not None
                )
    return False


@cache
def variables() -> frozenset[str]:
    """Return the names of environment variables in the program, and the names of variables that tests read."""
    program = "\n".join(path.read_text(encoding="utf-8", errors="ignore") for path in PROGRAM)
    tests = "\n".join(path.read_text(encoding="utf-8") for path in TESTS)
    read = r"environ(?:\.get\(|\.pop\(|\[)\s*[\"'](AIRSHED_\w+)|(AIRSHED_\w+)[\"'] in os\.environ"
    return frozenset([*re.findall(r"\bAIRSHED_[A-Z_]+\b", program), *sum(re.findall(read, tests), ())])


def faults(text: str) -> Iterator[str]:
    """Yield the names in a test that do not exist, and patches that would do nothing."""
    for name in set(re.findall(r"[\"'](airshed(?:\.\w+)+)[\"':]", text)):
        if not exists(name):
            yield f"{name} does not exist"
    for name in set(re.findall(r"[\"'](AIRSHED_[A-Z_]+)[\"']", text)) - variables():
        yield f"the program does not read {name}"
    if re.search(r"\b(?:set|del)attr\((?:[^()]|\([^()]*\))*raising=False", text):
        yield "raising=False"


def test_names_in_tests_exist() -> None:
    for path in TESTS:
        name = path.relative_to(ROOT).as_posix()
        found = list(faults(path.read_text(encoding="utf-8")))
        if name in PATCHED_IF_THERE:
            found.remove("raising=False")
        assert found == [], f"{name}: {found}"


def test_names_that_are_gone_are_found() -> None:
    text = """
        assert "airshed.adjoint.reverse" not in sys.modules
        monkeypatch.setenv("AIRSHED_NO_SUCH_SETTING", "1")
        monkeypatch.setattr("airshed.core.units.gone", 1)
        monkeypatch.setattr(module, "gone", (1, 2), raising=False)
        assert "airshed.core.units" not in sys.modules
    """
    assert sorted(faults(text)) == [
        "airshed.adjoint.reverse does not exist", "airshed.core.units.gone does not exist", "raising=False",
        "the program does not read AIRSHED_NO_SUCH_SETTING",
    ]  # fmt: skip
