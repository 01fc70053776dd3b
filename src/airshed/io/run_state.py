"""State of a run folder: its run, its input files, its results, and whether it can be resumed.

Marks of input files allow a resumed run to find changed files.

A mark consists of the size and the SHA-256 of the whole content. If the files are large together (`WHOLE`), marks of
the largest consist of the size, the time of modification and the SHA-256 of samples. Names are relative to the folder
of the case, so that a case that was moved with its files has the same marks.
"""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from os.path import normpath
from pathlib import Path
from typing import Any, Final, Literal, get_args

from airshed.core.errors import CaseError, OutputError
from airshed.core.files import resource, shipped_name
from airshed.core.text import listed
from airshed.core.toml_text import parse_toml
from airshed.core.units import same_quantity, to
from airshed.core.version import __version__

WHOLE: Final = 1 << 30
"""Limit of the bytes of all files that are read completely, the smallest first; some 0.6 s."""

_SAMPLES, _SAMPLE = 64, 1 << 16
_SHIPPED: Final = "airshed:"

Mark = Mapping[str, Any]
Marks = Mapping[str, Mark]


@dataclass(frozen=True)
class Inputs:
    """Input files of a run.

    files   that were read
    base    folder of the case, to which their names are relative
    accept  whether a run is resumed although some files have changed
    """

    files: Collection[Path] = ()
    base: Path = Path()
    accept: bool = False

    def marks(self) -> dict[str, Mark]:
        """Return the mark of each file by its name."""
        names = {_name_of(path, self.base): path for path in self.files}
        found, left = {}, WHOLE
        for size, name in sorted((path.stat().st_size, name) for name, path in names.items()):  # the smallest first
            left -= size
            found[name] = _mark(names[name], whole=left >= 0)
        return dict(sorted(found.items()))

    def changed(self, before: Marks) -> list[str]:
        """Return the changes of files that an earlier run has read, before this one reads any.

        A missing file is left to :meth:`differences`: a reader that requires it raises the error.
        """
        paths = {name: _path_of(name, self.base) for name in before}
        there = {name: path for name, path in paths.items() if path.is_file()}
        return [
            f"{name} has changed"
            for name, path in there.items()
            if path.stat().st_size != before[name]["bytes"]  # the content need not be read
            or _mark(path, whole="modified" not in before[name]) != before[name]
        ]

    def differences(self, before: Marks) -> list[str]:
        """Return all differences between the files that an earlier run has read and those of this run."""
        now = self.marks()
        moved = {_known_by(name, mark) for name, mark in before.items()} & {
            _known_by(name, mark) for name, mark in now.items()
        }
        missing = [
            f"{name} is missing"
            for name, mark in before.items()
            if not _path_of(name, self.base).is_file() and _known_by(name, mark) not in moved
        ]
        new = [
            f"{name} is new" for name, mark in now.items() if name not in before and _known_by(name, mark) not in moved
        ]
        return [*self.changed(before), *missing, *new]


def describe_differences(differences: Collection[str]) -> str:
    """Return differences as a text, with the first ones of many."""
    return listed(list(differences), 5)


def _known_by(name: str, mark: Mark) -> tuple[Any, ...]:
    """Return the properties of a file outside the case's folder that do not change when both are moved."""
    return Path(name).name, mark["bytes"], mark["sha256"]


def _name_of(path: Path, base: Path) -> str:
    """Return the name of a file: relative to the case, or to the shipped files; otherwise the path."""
    plain = Path(normpath(path))
    if plain.is_relative_to(base):
        return str(plain.relative_to(base))
    shipped = shipped_name(plain)
    return str(plain) if shipped is None else f"{_SHIPPED}{shipped}"


def _path_of(name: str, base: Path) -> Path:
    """Return the path of a file, which may be missing."""
    if not name.startswith(_SHIPPED):
        return base / name
    folder, _, rest = name.removeprefix(_SHIPPED).partition("/")
    try:
        return resource(folder) / rest
    except Exception:
        return base / name


def _mark(path: Path, *, whole: bool) -> Mark:
    status = path.stat()
    with path.open("rb") as file:
        if whole:
            return {"bytes": status.st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
        found = hashlib.sha256()
        for number in range(_SAMPLES):
            file.seek((status.st_size - _SAMPLE) * number // (_SAMPLES - 1))
            found.update(file.read(_SAMPLE))
    return {"bytes": status.st_size, "modified": status.st_mtime_ns, "sha256": found.hexdigest()}


STATE_FILE: Final = "run.json"

SWEEP_PLAN: Final = "sweep.json"
SWEEP_MEMBERS: Final = "members"
SWEEP_DATASET: Final = "sweep.zarr"
"""Plan, runs and dataset in the folder of a sweep."""

MEMBER: Final = "member"
"""Dimension of an ensemble."""

RESULTS: Final = (".nc", ".files", ".zarr")
"""Forms of a result: one netCDF file, a folder with a file for each rank, or a Zarr store."""

_LENGTH: Final = "time.length"

State = Literal["running", "interrupted", "finished"]


@dataclass(frozen=True)
class RunState:
    """Content of ``run.json``.

    outputs  names of the output files, without ``.nc``
    inputs   marks of the files that were read, see :mod:`airshed.io.run_state`
    history  events of the run that its results must record
    longer   whether the run continues a finished one, whose records are still to be copied from its results
    """

    airshed: str
    state: State
    started: str
    case_hash: str
    case: str
    outputs: tuple[str, ...] = ()
    inputs: Marks = field(default_factory=dict)
    history: tuple[str, ...] = ()
    longer: bool = False


def read_state(folder: Path) -> RunState | None:
    """Return the state of a run folder, or None for a folder without a run; raise OutputError if unreadable."""
    try:
        content = json.loads((folder / STATE_FILE).read_text(encoding="utf-8"))
        sequences = {name: tuple(dict(content).get(name, ())) for name in ("outputs", "history")}
        state = RunState(**{**content, **sequences})
        if state.state not in get_args(State):
            raise ValueError(f"no run is {state.state!r}")
        for mark in dict(state.inputs).values():
            if type(mark["bytes"]) is not int or type(mark["sha256"]) is not str:
                raise ValueError("a mark of an input file is invalid")
        if state.case_hash != case_hash(state.case):
            raise ValueError("the case is not the one that was written")
        return state
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        advice = "remove that folder and run the case again"
        raise OutputError(f"{folder / STATE_FILE} cannot be read ({error}); {advice}") from error


def results(folder: Path, name: str) -> list[Path]:
    """Return the files of a result: none while it is incomplete, else one path, or more after a merge."""
    return [path for suffix in RESULTS if (path := folder / f"{name}{suffix}").exists()]


class FinishedRunError(OutputError):
    """The run to resume is finished, and its results exist."""


def case_hash(case_toml: str) -> str:
    """Return a digest of a resolved case."""
    return hashlib.blake2b(case_toml.encode(), digest_size=16).hexdigest()


def check_resumable(
    path: Path, earlier: RunState, case_toml: str, may_differ: Collection[str], inputs: Inputs | None = None
) -> None:
    """Check that a run may be resumed with a case; ``may_differ`` names settings that may have changed.

    The case may be longer than that of the earlier run.

    inputs  files read so far; without files only those of the earlier run are compared
    raises  FinishedRunError if the run is finished; OutputError if another version made it; CaseError if it has another
            case, or an input file has changed
    """
    longer = is_longer(earlier, case_toml)
    difference = first_difference(earlier.case, case_toml, (*may_differ, _LENGTH) if longer else may_differ)
    changed = [] if inputs is None or inputs.accept else changed_inputs(earlier, inputs)
    if changed and difference is None:
        raise CaseError(
            f"the run in {path} has read other files: {describe_differences(changed)}; restore them, "
            "restart the run without --resume, or give --accept-changed-inputs to continue with the changed files"
        )
    if is_finished(path, earlier) and difference is None and not longer:
        raise FinishedRunError(f"the run in {path} is finished; there is nothing to resume")
    if earlier.airshed != __version__:
        raise OutputError(
            f"the run in {path} was made by Airshed {earlier.airshed}, this is {__version__}; "
            "resume it with that version, or restart the run without --resume"
        )
    if difference is not None:
        raise CaseError(
            f"the run in {path} cannot be resumed with another case: {difference}; "
            "restart the run without --resume, or undo that"
        )


def is_finished(path: Path, state: RunState) -> bool:
    """Return whether a run is finished, and all its results exist."""
    return state.state == "finished" and all(results(path, name) for name in state.outputs)


def is_longer(earlier: RunState, case_toml: str) -> bool:
    """Return whether a case lasts longer than the one of an earlier run."""
    return _length(case_toml) > _length(earlier.case)


def _length(case_toml: str) -> float:
    """Return the length of a case [s]; 0 for a case without one."""
    length = parse_toml(case_toml).get("time", {}).get("length")
    return 0.0 if length is None else to(length, "s", where=_LENGTH)


def changed_inputs(earlier: RunState, inputs: Inputs) -> list[str]:
    """Return the changes of the files that an earlier run has read, as texts."""
    return inputs.differences(earlier.inputs) if inputs.files else inputs.changed(earlier.inputs)


def check_replaceable(
    path: Path, earlier: RunState, case_toml: str, may_differ: Collection[str], inputs: Inputs | None = None
) -> None:
    """Check that a new run reproduces the results of an earlier one in a folder; raise OutputError if not."""
    difference = difference_of_runs(earlier, case_toml, may_differ, inputs)
    if difference is not None:
        raise OutputError(
            f"{path} holds another run ({difference}), which would be lost; choose another folder, or give --force (in "
            "Python overwrite=True) to replace it"
        )


def difference_of_runs(
    earlier: RunState, case_toml: str, may_differ: Collection[str], inputs: Inputs | None = None
) -> str | None:
    """Return the first difference of a new run from an earlier one: a setting, the version, or its input files."""
    difference = first_difference(earlier.case, case_toml, may_differ)
    if difference is None and earlier.airshed != __version__:
        difference = f"Airshed was {earlier.airshed}, now is {__version__}"
    if difference is None and inputs is not None:
        difference = describe_differences(changed_inputs(earlier, inputs)) or None
    return difference


def first_difference(saved: str, given: str, may_differ: Collection[str] = ()) -> str | None:
    """Return the first setting that differs between two cases in TOML, as ``time.step was 120 s, now is 60 s``.

    ``may_differ`` names settings, or tables of them, that are excluded; ``*`` matches any part of a name. Returns None
    if nothing else differs.
    """
    before = dict(_settings(parse_toml(saved)))
    now = dict(_settings(parse_toml(given)))
    for name in [*now, *(name for name in before if name not in now)]:
        allowed = any(fnmatchcase(name, pattern) for free in may_differ for pattern in (free, f"{free}.*"))
        if not allowed and (name not in before or name not in now or not _is_equal(before[name], now[name])):
            return f"{name} was {_shown(before, name)}, now is {_shown(now, name)}"
    return None


def _is_equal(one: Any, other: Any) -> bool:
    """Return whether two values are equal, also as quantities: "2 hrs" and "120 min"."""
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return all(map(_is_equal, one, other))
    if one == other or not (isinstance(one, str) and isinstance(other, str)):
        return bool(one == other)
    return same_quantity(one, other)


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
