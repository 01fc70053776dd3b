"""The state of a run folder: its run, its results, and whether it can be resumed."""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, Literal, get_args

from airshed.core.errors import CaseError, OutputError
from airshed.core.toml_text import parse_toml
from airshed.core.version import __version__
from airshed.io.inputs import Inputs, Marks, in_words

STATE_FILE: Final = "run.json"

SWEEP_PLAN: Final = "sweep.json"
SWEEP_MEMBERS: Final = "members"
SWEEP_DATASET: Final = "sweep.zarr"
"""Plan, runs and dataset in the folder of a sweep."""

MEMBER: Final = "member"
"""Dimension of an ensemble."""

RESULTS: Final = (".nc", ".files", ".zarr")
"""What a result may be: one netCDF file, a folder of one for each rank, or a Zarr store."""

_LONGER: Final = (
    ". To go on after its end, begin a run in another folder there: time.start, and its output as initial.file"
)

State = Literal["running", "interrupted", "finished"]


@dataclass(frozen=True)
class RunState:
    """What ``run.json`` says.

    outputs  names of the output files, without ``.nc``
    inputs   marks of the files that were read, see :mod:`airshed.io.inputs`
    history  what happened to the run that its results must say
    """

    airshed: str
    state: State
    started: str
    case_hash: str
    case: str
    outputs: tuple[str, ...] = ()
    inputs: Marks = field(default_factory=dict)
    history: tuple[str, ...] = ()


def read_state(folder: Path) -> RunState | None:
    """Return the state of a run folder, or None for a folder that holds no run; raises OutputError if unreadable."""
    try:
        content = json.loads((folder / STATE_FILE).read_text(encoding="utf-8"))
        sequences = {name: tuple(dict(content).get(name, ())) for name in ("outputs", "history")}
        state = RunState(**{**content, **sequences})
        if state.state not in get_args(State):
            raise ValueError(f"no run is {state.state!r}")
        for mark in dict(state.inputs).values():
            if type(mark["bytes"]) is not int or type(mark["sha256"]) is not str:
                raise ValueError("a mark of an input file is none")
        if state.case_hash != case_hash(state.case):
            raise ValueError("the case is not the one that was written")
        return state
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise OutputError(f"{folder / STATE_FILE} cannot be read ({error}); remove that folder and run anew") from error


def results(folder: Path, name: str) -> list[Path]:
    """Return what there is of a result: nothing while it is not whole, else one path, or more after a merge."""
    return [path for suffix in RESULTS if (path := folder / f"{name}{suffix}").exists()]


class FinishedRunError(OutputError):
    """The run to resume is finished, and its results are there: nothing is left to do."""


def case_hash(case_toml: str) -> str:
    """Return a digest of a resolved case."""
    return hashlib.blake2b(case_toml.encode(), digest_size=16).hexdigest()


def check_resumable(
    path: Path, earlier: RunState, case_toml: str, may_differ: Collection[str], inputs: Inputs | None = None
) -> None:
    """Check that a run may be resumed with a case; ``may_differ`` names settings that may have changed.

    inputs  the files that were read so far; without files only those of the earlier run are compared
    Raises FinishedRunError when nothing is left to do, OutputError when another version made it, CaseError when the
    run has another case, or a file that it has read has changed.
    """
    difference = first_difference(earlier.case, case_toml, may_differ)
    changed = [] if inputs is None or inputs.accept else changed_inputs(earlier, inputs)
    if changed and difference is None:
        raise CaseError(
            f"the run in {path} has read other files: {in_words(changed)}; restore them, run anew without --resume, or "
            "give --accept-changed-inputs to go on with the files of now"
        )
    finished = earlier.state == "finished" and all(results(path, name) for name in earlier.outputs)
    if finished and difference is None:
        raise FinishedRunError(f"the run in {path} is finished; there is nothing to resume")
    if earlier.airshed != __version__:
        raise OutputError(
            f"the run in {path} was made by Airshed {earlier.airshed}, this is {__version__}; "
            "resume it with that version, or run anew without --resume"
        )
    if difference is not None:
        of_air = parse_toml(case_toml).get("model") == "air"
        advice = _LONGER if of_air and difference.startswith("time.length ") else ""
        raise CaseError(
            f"the run in {path} cannot be resumed with another case: {difference}; run anew, or undo that{advice}"
        )


def changed_inputs(earlier: RunState, inputs: Inputs) -> list[str]:
    """Return what has changed of the files that an earlier run has read, in words."""
    return inputs.differences(earlier.inputs) if inputs.files else inputs.changed(earlier.inputs)


def check_replaceable(
    path: Path, earlier: RunState, case_toml: str, may_differ: Collection[str], inputs: Inputs | None = None
) -> None:
    """Check that a new run gives again the results that an earlier one left in a folder; raises OutputError if not."""
    difference = first_difference(earlier.case, case_toml, may_differ)
    if difference is None and earlier.airshed != __version__:
        difference = f"Airshed was {earlier.airshed}, now is {__version__}"
    if difference is None and inputs is not None:
        difference = in_words(changed_inputs(earlier, inputs)) or None
    if difference is not None:
        raise OutputError(
            f"{path} holds another run ({difference}), which would be lost; choose another folder, or give --force (in "
            "Python overwrite=True) to replace it"
        )


def first_difference(saved: str, given: str, may_differ: Collection[str] = ()) -> str | None:
    """Return the first setting that differs between two cases in TOML, as ``time.step was 120 s, now is 60 s``.

    ``may_differ`` names settings, or tables of them, that are left out; ``*`` stands for any part of a name. Returns
    None when nothing else differs.
    """
    before = dict(_settings(parse_toml(saved)))
    now = dict(_settings(parse_toml(given)))
    for name in [*now, *(name for name in before if name not in now)]:
        allowed = any(fnmatchcase(name, pattern) for free in may_differ for pattern in (free, f"{free}.*"))
        if not allowed and (name not in before or name not in now or before[name] != now[name]):
            return f"{name} was {_shown(before, name)}, now is {_shown(now, name)}"
    return None


def _settings(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            yield from _settings(value, f"{name}.")
        elif isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            for index, item in enumerate(value):
                yield from _settings(item, f"{name}.{index}.")
        else:
            yield name, value


def _shown(settings: Mapping[str, Any], name: str) -> str:
    return repr(settings[name]) if name in settings else "not set"
