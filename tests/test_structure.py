"""Modules are neither very short nor long, and functions have few parameters; exceptions are listed with reasons."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src/airshed"

LEAST_LINES, MOST_LINES, MOST_PARAMETERS = 40, 500, 7

SHORT = {
    "__main__.py": "an entry point",
    "cli/main.py": "an entry point",
    "core/arrays.py": "array types for annotations everywhere",
    "core/alarm.py": "files and the runtime share it",
    "core/stages.py": "models report stages to it, and the server observes them",
    "cli/commands/schema.py": "a command of its own",
    "core/version.py": "the build reads it",
    "formula/invariant.py": "one transformation of formulas, as its neighbours are",
    "kernels/backends/cpu/backend.py": "every backend has this file",
    "models/air/emissions/sectors.py": "a table of names",
    "verify/figure.py": "every check returns it",
}
"""Modules below 40 lines, in addition to ``__init__`` of packages, and processes, each of which is a file."""

LONG: dict[str, str] = {}
"""Modules above 350 lines."""

MANY = {
    "kernels/backends/cpu/stepper.py: __init__": "arrays and sums of other ranks, and a state, are optional",
    "models/air/weather/boundary_layer.py: _free_diffusivity": "the formula of one pass over arrays",
    "evaluate/evaluation.py: evaluate": "the Python form of a command, all but two by name",
    "models/air/emissions/inventory.py: __init__": "parts from the builder, by name",
    "models/air/forcing.py: __init__": "parts of a run's forcing, by name",
    "inverse/receptors/box.py: box_sensitivity": "options of a gradient, all but four by name",
    "inverse/receptors/point_gradient.py: point_gradient": "options of a gradient, all but three by name",
    "models/box/run.py: run_box": "options of a command, all but three by name",
    "io/folder.py: __init__": "options of a folder, all but two by name",
    "plot/run.py: plot_run": "the Python form of a command, all but four by name",
    "runtime/simulation.py: __init__": "options of a run, all but the case by name",
}
"""Functions of more parameters.

Further exceptions are commands, for the reason in ``cli/commands/__init__.py``, and declarations of processes, whose
parameters are the fields and numbers that they read, by name.
"""


def lines_of(source: Path) -> dict[str, int]:
    """Return the number of lines of each module except ``__init__``."""
    modules = [path for path in source.rglob("*.py") if path.name != "__init__.py"]
    return {path.relative_to(source).as_posix(): len(path.read_text().splitlines()) for path in modules}


def functions(source: Path) -> Iterator[tuple[str, int]]:
    """Yield each function outside commands and processes, and its number of parameters except ``self`` and ``cls``."""
    for path in source.rglob("*.py"):
        name = path.relative_to(source).as_posix()
        for node in ast.walk(ast.parse(path.read_text())) if not {"commands", "processes"} & {*name.split("/")} else ():
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                given = node.args
                names = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
                count = len(names) + (given.vararg is not None) + (given.kwarg is not None)
                yield f"{name}: {node.name}", count - (names[:1] in (["self"], ["cls"]))


def check(found: set[str], allowed: Mapping[str, str], fault: str) -> None:
    """Fail for exceptions that are not listed, and for listed ones that do not exist."""
    new, gone = sorted(found - set(allowed)), sorted(set(allowed) - found)
    assert not new, f"{fault}: {', '.join(new)}; change them, or name them here with the reason why they must be so"
    assert not gone, f"no longer {fault}: {', '.join(gone)}; take them off the list"


def too_short(source: Path) -> set[str]:
    return {name for name, lines in lines_of(source).items() if lines < LEAST_LINES and "/processes/" not in name}


def too_long(source: Path) -> set[str]:
    return {name for name, lines in lines_of(source).items() if lines > MOST_LINES}


def too_many(source: Path) -> set[str]:
    return {name for name, count in functions(source) if count > MOST_PARAMETERS}


def test_a_module_that_could_be_a_function_elsewhere_is_one() -> None:
    check(too_short(SOURCE), SHORT, f"below {LEAST_LINES} lines")


def test_no_module_is_long() -> None:
    check(too_long(SOURCE), LONG, f"above {MOST_LINES} lines")


def test_functions_take_few_parameters() -> None:
    check(too_many(SOURCE), MANY, f"above {MOST_PARAMETERS} parameters")


def test_violations_of_the_limits_are_found(tmp_path: Path) -> None:
    """Negative control: violations are found."""
    (tmp_path / "cli/commands").mkdir(parents=True)
    many = "def many(a, /, b, c, *d, e, f, g, **h): ..."
    (tmp_path / "short.py").write_text("\n" * (LEAST_LINES - 1))
    (tmp_path / "long.py").write_text("\n" * (MOST_LINES + 1))
    method = "class A:\n    def few(self, a, b, c, d, e, f, g): ...\n"
    (tmp_path / "right.py").write_text(method + "\n" * (LEAST_LINES - 2) + many + "\n")
    (tmp_path / "cli/commands/run.py").write_text(many + "\n" * LEAST_LINES)
    assert (too_short(tmp_path), too_long(tmp_path)) == ({"short.py"}, {"long.py"})
    assert too_many(tmp_path) == {"right.py: many"}
    with pytest.raises(AssertionError, match=r"short\.py; .* with the reason"):
        check({"short.py"}, {}, "short")
    with pytest.raises(AssertionError, match=r"short\.py; take them off the list"):
        check(set(), {"short.py": "a reason"}, "short")
