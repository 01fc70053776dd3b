"""The simulation of a session on each rank: snapshots, log, execution of commands, branches and replays."""

from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, Final

import numpy as np
from pydantic import TypeAdapter

from airshed.case.case import RunCase
from airshed.core.arrays import AnyArray
from airshed.core.errors import CaseError, OutputError
from airshed.core.report import Report
from airshed.core.text import suggestion
from airshed.parallel.communicator import Communicator
from airshed.runtime.locking import closed_on_error
from airshed.runtime.model import SavedState, Snapshot, Timings
from airshed.runtime.records import FolderUse, fitting
from airshed.runtime.registry import model_kind
from airshed.runtime.simulation import Simulation
from airshed.serve.model.catalogue import check_patch
from airshed.serve.model.painting import painted
from airshed.serve.model.store import FolderStore, case_of, log_of
from airshed.serve.protocol import types

START: Final = "start"
"""Name of the snapshot of the start, which cannot be deleted."""

DAY, AUTHOR = "the start of the day", "airshed"
"""Text of the snapshot that the server takes at the end of the spin-up, and the author of it."""

UNDO: Final = 8
"""States before changes that a session stores: those of its last changes."""

CHANGES: Final = (types.Set, types.Paint, types.Release)
"""Commands that users undo."""

_COMMAND: TypeAdapter[Any] = TypeAdapter(types.Command)


@dataclass
class StoredSnapshot:
    """A snapshot with its case and description; `log` is the number of commands before it.

    Commands that are logged after it begin with that of the snapshot itself, unless the server stored it.

    shared  time [s] after which the records of the session may be those of another run than the one that led here
    """

    state: SavedState
    case: RunCase
    about: types.SnapshotInfo
    log: int
    shared: float = inf

    @property
    def reach(self) -> float:
        """Time up to which the records of the session are those of the run that led here [s]."""
        return min(self.about.seconds, self.shared)

    @property
    def commands(self) -> int:
        """Number of commands in the log of a session that continues from this snapshot."""
        return self.log + (self.about.snapshot != START and self.about.change is None)


@dataclass
class HostedSession:
    """A simulation and the log of its commands; each rank has one, and all ranks execute the same commands.

    log      commands that changed the state, in order; it has no steps, which do not depend on commands
    parent   session from which it branched off
    shared   time up to which the records of the parent are those of this run [s]
    scenario name of the difference from the parent
    notices  losses and changes of a resumed session, and the reasons why other sessions could not be resumed
    log_bytes  size of the log as JSON
    """

    simulation: Simulation
    log: list[types.LogEntry] = field(default_factory=list)
    snapshots: dict[str, StoredSnapshot] = field(default_factory=dict)
    parent: str | None = None
    shared: float = inf
    scenario: str = ""
    store: FolderStore | None = None
    notices: list[str] = field(default_factory=list)
    log_bytes: int = 0

    def __post_init__(self) -> None:
        self.log_bytes = sum(map(_size, self.log))
        if START not in self.snapshots:
            self._take_snapshot(START, "the start of the case")

    @property
    def step(self) -> int:
        """Number of steps of the state."""
        return int(self.simulation.model.steps)

    def snapshot(self, name: str) -> StoredSnapshot:
        """Return a snapshot; raises CaseError for an unknown name."""
        if name not in self.snapshots:
            raise CaseError(f"there is no snapshot {name!r}; {suggestion(name, self.snapshots)}")
        return self.snapshots[name]

    def advance(self, most: int) -> None:
        """Make a batch of at most `most` steps."""
        self.simulation.step(most)

    def values(self, names: Iterable[str]) -> dict[str, AnyArray]:
        """Return whole fields, on every rank."""
        return {name: self.simulation.values(name) for name in names}

    def summary(self) -> Report:
        """Return the summary of the run so far."""
        return self.simulation.summary()

    def timings(self) -> Timings:
        """Return the wall time of the parts of steps; collective over all ranks."""
        timings: Timings = self.simulation.model.timings()
        return timings

    def apply(self, command: types.Document, author: str, undo: int = UNDO) -> types.SnapshotInfo | None:
        """Execute a command and log it; raises CaseError for an impossible one, which changes nothing.

        A snapshot is named by its number in the log, so that a replay gives it the same name.
        undo  number of states before changes that are stored afterwards; 0 stores no further one
        """
        simulation, taken = self.simulation, None
        step, seconds = self.step, simulation.seconds
        match command:
            case types.Set():
                with self._storing_state(undo):
                    check_patch(command.changes, simulation.case)
                    simulation.set(command.changes)
            case types.Release():
                release = model_kind(simulation.case.model).release
                if release is None:
                    raise CaseError(f"the model {simulation.case.model} accepts no releases")
                with self._storing_state(undo):
                    simulation.set(release(simulation.case, simulation.seconds, command.model_dump()))
            case types.Paint():
                with self._storing_state(undo):
                    simulation[command.variable] = painted(simulation, command)
            case types.Restart():
                self._go_to(START)
            case types.Restore():
                self._go_to(command.snapshot)
            case types.Snapshot():
                taken = self._take_snapshot(f"s{len(self.log)}", command.text)
            case types.Forget():
                if command.snapshot == START:
                    raise CaseError("the snapshot of the start cannot be deleted; delete another one")
                self.snapshot(command.snapshot)
                del self.snapshots[command.snapshot]
        self._log(command, author, step, seconds, taken)
        return taken

    @contextmanager
    def _storing_state(self, most: int) -> Iterator[None]:
        """Store the state before a change within the block, and delete those before all but the last changes.

        most  number of states that are stored afterwards; 0 stores no further one
        """
        if not most:
            yield
            return
        name = undo_name(len(self.log))
        self._take_snapshot(name, "before a change", change=len(self.log))
        try:
            yield
        except BaseException:
            del self.snapshots[name]
            raise
        for old in [each for each, stored in self.snapshots.items() if stored.about.change is not None][:-most]:
            del self.snapshots[old]

    def _log(
        self, command: types.Document, author: str, step: int, seconds: float, taken: types.SnapshotInfo | None
    ) -> None:
        """Log a command, also on disk: a snapshot with the state and the log, every other command as a line."""
        entry = types.LogEntry(
            number=len(self.log), step=step, seconds=seconds, author=author, command=command.model_dump(mode="json")
        )
        self.log.append(entry)
        self.log_bytes += _size(entry)
        if taken is not None:
            try:
                self.save(wait=True)
            except BaseException:  # a snapshot that is not stored does not count
                self.log_bytes -= _size(self.log.pop())
                del self.snapshots[taken.snapshot]
                raise
        try:
            if self.store is not None:
                self.store.note(entry)
        except OutputError as error:  # the command is executed all the same
            self.notices.append(f"command {entry.number} is stored with the next state only: {error}")

    def _take_snapshot(self, name: str, text: str, change: int | None = None) -> types.SnapshotInfo:
        saved = self.simulation.snapshot()
        about = types.SnapshotInfo(
            snapshot=name, text=text, step=self.step, seconds=self.simulation.seconds,
            time=iso(self.simulation.time), bytes=size_of(saved), change=change,
        )  # fmt: skip
        self.snapshots[name] = StoredSnapshot(saved, self.simulation.case, about, len(self.log))
        return about

    def _go_to(self, snapshot: str) -> None:
        """Restore a snapshot, with the settings of its time."""
        stored = self.snapshot(snapshot)
        self.simulation.restore(stored.state, stored.case)
        for each in self.snapshots.values():  # later records will be of another run
            each.shared = min(each.shared, stored.reach)

    def save(self, *, wait: bool = False) -> None:
        """Store the state with the log on disk, if the session has a folder."""
        if self.store is not None:
            self.store.save(self.simulation, self.log, wait=wait)

    def store_in(self, use: FolderUse, ranks: Communicator) -> None:
        """Store states in a folder from now on; to resume, continue from the newest state in it."""
        self.store = FolderStore(use, self.snapshot(START).case, self.simulation, ranks)
        restart = self.store.resumed
        self.notices += self.store.notices
        if restart is not None:
            with fitting(use.path):
                self.simulation.restore(restart, case_of(restart, self.simulation.case))
            self.log = log_of(restart)
            self.log_bytes = sum(map(_size, self.log))

    def close(self) -> None:
        """End the simulation, and store its last state unless it failed."""
        with ExitStack() as stack:  # an error in one must not leave the other open
            stack.callback(self.simulation.close)
            stack.callback(self.snapshots.clear)
            if self.store is not None:
                stack.callback(self.store.close)
            with suppress(CaseError):
                self.save()


def undo_name(change: int) -> str:
    """Return the name of the state before a change, by the number of the change in the log."""
    return f"before-{change}"


def branch_of(parent: HostedSession, command: types.Branch, author: str, of: str) -> HostedSession:
    """Return a session that continues from a snapshot of another, with changes; its log starts with its parent's."""
    if command.snapshot is None:
        log, simulation, shared = parent.log, parent.simulation.branch(), inf
    else:
        stored = parent.snapshot(command.snapshot)
        log, shared = parent.log[: stored.commands], stored.reach
        simulation = parent.simulation.branch(stored.state, stored.case)
    earlier = {
        each: replace(other, shared=min(other.shared, shared))
        for each, other in parent.snapshots.items() if each == START or other.log < len(log)
    }  # fmt: skip
    branch = HostedSession(simulation, list(log), earlier, parent=of, shared=shared, scenario=command.scenario)
    if command.changes:
        with closed_on_error(branch):
            branch.apply(types.Set(changes=command.changes), author, undo=0)
    return branch


Replay = Generator[int, None, types.ReplayResult]
"""Yields the step after each batch of steps; closing it early cancels the replay."""


def replay(session: HostedSession, ranks: Communicator) -> Replay:
    """Repeat the run of a session up to now from its log, in a second simulation; return the bitwise comparison.

    The session may advance in the meantime.
    """
    expected, log, step = session.simulation.snapshot(), list(session.log), session.step
    with closing(HostedSession(Simulation(session.snapshot(START).case, ranks=ranks))) as again:
        restored = {entry.command["snapshot"] for entry in log if entry.command["kind"] == "restore"}
        for entry in log:
            yield from _advance(again, entry.step)
            undo = len(restored) if undo_name(entry.number) in restored else 0
            again.apply(_COMMAND.validate_python(entry.command), entry.author, undo)
        yield from _advance(again, step)
        parts = ranks.gather_all(tuple(_differences(expected, again.simulation.snapshot())))
    differs = sorted({name for part in parts for name in part})
    return types.ReplayResult(equal=not differs, step=step, differs=differs)


def _advance(session: HostedSession, step: int) -> Iterator[int]:
    while session.step < step:
        session.advance(step - session.step)
        yield session.step


def _differences(one: Snapshot, other: Snapshot) -> Iterator[str]:
    """Yield the names of arrays and plain values that differ between two states on this rank."""
    for mine, its in ((one.tiled, other.tiled), (one.whole, other.whole)):
        for name in sorted({*mine, *its}):
            if name not in mine or name not in its or mine[name].tobytes() != its[name].tobytes():
                yield name
    if one.metadata != other.metadata:
        yield "metadata"


def _size(entry: types.LogEntry) -> int:
    """Return the size of a command as JSON [bytes]."""
    return len(entry.model_dump_json())


def iso(time: np.datetime64) -> str:
    """Return a time in ISO 8601, with milliseconds."""
    return f"{np.datetime_as_string(time, unit='ms')}Z"


def size_of(saved: Snapshot) -> int:
    """Return the size of the arrays of a snapshot on this rank [bytes]."""
    return sum(array.nbytes for array in (*saved.tiled.values(), *saved.whole.values()))
