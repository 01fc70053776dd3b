"""What of a session is on disk: its state now and then, with the log, so that it goes on after whatever ends it."""

import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Protocol

from airshed.case.case import MACHINE, RunCase
from airshed.io.folder import RunFolder
from airshed.io.restart import Restart, RestartStore
from airshed.parallel.communicator import Communicator
from airshed.runtime.model import Snapshot
from airshed.runtime.simulation import Simulation
from airshed.serve import types

STRATEGY: Final = "gather:async"
_LOG, _CASE, _SECONDS = "log", "case_text", "seconds_of_state"
_MAY_DIFFER = ("title", "description", "output", *MACHINE)


class Keeper(Protocol):
    """Keeps states of a session."""

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
    resumed  the state to go on from, if that is wanted and there is one
    Raises OutputError for a folder that cannot be used, CaseError where that of another case is to be resumed. All
    ranks make one, and the same calls.
    """

    def __init__(
        self, folder: Path, case: RunCase, simulation: Simulation, ranks: Communicator, *, resume: bool
    ) -> None:
        self._run = RunFolder(folder, case.to_toml(), resume=resume, may_differ=_MAY_DIFFER, ranks=ranks)
        try:
            self._store = RestartStore(self._run, simulation.model.domain.held, STRATEGY)
            found = self._store.latest() if resume and self._run.resumed else None
        except BaseException:
            self._run.close()
            raise
        self._count, self.resumed = 0, found
        if found is not None:
            own = {**found.metadata, "seconds": found.metadata[_SECONDS]}
            self._count, self.resumed = int(found.seconds), replace(found, metadata=own)

    def save(self, simulation: Simulation, log: Sequence[types.LogEntry]) -> None:
        """Keep the state, with the log of commands and the settings of now."""
        saved: Snapshot = simulation.snapshot()
        self._run.wait()
        self._count += 1
        metadata = {
            **saved.metadata, _LOG: [each.model_dump(mode="json") for each in log], _CASE: simulation.case.to_toml(),
            _SECONDS: simulation.seconds,
        }  # fmt: skip
        self._store.save(float(self._count), saved.tiled, saved.whole, metadata)

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
    """Return the log that was kept with a state."""
    return [types.LogEntry.model_validate(each) for each in restart.metadata.get(_LOG, [])]


def case_of(restart: Restart, case: RunCase) -> RunCase:
    """Return the case that a state belongs to: the one that was opened, with what was changed since."""
    text: Any = restart.metadata.get(_CASE)
    if text is None or text == case.to_toml():
        return case
    found = type(case).from_dict(tomllib.loads(text), case.base, name=case.name)
    return found.allowing_code() if case.allow_code else found
