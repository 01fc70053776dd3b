"""Folder of a run: its lock, its state, the writer thread, and the pictures that Airshed drew there.

RUN/run.json      the case, the version and the state: running, interrupted or finished
RUN/records/      records so far, in the format of the strategy, until the result contains them all
RUN/restart/      the last two restarts
RUN/previous/     outputs and pictures of the previous run, until this one is finished
RUN/output.nc     the result, once complete; some strategies write output.files or output.zarr instead
RUN/summary.*     the summary of the run, for users (.txt) and programs (.json)
"""

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from airshed.core.atomic import guarded, is_part, remove_parts, write_whole
from airshed.core.errors import OutputError
from airshed.core.text import duration
from airshed.core.version import __version__
from airshed.io.background import BackgroundWriter
from airshed.io.channel import Channel
from airshed.io.run_state import (
    STATE_FILE,
    Inputs,
    RunState,
    case_hash,
    changed_inputs,
    check_replaceable,
    check_resumable,
    describe_differences,
    is_longer,
    read_state,
    results,
)
from airshed.parallel.communicator import Communicator, SingleRank

RUNS: Final = Path("runs")
"""Default folder of runs."""

_LOCK_FILE: Final = ".lock"
RECORDS: Final = "records"
RESTARTS: Final = "restart"
_PREVIOUS: Final = "previous"
SUMMARIES: Final = ("summary.txt", "summary.json")

PICTURES: Final = "maps"
"""Folder of pictures inside that of a run."""
EVALUATED: Final = "evaluation/statistics.json"
"""File that marks the folder of an evaluation."""
SOFTWARE: Final = f"Airshed {__version__}"
"""Software entry of each picture: the field Software of a PNG, the comment of a GIF."""

_MARKS: Final = (
    (b"\x89PNG", b"Software\0Airshed "), (b"GIF89a", b"Airshed "), (b"<?xml", b">Airshed "), (b"%PDF", b"(Airshed "),
)  # fmt: skip
_HEAD: Final = 4096
"""Bytes at the beginning and at the end of a picture that are searched for this entry."""


def check_usable(
    path: Path, case_toml: str, *, resume: bool = False, overwrite: bool = True, may_differ: Collection[str] = (),
    inputs: Inputs | None = None,
) -> None:  # fmt: skip
    """Check that a run may write to a folder, without changes.

    Raises OutputError for a file, a folder with other files, or another run that may not be overwritten. With
    ``resume`` also FinishedRunError if the run is finished; CaseError if it has another case or other input files;
    OutputError if another version of Airshed made it.
    """
    with guarded(path):
        earlier = _earlier_run(path) if path.exists() else None
    if earlier is not None and resume:
        check_resumable(path, earlier, case_toml, may_differ, inputs)
    elif earlier is not None and not overwrite:
        left = any(results(path, name) for name in earlier.outputs) or any((path / RESTARTS).glob("[!.]*"))
        if left:
            check_replaceable(path, earlier, case_toml, may_differ, inputs)


class RunFolder:
    """Run folder to which this process writes, and its writer thread.

    A new run in the folder of an earlier one sets the earlier outputs aside until it is finished itself; unless it may
    ``overwrite``, it must give the same results. ``resume`` continues an unfinished run, or starts one if there is
    none. ``may_differ`` names settings, such as "run.threads", that do not change results. ``inputs`` are the files
    that the run has read; without them none are compared. Use it in a ``with`` block: without :meth:`finish`, the run
    stays unfinished and can be resumed. Several ``ranks`` each construct one, and make the same calls in the same
    order; the first rank locks the folder and writes shared files. ``bandwidth`` [byte/s of this rank] slows writing,
    for tests.

    Raises OutputError, before any computation, if the folder cannot be written to, holds other files or is in use by
    another process. Raises CaseError if the case to resume differs; on all ranks alike.
    """

    def __init__(
        self,
        path: Path,
        case_toml: str,
        *,
        resume: bool = False,
        overwrite: bool = True,
        may_differ: Collection[str] = (),
        inputs: Inputs | None = None,
        ranks: Communicator | None = None,
        bandwidth: float | None = None,
    ) -> None:
        self._ranks = ranks or SingleRank()
        self.path, self.channel = path, Channel(self._ranks)
        self._lock: int | None = None
        self._inputs, self._may_differ = inputs, may_differ
        now = datetime.now(UTC).isoformat(timespec="seconds")
        self._state = RunState(__version__, "running", now, case_hash(case_toml), case_toml)
        self.earlier, self.changed = self.channel.on_root(lambda: self._take(resume=resume, overwrite=overwrite))
        self._state = replace(self._state, longer=self._is_longer(self.earlier))
        self.writer = BackgroundWriter(bandwidth=bandwidth)
        self._open = True

    @classmethod
    @contextmanager
    def locked(cls, path: Path) -> Iterator[None]:
        """Lock a folder against other runs during a block; raise OutputError if a run is writing there."""
        with guarded(path):
            descriptor = _lock(path, f"a run is writing to {path}; wait for its end")
        try:
            yield
        finally:
            os.close(descriptor)

    @property
    def resumed(self) -> bool:
        """True if an earlier run is resumed."""
        return self.earlier is not None

    @property
    def results_to_copy(self) -> Path | None:
        """Folder of the results of the finished run that this one continues, until :meth:`note_copied`; else None."""
        return self.path / _PREVIOUS if self._state.longer else None

    def note_copied(self) -> None:
        """Store that the records of the finished run that this one continues are copied."""
        if self._state.longer:
            self._state = replace(self._state, longer=False)
            self.channel.on_root(self._store_state)

    @property
    def history(self) -> tuple[str, ...]:
        """Events of the run that its results must record."""
        return self._state.history

    def begin_at(self, seconds: float | None) -> None:
        """Record the time [s] from which the earlier run is resumed, None for the start, and changed inputs."""
        history = self._state.history if seconds is not None else ()
        if seconds is not None and self.changed:
            history = (
                *history,
                f"resumed at {duration(seconds)} with other inputs: {describe_differences(self.changed)}",
            )
        self._state = replace(self._state, history=history)
        self.note_inputs(self._inputs)

    def note_inputs(self, inputs: Inputs | None) -> None:
        """Store the marks of the files that are read from now on."""
        marks = {} if inputs is None else self.channel.on_root(inputs.marks)
        self._state = replace(self._state, inputs=marks)
        self.channel.on_root(self._store_state)

    @property
    def case(self) -> str:
        """Resolved case as TOML."""
        return self._state.case

    def add_output(self, name: str) -> Path:
        """Reserve a name for an output and return its path without suffix; raise OutputError for a duplicate."""
        if name in self._state.outputs:
            raise OutputError(f"two outputs have the name {name!r}; give each [[output]] a name of its own")
        self._state = replace(self._state, outputs=(*self._state.outputs, name))
        self.channel.on_root(self._store_state)
        return self.path / name

    def submit(self, job: Callable[[], None], size: int, *, asynchronous: bool) -> None:
        """Run a collective job, in the background or immediately; it holds copies of ``size`` bytes.

        The job ends alike on all ranks, see :meth:`Channel.settle`; an error of an earlier one is raised on all of them
        at the same call.
        """
        if any(self._ranks.gather_all(self.writer.failed)):
            self.wait()
        if asynchronous and self.channel.has_threads:
            self.writer.enqueue(job, size)  # a new error is raised at the next call, on all ranks
        else:
            self.writer.do(job, size)

    def write_summary(self, text: str, data: Mapping[str, Any]) -> None:
        """Write the summary, for users and programs, each file complete or not at all.

        All submitted jobs are completed first, as the writer thread and the caller share one channel.
        """
        self.wait()
        with self.channel.together():
            if self.channel.is_root:
                contents = (text, json.dumps(data, indent=1, allow_nan=False))
                for name, content in zip(SUMMARIES, contents, strict=True):
                    _write_text(self.path / name, content)

    def wait(self) -> None:
        """Wait until all submitted jobs are complete; raise the error of a failed job on all ranks."""
        with self.channel.together():
            self.writer.wait()

    def finish(self, *, complete: bool = True) -> None:
        """End a run whose outputs are written; an incomplete one (Ctrl-C) may continue, here or resumed later."""
        self.wait()
        self._state = replace(self._state, state="finished" if complete else "interrupted")
        self.channel.on_root(self._store_state)
        if complete:
            if self.channel.is_root:
                for name in (RECORDS, _PREVIOUS):
                    shutil.rmtree(self.path / name, ignore_errors=True)
            self.close()

    def close(self) -> None:
        """End the thread and unlock the folder; the state on disk is unchanged."""
        if self._open:
            self._open = False
            self.writer.close(None if self.channel.handle is None else self.channel.abandoned.set)
            if self._lock is not None and self.writer.failed:
                with suppress(OSError):  # the job in progress, such as a restart on a full disk
                    remove_parts(self.path)
            self.channel.close()
            self._unlock()

    def abandon(self) -> None:
        """End the thread and unlock the folder on this rank alone, without waiting for others; see :meth:`close`."""
        if self.channel.handle is not None:
            self.channel.abandoned.set()
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _take(self, *, resume: bool, overwrite: bool) -> tuple[RunState | None, list[str]]:
        """Lock and prepare the folder; return the earlier run to resume, and the changes of its inputs."""
        with guarded(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            earlier = _earlier_run(self.path)
            taken = f"another run is writing to {self.path}; wait for it, or choose another folder"
            self._lock = _lock(self.path, taken)
        try:
            check_usable(
                self.path, self.case, resume=resume, overwrite=overwrite, may_differ=self._may_differ,
                inputs=self._inputs,
            )  # fmt: skip
            resumed = earlier if resume else None
            longer = self._is_longer(resumed)
            changed = [] if resumed is None or self._inputs is None else changed_inputs(resumed, self._inputs)
            with guarded(self.path):
                self._prepare(earlier, resumed=resumed is not None)
            if resumed is not None:  # until the present ones are recorded
                self._state = replace(
                    self._state, inputs=resumed.inputs, history=resumed.history, longer=longer
                )  # fmt: skip
            elif self._inputs is not None:
                self._state = replace(self._state, inputs=self._inputs.marks())
            self._store_state()
        except BaseException:
            self._unlock()
            raise
        return resumed, changed

    def _is_longer(self, resumed: RunState | None) -> bool:
        """Return whether records of a finished run are to be copied."""
        return resumed is not None and (
            resumed.longer or (resumed.state == "finished" and is_longer(resumed, self.case))
        )

    def _unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _prepare(self, earlier: RunState | None, *, resumed: bool) -> None:
        remove_parts(self.path)
        if not resumed:
            for name in (RESTARTS, RECORDS):  # in this order: a restart without its records would mislead
                with suppress(FileNotFoundError):
                    shutil.rmtree(self.path / name)
        outputs = [path for name in earlier.outputs for path in results(self.path, name)] if earlier is not None else []
        evaluations = [path.parent for path in self.path.glob(EVALUATED)]
        for path in (*outputs, *evaluations, *(self.path / name for name in SUMMARIES)):
            if path.exists():
                aside = self.path / _PREVIOUS / path.name
                aside.parent.mkdir(exist_ok=True)
                if aside.is_dir():
                    shutil.rmtree(aside)
                os.replace(path, aside)
        # pictures of an older result move too: next to a new one they would be mistaken for its own
        if pictures := drawn(self.path):
            aside = self.path / _PREVIOUS / PICTURES
            shutil.rmtree(aside, ignore_errors=True)
            aside.mkdir(parents=True)
            for path in pictures:
                os.replace(path, aside / path.name)
            with suppress(OSError):  # other files stay
                (self.path / PICTURES).rmdir()

    def _store_state(self) -> None:
        _write_text(self.path / STATE_FILE, json.dumps(asdict(self._state), indent=1))


def _write_text(path: Path, text: str) -> None:
    with write_whole(path) as part:
        part.write_text(text, encoding="utf-8")


def _earlier_run(path: Path) -> RunState | None:
    earlier = read_state(path)
    foreign = [p.name for p in path.iterdir() if p.name != _LOCK_FILE and not is_part(p)]
    if earlier is None and foreign:
        raise OutputError(
            f"{path} holds other files ({min(foreign)}) and is no run of Airshed; choose a new or empty folder"
        )
    return earlier


def _lock(path: Path, taken: str) -> int:
    """Lock the folder for this process or raise; the system releases it even if the process is killed."""
    descriptor = os.open(path / _LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise OutputError(taken) from None
    except OSError:
        pass  # a file system without locks: the check is best effort
    return descriptor


def drawn(folder: Path) -> list[Path]:
    """Return the pictures in a run folder that Airshed drew, without other files."""
    found = []
    for path in sorted((folder / PICTURES).glob("*")):
        if path.is_file():
            with path.open("rb") as file:
                head = file.read(_HEAD)
                file.seek(max(0, path.stat().st_size - _HEAD))
                head += file.read()  # a PDF names its creator at its end
            if any(head.startswith(kind) and mark in head for kind, mark in _MARKS):
                found.append(path)
    return found
