"""A simulation as a session has it on each rank: its snapshots, its log, and what commands do to it."""

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.case.case import RunCase
from airshed.core.errors import CaseError, OutputError
from airshed.core.text import suggestion
from airshed.parallel.communicator import Communicator
from airshed.runtime.model import Saved, Snapshot
from airshed.runtime.records import fitting
from airshed.runtime.simulation import Simulation
from airshed.serve import types
from airshed.serve.keeping import FolderKeeper, Keeper, NoKeeper, SessionUse, case_of, log_of
from airshed.serve.painting import painted
from airshed.serve.steering import changed, release_setting

START: Final = "start"
"""The snapshot of the beginning, which nobody can forget."""

Array = npt.NDArray[Any]


@dataclass
class Kept:
    """A snapshot and what is told of it; `log` is how many commands had taken effect."""

    state: Saved
    case: RunCase
    about: types.SnapshotInfo
    log: int


@dataclass
class Hosted:
    """A simulation and all that was commanded; every rank has one, and does the same with it.

    log      what changed the state, in order; steps alone are not in it, as they are made in any case
    parent   the session that it branched off
    notices  what is lost or has changed of a session that was resumed, and why others did not come back
    log_bytes  of the log as JSON
    """

    simulation: Simulation
    log: list[types.LogEntry] = field(default_factory=list)
    snapshots: dict[str, Kept] = field(default_factory=dict)
    parent: str | None = None
    keeper: Keeper = field(default_factory=NoKeeper)
    notices: list[str] = field(default_factory=list)
    log_bytes: int = 0

    def __post_init__(self) -> None:
        self.log_bytes = sum(map(_size, self.log))
        if START not in self.snapshots:
            self.keep(START, "the start of the case")

    @property
    def step(self) -> int:
        """The number of steps that the state has behind it."""
        return int(self.simulation.model.steps)

    def keep(self, name: str, text: str) -> types.SnapshotInfo:
        """Keep the present state under a name."""
        saved = self.simulation.snapshot()
        about = types.SnapshotInfo(
            snapshot=name, text=text, step=self.step, seconds=self.simulation.seconds,
            time=iso(self.simulation.time), bytes=size_of(saved),
        )  # fmt: skip
        self.snapshots[name] = Kept(saved, self.simulation.case, about, len(self.log))
        return about

    def kept(self, name: str) -> Kept:
        """Return a snapshot; raises CaseError for one that is not there."""
        if name not in self.snapshots:
            raise CaseError(f"there is no snapshot {name!r}; {suggestion(name, self.snapshots)}")
        return self.snapshots[name]

    def values(self, names: Iterable[str]) -> dict[str, Array]:
        """Return whole fields, on every rank."""
        return {name: self.simulation.values(name) for name in names}

    def apply(self, command: types.Document, author: str) -> types.SnapshotInfo | None:
        """Do what a command asks for and write it down; raises CaseError for what cannot be, and changes nothing then.

        A snapshot is named after its place in the log, so that a replay names it alike.
        """
        before = self.step, self.simulation.seconds
        told = _ACTIONS[type(command)](self, command)
        entry = types.LogEntry(
            number=len(self.log), step=before[0], seconds=before[1], author=author,
            command=command.model_dump(mode="json"),
        )  # fmt: skip
        self.log.append(entry)
        self.log_bytes += _size(entry)
        if told is not None:
            self._keep_on_disk(told)
        self._note(entry)
        return told

    def _note(self, entry: types.LogEntry) -> None:
        """Note a command on disk; where that cannot be, a notice says so, as the command has taken effect."""
        try:
            self.keeper.note(entry)
        except OutputError as error:
            self.notices.append(f"command {entry.number} is kept with the next state alone: {error}")

    def _keep_on_disk(self, taken: types.SnapshotInfo) -> None:
        """Keep a snapshot, with the log, of which it is part; one that cannot be kept was never taken."""
        try:
            self.save()
            self.keeper.wait()
        except BaseException:
            self.log_bytes -= _size(self.log.pop())
            del self.snapshots[taken.snapshot]
            raise

    def save(self) -> None:
        """Keep the state on disk."""
        self.keeper.save(self.simulation, self.log)

    def keep_in(self, folder: Path, ranks: Communicator, use: SessionUse) -> None:
        """Keep states in a folder from now on; to resume, go on from the newest one there."""
        keeper = FolderKeeper(folder, self.kept(START).case, self.simulation, ranks, use)
        self.keeper, restart = keeper, keeper.resumed
        self.notices += keeper.notices
        if restart is None:
            return
        with fitting(folder):
            case = case_of(restart, self.simulation.case)
            if case == self.simulation.case:
                self.simulation.restore(restart)
            else:
                self._exchange(self.simulation.branch(restart, case))
        self.log = log_of(restart)
        self.log_bytes = sum(map(_size, self.log))

    def close(self) -> None:
        """End the simulation; where states are kept, this one is too, unless an error spoiled it."""
        with ExitStack() as stack:  # what one of them raises keeps none from the others
            stack.callback(self.simulation.close)
            stack.callback(self.snapshots.clear)
            stack.callback(self.keeper.close)
            with suppress(CaseError):
                self.save()

    def _restart(self, command: types.Restart) -> None:
        self._go_to(self.kept(START))

    def _restore(self, command: types.Restore) -> None:
        self._go_to(self.kept(command.snapshot))

    def _go_to(self, kept: Kept) -> None:
        """Take over a snapshot, and with it the settings that the case had then."""
        if kept.case == self.simulation.case:
            self.simulation.restore(kept.state)
        else:
            self._exchange(self.simulation.branch(kept.state, kept.case))

    def _exchange(self, simulation: Simulation) -> None:
        before, self.simulation = self.simulation, simulation
        before.close()

    def _change(self, setting: str) -> None:
        """Go on under a case with another setting, key=value: its model is made anew with the same state."""
        self._exchange(changed(self.simulation, setting))

    def _snapshot(self, command: types.Snapshot) -> types.SnapshotInfo:
        return self.keep(f"s{len(self.log)}", command.text)

    def _forget(self, command: types.Forget) -> None:
        if command.snapshot == START:
            raise CaseError("the snapshot of the start stays; forget another one")
        self.kept(command.snapshot)
        del self.snapshots[command.snapshot]

    def _set(self, command: types.Set) -> None:
        if "=" in command.name or "" in command.name.split("."):
            raise CaseError(f"{command.name!r} is no name of a setting; give its value as the value")
        name = command.name.replace(".", "_")
        field = self.simulation.model.fields.get(name)
        if "." not in command.name or (field is not None and field.settable):
            self.simulation.set_in_unit(name, command.value)
        else:
            self._change(f"{command.name}={json.dumps(command.value)}")

    def _paint(self, command: types.Paint) -> None:
        self.simulation[command.variable] = painted(self.simulation, command)

    def _release(self, command: types.Release) -> None:
        self._change(release_setting(self.simulation, command))


_ACTIONS: Mapping[type, Callable[[Hosted, Any], types.SnapshotInfo | None]] = {
    types.Restart: Hosted._restart,
    types.Restore: Hosted._restore,
    types.Snapshot: Hosted._snapshot,
    types.Forget: Hosted._forget,
    types.Set: Hosted._set,
    types.Paint: Hosted._paint,
    types.Release: Hosted._release,
}


def _size(entry: types.LogEntry) -> int:
    """Return the bytes of a command as JSON."""
    return len(entry.model_dump_json())


def iso(time: np.datetime64) -> str:
    """Return a time as ISO 8601 has it, with milliseconds."""
    return f"{np.datetime_as_string(time, unit='ms')}Z"


def size_of(saved: Snapshot) -> int:
    """Return the bytes of the arrays of a snapshot on this rank."""
    return sum(array.nbytes for array in (*saved.tiled.values(), *saved.whole.values()))
