"""The folder of a run: who may write to it, what state it is in, and the thread that writes.

RUN/run.json      the case, the version and the state: running, interrupted or finished
RUN/records/      one whole file per output time, until the output file holds them all
RUN/restart/      the last two restarts
RUN/previous/     outputs of the run before, until this one is finished
RUN/output.nc     the result; it exists only once it is whole
RUN/summary.*     what the run has to say at its end, for people (.txt) and programs (.json)
"""

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, Self

from airshed.core.atomic import guarded, is_part, remove_parts, write_whole
from airshed.core.errors import CaseError, OutputError
from airshed.core.version import __version__
from airshed.io.background import BackgroundWriter
from airshed.io.cases import first_difference

RUNS: Final = Path("runs")
"""Where runs go that are given no folder."""

_STATE_FILE: Final = "run.json"
_LOCK_FILE: Final = ".lock"
RECORDS: Final = "records"
RESTARTS: Final = "restart"
_PREVIOUS: Final = "previous"
SUMMARIES: Final = ("summary.txt", "summary.json")

State = Literal["running", "interrupted", "finished"]


@dataclass(frozen=True)
class RunState:
    """What ``run.json`` says; ``outputs`` are the names of the output files, without ``.nc``."""

    airshed: str
    state: State
    started: str
    case_hash: str
    case: str
    outputs: tuple[str, ...] = ()


def read_state(folder: Path) -> RunState | None:
    """Return the state of a run folder, or None for a folder that holds no run; raises OutputError if unreadable."""
    try:
        content = json.loads((folder / _STATE_FILE).read_text(encoding="utf-8"))
        return RunState(**{**content, "outputs": tuple(content["outputs"])})
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise OutputError(
            f"{folder / _STATE_FILE} cannot be read ({error}); remove that folder and run anew"
        ) from error


class FinishedRunError(OutputError):
    """The run to resume is finished, and its results are there: nothing is left to do."""


def check_usable(path: Path, case_toml: str, *, resume: bool = False, may_differ: Collection[str] = ()) -> None:
    """Look whether a run may write to a folder, and change nothing.

    Raises OutputError when the folder is a file or holds other files; with ``resume`` FinishedRunError when nothing is
    left to do, CaseError when the run there has another case, OutputError when another version made it.
    """
    with guarded(path):
        earlier = _earlier_run(path) if path.exists() else None
    if resume and earlier is not None:
        _check_resumable(path, earlier, case_toml, may_differ)


class RunFolder:
    """A run folder that this process writes to, and the one thread with which it does.

    A new run in the folder of an earlier one sets its outputs aside until it is itself finished; ``resume`` goes on
    with an unfinished run, or begins when there is none yet. ``may_differ`` names settings, such as "run.threads",
    that a resumed run may have changed. Use it in a ``with`` block: left without :meth:`finish`, the run stays
    unfinished and can be resumed.

    Raises OutputError, before anything is computed, when the folder cannot be written to, holds other files or is in
    use by another process, and CaseError when the case to resume is another one.
    """

    def __init__(self, path: Path, case_toml: str, *, resume: bool = False, may_differ: Collection[str] = ()) -> None:
        self.path = path
        with guarded(path):
            path.mkdir(parents=True, exist_ok=True)
            earlier = _earlier_run(path)
            self._lock = _lock(path)
        try:
            self.resumed = resume and earlier is not None
            if resume and earlier is not None:
                _check_resumable(path, earlier, case_toml, may_differ)
            with guarded(path):
                self._prepare(earlier)
            self._state = RunState(__version__, "running", _now(), case_hash(case_toml), case_toml)
            self._store_state()
        except BaseException:
            os.close(self._lock)
            raise
        self.writer = BackgroundWriter()
        self._open = True

    @property
    def case(self) -> str:
        """The resolved case as TOML."""
        return self._state.case

    def add_output(self, name: str) -> Path:
        """Take a name for an output file and return its path; raises OutputError when it is taken."""
        if name in self._state.outputs:
            raise OutputError(f"two outputs have the name {name!r}; give each [[output]] a name of its own")
        self._state = replace(self._state, outputs=(*self._state.outputs, name))
        self._store_state()
        return self.path / f"{name}.nc"

    def write_summary(self, text: str, data: Mapping[str, Any]) -> None:
        """Write what the run has to say, for people and for programs, each file whole or not at all."""
        for name, content in zip(SUMMARIES, (text, json.dumps(data, indent=1, allow_nan=False)), strict=True):
            with write_whole(self.path / name) as part:
                part.write_text(content, encoding="utf-8")

    def finish(self, *, complete: bool = True) -> None:
        """End a run whose outputs are written; an incomplete one (Ctrl-C) may go on, here or resumed later."""
        self.writer.wait()
        self._state = replace(self._state, state="finished" if complete else "interrupted")
        self._store_state()
        if complete:
            for name in (RECORDS, _PREVIOUS):
                shutil.rmtree(self.path / name, ignore_errors=True)
            self.close()

    def close(self) -> None:
        """End the thread and give the folder free; the state on disk stays as it is."""
        if self._open:
            self._open = False
            self.writer.close()
            os.close(self._lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _prepare(self, earlier: RunState | None) -> None:
        remove_parts(self.path)
        if not self.resumed:
            for name in (RESTARTS, RECORDS):  # in this order: a restart without its records would mislead
                with suppress(FileNotFoundError):
                    shutil.rmtree(self.path / name)
        outputs = [f"{name}.nc" for name in earlier.outputs] if earlier is not None else []
        for name in (*outputs, *SUMMARIES):
            if (self.path / name).exists():
                (self.path / _PREVIOUS).mkdir(exist_ok=True)
                os.replace(self.path / name, self.path / _PREVIOUS / name)

    def _store_state(self) -> None:
        with write_whole(self.path / _STATE_FILE) as part:
            part.write_text(json.dumps(asdict(self._state), indent=1), encoding="utf-8")


def _earlier_run(path: Path) -> RunState | None:
    earlier = read_state(path)
    foreign = [p.name for p in path.iterdir() if p.name != _LOCK_FILE and not is_part(p)]
    if earlier is None and foreign:
        raise OutputError(
            f"{path} holds other files ({min(foreign)}) and is no run of Airshed; choose a new or empty folder"
        )
    return earlier


def case_hash(case_toml: str) -> str:
    """Return a digest of a resolved case."""
    return hashlib.blake2b(case_toml.encode(), digest_size=16).hexdigest()


def _check_resumable(path: Path, earlier: RunState, case_toml: str, may_differ: Collection[str]) -> None:
    difference = first_difference(earlier.case, case_toml, may_differ)
    finished = earlier.state == "finished" and all((path / f"{name}.nc").exists() for name in earlier.outputs)
    if finished and difference is None:
        raise FinishedRunError(f"the run in {path} is finished; there is nothing to resume")
    if earlier.airshed != __version__:
        raise OutputError(
            f"the run in {path} was made by Airshed {earlier.airshed}, this is {__version__}; "
            "resume it with that version, or run anew without --resume"
        )
    if difference is not None:
        raise CaseError(f"the run in {path} cannot be resumed with another case: {difference}; run anew, or undo that")


def _lock(path: Path) -> int:
    """Lock the folder for this process; the system frees it even when the process is killed."""
    descriptor = os.open(path / _LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise OutputError(f"another run is writing to {path}; wait for it, or choose another folder") from None
    except OSError:
        pass  # a file system without locks: the check is a help, not a condition
    return descriptor


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
