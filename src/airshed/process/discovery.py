"""Discovery of processes: in a package with one module or folder each, and in files of users."""

import importlib
import pkgutil
import runpy
import traceback
from collections.abc import Iterable, Iterator
from inspect import cleandoc
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import Field, create_model

from airshed.core.errors import AirshedError, CaseError
from airshed.core.files import note_input
from airshed.core.settings import Section
from airshed.process.declaration import Process


def processes_of(package: ModuleType) -> tuple[type[Process], ...]:
    """Return the processes in the modules and folders of a package, in their order."""
    found: list[type[Process]] = []
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        found += _declared(vars(importlib.import_module(module.name)), module.name)
    return tuple(sorted(found, key=lambda each: (each.order, each.__name__)))


def process_of_file(path: Path) -> type[Process]:
    """Execute the file of a user and return its process; raises CaseError with the line of a fault."""
    try:
        found = list(_declared(runpy.run_path(str(note_input(path))), "<run_path>"))
    except AirshedError as error:
        raise CaseError(f"{path}: {error}") from error
    except OSError as error:
        raise CaseError(f"{path}: {error.strerror or error}") from error
    except Exception as error:
        raise CaseError(f"{path}:{_line_of(error, path)}: {type(error).__name__}: {error}") from error
    if len(found) != 1:
        names = ", ".join(each.__name__ for each in found) or "none"
        raise CaseError(f"{path} must define one class that is a Process, but defines {names}")
    return found[0]


def _line_of(error: Exception, path: Path) -> int:
    """Return the line of a file in which an error occurred."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path) and frame.lineno]
    return lines[-1] if lines else getattr(error, "lineno", None) or 0


def _declared(names: dict[str, Any], module: str) -> Iterator[type[Process]]:
    for value in names.values():
        if isinstance(value, type) and issubclass(value, Process) and f"{value.__module__}.".startswith(f"{module}."):
            yield value


def section_of(process: type[Process]) -> type[Section]:
    """Return the section of a case file with the settings of a process."""
    if process.model is not None:
        return process.model
    fields: dict[str, Any] = {
        name: (each.annotation, each.field) for name, each in process.declaration.settings.items()
    }
    text = cleandoc(process.__doc__ or "").split("\n\n")[0]
    return create_model(process.__name__, __base__=Section, __doc__=text, **fields)


def sections_of(processes: Iterable[type[Process]]) -> dict[str, Any]:
    """Return the fields of a case by section, as arguments of ``pydantic.create_model``."""
    sections = {process.section: section_of(process) for process in processes}
    return {name: (section, Field(default_factory=section)) for name, section in sections.items()}
