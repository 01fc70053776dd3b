"""The folder of a new run: results of an earlier run are neither computed twice nor replaced without a request."""

import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from airshed.case.case import RunCase
from airshed.core.errors import OutputError
from airshed.io.folder import RUNS
from airshed.io.run_state import (
    FinishedRunError,
    RunState,
    check_replaceable,
    difference_of_runs,
    is_finished,
    read_state,
    results,
)
from airshed.runtime.records import MAY_DIFFER, FolderUse


def default_folder(case: RunCase, *, begin: bool = True, runs: Path = RUNS) -> Path:
    """Return the folder for a run of a case: ``runs/NAME``, or ``runs/NAME-2`` and so on for changed settings.

    A folder that holds a run of the same case and settings is preferred, whatever its number.

    begin  whether a new run begins, which needs a free folder; otherwise a run in ``runs/NAME`` is resumed or replaced
    """
    first = runs / case.name
    taken = list(_numbered(first))
    for folder in taken:
        state = _state(folder)
        if state is not None and _is_same(case, folder, state):
            return folder
    if not begin:
        return first
    names = (first if number == 1 else runs / f"{case.name}-{number}" for number in count(1))
    return next(folder for folder in names if folder not in taken or _is_empty(folder))


def check_unfinished(case: RunCase, folder: Path) -> None:
    """Raise FinishedRunError where a folder holds the whole results of a run of the same case and settings."""
    state = _state(folder)
    if state is not None and is_finished(folder, state) and _is_same(case, folder, state):
        raise FinishedRunError(
            f"{folder} holds the finished run of this case with these settings; give --force to run it again"
        )


def reason_for(case: RunCase, folder: Path) -> str | None:
    """Return why a default folder has a number: in which setting or file the run in the first folder differs."""
    first = folder.parent / case.name
    if folder == first:
        return None
    state = _state(first)
    inputs = FolderUse(first).inputs(case)
    changed = None if state is None else difference_of_runs(state, case.to_toml(), MAY_DIFFER, inputs)
    return f"{first} holds {'other files' if state is None else 'another run'}" + (f" ({changed})" if changed else "")


def _numbered(first: Path) -> Iterator[Path]:
    """Yield the folders ``NAME``, ``NAME-2`` and so on that exist, by number."""
    pattern = re.compile(rf"{re.escape(first.name)}(?:-([2-9]|[1-9]\d+))?")
    there = first.parent.iterdir() if first.parent.is_dir() else ()
    found = [(int(match[1] or 1), path) for path in there if (match := pattern.fullmatch(path.name))]
    return (path for _, path in sorted(found))


def _state(folder: Path) -> RunState | None:
    try:
        return read_state(folder)
    except OutputError:  # damaged: reported when a run is resumed there
        return None


def _is_empty(folder: Path) -> bool:
    """Return whether a folder holds nothing, or a run that left nothing."""
    if not folder.is_dir():
        return False
    files = [path for path in folder.iterdir() if not path.name.startswith(".")]
    if not files:
        return True
    state = _state(folder)
    return state is not None and not any(results(folder, name) for name in state.outputs) and not (
        (folder / "restart").is_dir() and any((folder / "restart").glob("[!.]*"))
    )  # fmt: skip


def _is_same(case: RunCase, folder: Path, state: RunState) -> bool:
    """Return whether a run of a case would repeat the results of the run in a folder."""
    try:
        check_replaceable(folder, state, case.to_toml(), MAY_DIFFER, FolderUse(folder).inputs(case))
    except OutputError:
        return False
    return True
