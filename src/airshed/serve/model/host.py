"""The simulations of all sessions on every rank, and collective calls that rank 0 orders."""

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from airshed.parallel.communicator import Communicator, barrier
from airshed.parallel.failure import catching_together, raising_together
from airshed.runtime.locking import closed_on_error
from airshed.runtime.records import FolderUse
from airshed.runtime.simulation import Simulation
from airshed.serve.model.sessions import HostedSession, Replay, branch_of, replay
from airshed.serve.model.store import SessionRequest
from airshed.serve.protocol import types

_STOP: Final = ("stop", "")
_OF_HOST: Final = ("open", "branch", "repeat", "close")
"""Orders to the host; all other orders are methods of a session."""


@dataclass
class Host:
    """The simulations of all sessions on a rank.

    An order is the name of a method of a session or of the host, with its arguments; all ranks execute it together.
    replays  that are running, by session
    """

    ranks: Communicator
    sessions: dict[str, HostedSession] = field(default_factory=dict)
    replays: dict[str, Replay] = field(default_factory=dict)
    _stopped: bool = False

    def give(self, *order: Any) -> Any:
        """Execute an order on all ranks, and return its result on this rank; raises AirshedError on all ranks alike.

        order  name of the method, name of the session, arguments; ranks other than 0 receive it
        An error on some ranks alone ends the program, since the other ranks could only wait.
        """
        if self.ranks.handle is not None:
            barrier(self.ranks.handle)
            order = self.ranks.broadcast(order or None)
        method, session, *arguments = order
        if order == _STOP:
            self._stopped = True
            return None
        with raising_together(self.ranks):
            owner = self if method in _OF_HOST else self.sessions[session]
            return getattr(owner, method)(*([session, *arguments] if method in _OF_HOST else arguments))

    def follow(self) -> None:
        """Execute the orders of rank 0 until it stops; for the other ranks, which sleep between orders."""
        with catching_together(self.ranks):
            while not self._stopped:
                with suppress(Exception):  # rank 0 reports the error
                    self.give()
        self._end()

    def stop(self) -> None:
        """End all sessions on all ranks."""
        self.give(*_STOP)
        self._end()

    def _end(self) -> None:
        with raising_together(self.ranks):
            self._close_all(list(self.sessions))

    def prepare(self, opening: SessionRequest) -> HostedSession:
        """Return the session to begin; on a single rank any thread may call this."""
        simulation = Simulation(opening.case, ranks=self.ranks)
        session = HostedSession(simulation, parent=opening.parent, scenario=opening.scenario)
        if opening.folder is not None:
            with closed_on_error(session):
                session.store_in(FolderUse(opening.folder, opening.resume, accept=opening.accept), self.ranks)
        return session

    def open(self, name: str, opening: SessionRequest) -> HostedSession:
        """Begin a session."""
        self.sessions[name] = session = self.prepare(opening)
        return session

    def branch(self, name: str, parent: str, command: types.Branch, author: str, folder: Path | None) -> HostedSession:
        """Begin a session from a snapshot of another session."""
        session = branch_of(self.sessions[parent], command, author, parent)
        if folder is not None:
            with closed_on_error(session):
                session.store_in(FolderUse(folder), self.ranks)
                session.save()
        self.sessions[name] = session
        return session

    def repeat(self, name: str) -> int | types.ReplayResult:
        """Advance a replay by a batch of steps; return the step it has reached, at its end the result."""
        if name not in self.replays:
            self.replays[name] = replay(self.sessions[name], self.ranks)
        try:
            return next(self.replays[name])
        except StopIteration as end:
            del self.replays[name]
            return cast("types.ReplayResult", end.value)
        except BaseException:
            del self.replays[name]
            raise

    def close(self, name: str) -> None:
        """End a session."""
        self._close_all([name])

    def _close_all(self, names: Sequence[str]) -> None:
        with ExitStack() as stack:  # an error of one session must not leave others open
            for name in names:
                stack.callback(self.sessions.pop(name).close)
                if name in self.replays:
                    stack.callback(self.replays.pop(name).close)
