"""Record of the public interface: ``python -m tests.public > tests/public.txt``, at each release.

A line for each public name, parameter, command, option and variable of the result files. docs/reference/stability.md
promises that a recorded line stays valid; tests/test_stability.py compares.
"""

import inspect
import re
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any, Final

import typer
import xarray as xr
from pydantic import BaseModel
from tests.test_docstrings import INTERNAL
from typer.core import TyperGroup

import airshed
from airshed.cli.program import app
from airshed.serve.protocol.types import PROTOCOL

ROOT: Final = Path(__file__).resolve().parents[1]
RECORD: Final = ROOT / "tests" / "public.txt"
API: Final = ROOT / "docs" / "reference" / "api.md"


def names() -> list[str]:
    """Return the public names: those of the package, and those of the page of the Python API."""
    listed = re.findall(r"^   ([A-Za-z_]\w*(?:\.\w+)*)$", API.read_text(encoding="utf-8"), re.MULTILINE)
    return sorted({*airshed.__all__, *listed})


def members(name: str) -> Iterator[str]:
    """Yield the lines of a name: itself, its parameters, and the public methods of a class with theirs."""
    described: Any = reduce(getattr, name.split("."), airshed)
    yield f"name airshed.{name}"
    if inspect.isclass(described):
        own = [each for each in dir(described) if not each.startswith(("_", "model_"))]
        hidden = (*dir(BaseModel), *INTERNAL, *dir(Exception))
        yield from (f"name airshed.{name}.{each}" for each in own if each not in hidden)
    if callable(described) and not (inspect.isclass(described) and issubclass(described, BaseModel | Exception)):
        yield from (f"parameter airshed.{name}({each})" for each in inspect.signature(described).parameters)


def commands(command: Any = None, name: str = "airshed") -> Iterator[str]:
    """Yield the lines of a command and of its options, or of all commands of a group."""
    command = command or typer.main.get_command(app)
    if isinstance(command, TyperGroup):
        for each, inner in command.commands.items():
            if not inner.hidden:
                yield from commands(inner, f"{name} {each}")
        return
    yield f"command {name}"
    options = [each for each in command.params if each.param_type_name == "option" and not each.hidden]
    yield from (f"option {name} {form}" for each in options for form in (*each.opts, *each.secondary_opts))


def variables(path: Path) -> Iterator[str]:
    """Yield a line for each variable of a result file: name, dimensions, unit."""
    with xr.open_dataset(path, decode_cf=False) as found:
        for name, each in sorted(found.variables.items(), key=lambda item: str(item[0])):
            unit = each.attrs.get("units", "").partition(" since ")[0]
            yield f"variable {path.name} {name}({', '.join(map(str, each.dims))}) [{unit}]"


def interface(golden: Path | None = None) -> list[str]:
    """Return all lines; those of result files from the folder of a golden run."""
    lines = [line for name in names() for line in members(name)]
    lines += [*commands(), f"protocol {PROTOCOL}"]
    for path in [] if golden is None else [golden / "run" / "output.nc", golden / "sensitivity.nc"]:
        lines += variables(path)
    return lines


if __name__ == "__main__":
    from tests import builds
    from tests import golden as golden_run

    builds.set_environment()
    builds.prepare()  # the golden run, too
    print(*interface(golden_run.folder()), sep="\n")
