"""Select the test files that a change can affect, by the imports of the package and of the tests.

    python -m tests.reach [COMMIT]      print the files, nearest to the change first

COMMIT is the state that `make test-all` last passed on, by default the one that ``.ci/verified`` names. A test file is
affected if it, one of its helpers or a ``conftest.py`` above it changed, or if it imports a changed module, directly or
through others. Other files of the package count as changes of the modules of their folder; data outside ``src`` and
``tests`` affects the tests whose text names its top folder. Without COMMIT in the history every file is affected.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import grimp

from airshed import _MODULES

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
SHARED = {TESTS / "builds.py", TESTS / "golden.py"}  # tests that use them import the same modules themselves
EVERYWHERE = TESTS / "conftest.py"  # a change of it affects all tests, its imports none
VERIFIED = ROOT / ".ci" / "verified"
_STARTS = re.compile(r'"-m", "airshed"|cli\.program|"airshed", ')
_PROGRAM = "airshed.cli.main"


def changed_files(commit: str) -> list[str] | None:
    """Return the paths that changed since a commit; None if the history does not contain it."""
    names = ["git", "-C", str(ROOT), "diff", "--name-only", "--no-renames", commit, "HEAD"]
    answer = subprocess.run(names, capture_output=True, text=True, check=False)
    return answer.stdout.split() if answer.returncode == 0 else None


def affected(changed: Iterable[str]) -> list[Path]:
    """Return the test files that a change of files affects, those with the shortest chain of imports first."""
    changed = list(changed)
    graph = import_graph()
    distance = distances(graph, modules_of(changed, graph.modules))
    own, folders = set(changed), {name.partition("/")[0] for name in changed} - {"src", "tests", ".ci", "web", "docs"}
    found = {path: _distance(path, distance, own, folders) for path in sorted(TESTS.rglob("test_*.py"))}
    return sorted((path for path in found if found[path] is not None), key=lambda path: found[path] or 0)


@cache
def import_graph() -> grimp.ImportGraph:
    """Return the imports of the package, including imports by name: lazy attributes, models and processes."""
    graph = grimp.build_graph("airshed")
    modules = list(graph.modules)
    for module in modules:
        path = ROOT / "src" / Path(*module.split("."))
        if module == "airshed":  # it imports on demand; `imports` finds the names that a file uses
            continue
        for imported in imports(path / "__init__.py" if path.is_dir() else path.with_suffix(".py")) & {*modules}:
            graph.add_import(importer=module, imported=imported)
        if module.endswith(".processes"):  # discovery imports all modules of such a package
            for child in graph.find_children(module):
                graph.add_import(importer=module, imported=child)
    for module in ("airshed.models.air.kind", "airshed.models.pasture.model"):
        graph.add_import(importer="airshed.runtime.registry", imported=module)
    graph.add_import(importer="airshed.kernels.backend", imported="airshed.kernels.backends.cpu.backend")
    for imported in graph.find_modules_directly_imported_by("airshed"):
        graph.remove_import(importer="airshed", imported=imported)
    return graph


def modules_of(changed: Iterable[str], modules: Iterable[str]) -> set[str]:
    """Return the modules of the package to which changed files belong."""
    known, result = set(modules), set()
    for name in changed:
        path = Path(name)
        if path.parts[:2] != ("src", "airshed"):
            continue
        module = ".".join(path.with_suffix("").parts[1:]).removesuffix(".__init__")
        folder = ".".join(path.parent.parts[1:])
        inside = {each for each in known if each == folder or each.rpartition(".")[0] == folder}
        result |= {module} if path.suffix == ".py" and module in known else inside
    return result


def distances(graph: grimp.ImportGraph, changed: set[str]) -> dict[str, int]:
    """Return each module that imports a changed one, with the number of imports in between."""
    result, front = dict.fromkeys(changed, 0), changed
    while front:
        front = {by for name in front for by in graph.find_modules_that_directly_import(name)} - set(result)
        result |= dict.fromkeys(front, max(result.values(), default=0) + 1)
    return result


def _distance(path: Path, distance: dict[str, int], changed: set[str], folders: set[str]) -> int | None:
    """Return the distance of a test file from the change; None if it is not affected."""
    sources = set(helpers(path))
    if {str(each.relative_to(ROOT)) for each in sources} & changed:
        return 0
    if path.is_relative_to(TESTS / "web") and any(name.startswith("web/") for name in changed):
        return 0
    near = [distance[name] for each in sources - {EVERYWHERE} for name in imports(each) if name in distance]
    named = any(f"{folder}/" in each.read_text(encoding="utf-8") for each in sources for folder in folders)
    return min(near) + 1 if near else (1 if named else None)


def helpers(path: Path) -> Iterator[Path]:
    """Yield a test file, the test modules that it imports, directly or not, and the conftest.py files above it."""
    folders = [folder for folder in path.parents if TESTS in (folder, *folder.parents)]
    seen, left = set(SHARED), [path, *(folder / "conftest.py" for folder in folders)]
    while left:
        each = left.pop()
        if each in seen or not each.is_file():
            continue
        seen.add(each)
        yield each
        for name in imports(each):
            if name.startswith("tests."):
                left.append(ROOT / Path(*name.split(".")).with_suffix(".py"))


@cache
def imports(path: Path) -> frozenset[str]:
    """Return the modules that a file may import, also inside functions, and the program if the file starts it."""
    result = set[str]()
    package = list(path.relative_to(ROOT).parent.parts)
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            result |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *filter(None, [node.module])])
            result |= {module, *(f"{module}.{each.name}" for each in node.names)}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "airshed":
            result.add(f"airshed.{_MODULES.get(node.attr, node.attr)}")
    return frozenset(result | ({_PROGRAM} if _STARTS.search(text) and TESTS in path.parents else set()))


def main() -> None:
    """Print the affected files."""
    commit = sys.argv[1] if len(sys.argv) > 1 else VERIFIED.read_text(encoding="utf-8").split()[0]
    changed = changed_files(commit)
    files = sorted(TESTS.rglob("test_*.py")) if changed is None else affected(changed)
    print("\n".join(str(path.relative_to(ROOT)) for path in files))


if __name__ == "__main__":
    main()
