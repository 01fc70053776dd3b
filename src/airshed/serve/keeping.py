"""What of a session is on disk: its state now and then, with the log, so that it goes on after whatever ends it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Protocol

from pydantic import TypeAdapter

from airshed.case.case import MACHINE, RunCase
from airshed.core.atomic import guarded
from airshed.core.toml_text import parse_toml
from airshed.io.folder import RunFolder
from airshed.io.restart import Restart, RestartStore
from airshed.io.run_state import Inputs
from airshed.parallel.communicator import Communicator
from airshed.runtime.model import Snapshot
from airshed.runtime.records import fitting
from airshed.runtime.simulation import Simulation
from airshed.serve import types
from airshed.serve.journal import Journal

STRATEGY: Final = "gather:async"
_LOG, _CASE, _SECONDS = "log", "case_text", "seconds_of_state"
_COMMAND: Final[TypeAdapter[Any]] = TypeAdapter(types.Command)
_OF_RANKS: Final = ("parallel", "run")
_MAY_DIFFER = ("title", "description", "output", *MACHINE)


@dataclass(frozen=True)
class SessionUse:
    """How a session takes its folder.

    resume  goes on from the newest state there
    accept  resumes although files that were read have changed
    """

    resume: bool = False
    accept: bool = False


NEW: Final = SessionUse()
"""The use of a folder by a session that begins."""


class Keeper(Protocol):
    """Keeps states of a session; `history` is what its results must say."""

    @property
    def history(self) -> tuple[str, ...]:
        """What happened to the session that its results must say."""
        ...

    def note(self, entry: types.LogEntry) -> None:
        """Note a command that was done, before it is acknowledged; raises OutputError."""
        ...

    def save(self, simulation: Simulation, log: Sequence[types.LogEntry]) -> None:
        """Keep the state, with the log of commands."""
        ...

    def wait(self) -> None:
        """Return when what was saved is on disk: nothing that ends the server afterwards can take it away."""
        ...

    def close(self) -> None:
        """Return when all is on disk, and keep no more."""
        ...


class NoKeeper:
    """Keeps nothing."""

    history = ()

    def note(self, entry: types.LogEntry) -> None:
        """Note nothing."""

    def save(self, simulation: Simulation, log: Sequence[types.LogEntry]) -> None:
        """Keep nothing."""

    def wait(self) -> None:
        """Nothing is to be done."""

    def close(self) -> None:
        """Nothing is to be done."""


class FolderKeeper:
    """Keeps the last two states of a session in a run folder.

    A run that goes back to an earlier time has its newest state there: so states have numbers in the place of times.

    case     that the session began as
    use      whether its newest state is resumed, and with files that have changed
    resumed  the state to go on from, if that is wanted and there is one
    notices  what is lost or has changed of what is resumed
    Raises OutputError for a folder that cannot be used, CaseError where that of another case is to be resumed. All
    ranks make one, and the same calls.
    """

    def __init__(
        self, folder: Path, case: RunCase, simulation: Simulation, ranks: Communicator, use: SessionUse
    ) -> None:
        self._case, self._accept, self._read = case, use.accept, simulation.input_files
        self._run = RunFolder(
            folder, case.to_toml(), resume=use.resume, may_differ=_MAY_DIFFER, inputs=self._inputs(), ranks=ranks
        )
        try:
            self._store = RestartStore(self._run, simulation.model.domain.held, STRATEGY)
            found = self._store.latest() if self._run.resumed else None
            self._count, self.resumed = 0, found
            with fitting(folder):
                if found is not None:
                    own = {**found.metadata, "seconds": float(found.metadata[_SECONDS])}
                    self._count, self.resumed = int(found.seconds), replace(found, metadata=own)
                    log_of(found)
            self._run.begin_at(None if found is None else found.metadata[_SECONDS])
            self._journal = Journal(folder) if ranks.rank == 0 else None
            self.notices = self._notices(found, resume=self._run.resumed)
        except BaseException:
            self._run.close()
            raise

    def save(self, simulation: Simulation, log: Sequence[types.LogEntry]) -> None:
        """Keep the state, with the log of commands and the settings of now."""
        saved: Snapshot = simulation.snapshot()
        self._run.wait()
        if not simulation.input_files <= self._read:  # a setting that was changed names other files
            self._read |= simulation.input_files
            self._run.note_inputs(self._inputs())
        self._count += 1
        metadata = {
            **saved.metadata, _LOG: [each.model_dump(mode="json") for each in log], _CASE: simulation.case.to_toml(),
            _SECONDS: simulation.seconds,
        }  # fmt: skip
        self._store.save(float(self._count), saved.tiled, saved.whole, metadata)

    def _notices(self, found: Restart | None, *, resume: bool) -> list[str]:
        """Return what is lost or has changed of the session that is resumed; a new one has no commands of before."""
        if self._journal is None:
            return []
        with guarded(self._run.path):
            if not resume:
                self._journal.restart()
                return []
            lost = self._journal.resume([] if found is None else log_of(found))
        damaged = [f"{message}; the state before it is resumed" for message in (() if found is None else found.skipped)]
        return [*damaged, *(f"inputs differ from now on: {each}" for each in self._run.changed), *lost]

    def note(self, entry: types.LogEntry) -> None:
        """Note a command in the journal of rank 0."""
        if self._journal is not None:
            with guarded(self._run.path):
                self._journal.add(entry)

    @property
    def history(self) -> tuple[str, ...]:
        """What happened to the session that its results must say."""
        return self._run.history

    def _inputs(self) -> Inputs:
        return Inputs(self._read, self._case.base, self._accept)

    def wait(self) -> None:
        """Return when what was saved is on disk."""
        self._run.wait()

    def close(self) -> None:
        """Return when all is on disk, and give the folder back."""
        try:
            self._run.finish(complete=False)
        finally:
            self._run.close()


def log_of(restart: Restart) -> list[types.LogEntry]:
    """Return the log that was kept with a state; raises ValueError for one that was changed by hand."""
    log = [types.LogEntry.model_validate(each) for each in restart.metadata.get(_LOG, [])]
    for number, entry in enumerate(log):
        _COMMAND.validate_python(entry.command)
        if entry.number != number:
            raise ValueError(f"command {entry.number} of the log stands in the place of {number}")
    return log


def with_machine_of(case: RunCase, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of another case, with the machine's of a case: it may be resumed on other ranks."""
    of_now = case.to_dict()
    return {name: of_now[name] if name in _OF_RANKS and name in of_now else each for name, each in settings.items()}


def case_of(restart: Restart, case: RunCase) -> RunCase:
    """Return the case that a state belongs to: the one that was opened, with what was changed since."""
    text: Any = restart.metadata.get(_CASE)
    if text is None or text == case.to_toml():
        return case
    found = type(case).from_dict(with_machine_of(case, parse_toml(text)), case.base, name=case.name)
    return found.allowing_code() if case.allow_code else found
