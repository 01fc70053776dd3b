"""What every rank does: orders from rank 0, one after the other, on the simulations of all sessions."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np

from airshed.case.case import RunCase
from airshed.core.report import Report
from airshed.core.toml_text import parse_toml
from airshed.parallel.communicator import Communicator, barrier
from airshed.parallel.failure import catching_together, raising_together
from airshed.runtime.model import Timings
from airshed.runtime.registry import model_kind
from airshed.runtime.simulation import Simulation
from airshed.serve import types
from airshed.serve.hosted import Hosted
from airshed.serve.keeping import NEW, SessionUse
from airshed.serve.replay import Replay, branch_of, replay


@dataclass(frozen=True)
class Open:
    """Begin a session, whose states are kept in a folder, if one is given."""

    session: str
    case: RunCase
    folder: Path | None = None
    use: SessionUse = NEW
    parent: str | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Send a case to other ranks as its settings: classes of a case may be made at run time."""
        case = self.case
        told = case.to_toml(), case.base, case.name, case.allow_code
        return _opened, (self.session, told, self.folder, self.use, self.parent)


def _opened(
    session: str, told: tuple[str, Path, str, bool], folder: Path | None, use: SessionUse, parent: str | None
) -> "Open":
    text, base, name, allow_code = told
    data = parse_toml(text)
    case = model_kind(data["model"]).case.from_dict(data, base, name=name)
    return Open(session, case.allowing_code() if allow_code else case, folder, use, parent)


@dataclass(frozen=True)
class Advance:
    """Make a batch of at most so many steps."""

    session: str
    most: int


@dataclass(frozen=True)
class Save:
    """Keep the state of a session on disk."""

    session: str


@dataclass(frozen=True)
class Apply:
    """Do what a command asks for."""

    session: str
    command: types.Document
    author: str


@dataclass(frozen=True)
class BranchOff:
    """Begin a session from a snapshot of another one."""

    session: str
    name: str
    command: types.Branch
    author: str
    folder: Path | None = None


@dataclass(frozen=True)
class Gather:
    """Copy whole fields."""

    session: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Summarise:
    """Tell what happened so far."""

    session: str


@dataclass(frozen=True)
class Time:
    """Return the wall time of the parts of steps."""

    session: str


@dataclass(frozen=True)
class Repeat:
    """Go on with making a session's run again by a batch of steps; gives the step reached, at the end the result."""

    session: str


@dataclass(frozen=True)
class Close:
    """End a session."""

    session: str


@dataclass(frozen=True)
class Stop:
    """End all."""


Order = Open | Advance | Save | Apply | BranchOff | Gather | Summarise | Time | Repeat | Close | Stop


@dataclass
class Host:
    """The simulations of all sessions on a rank.

    replays  under way, by session
    """

    ranks: Communicator
    sessions: dict[str, Hosted] = field(default_factory=dict)
    replays: dict[str, Replay] = field(default_factory=dict)

    def give(self, order: Order) -> Any:
        """Let all ranks do an order, and return what it gives here; for rank 0. Raises AirshedError on all alike."""
        self._hand_on(order)
        return self.do(order)

    def follow(self) -> None:
        """Do the orders of rank 0 until it stops; for the others, which sleep between orders."""
        with catching_together(self.ranks):
            while not isinstance(order := self._hand_on(None), Stop):
                with suppress(Exception):  # rank 0 tells
                    self.do(order)
        self.do(order)

    def do(self, order: Order) -> Any:
        """Do an order on this rank; an error of some ranks alone ends all, as the others could only wait."""
        with raising_together(self.ranks):
            return _DONE[type(order)](self, order)

    def _hand_on(self, order: Order | None) -> Any:
        if self.ranks.handle is None:
            return order
        barrier(self.ranks.handle)
        return self.ranks.broadcast(order)

    def prepare(self, order: Open) -> Hosted:
        """Return the session to begin; without other ranks any thread may call this."""
        hosted = Hosted(Simulation(order.case, ranks=self.ranks), parent=order.parent)
        try:
            if order.folder is not None:
                hosted.keep_in(order.folder, self.ranks, order.use)
        except BaseException:
            hosted.close()
            raise
        return hosted

    def _open(self, order: Open) -> Hosted:
        self.sessions[order.session] = hosted = self.prepare(order)
        return hosted

    def _advance(self, order: Advance) -> None:
        self.sessions[order.session].simulation.step(order.most)

    def _save(self, order: Save) -> None:
        self.sessions[order.session].save()

    def _apply(self, order: Apply) -> Any:
        return self.sessions[order.session].apply(order.command, order.author)

    def _branch(self, order: BranchOff) -> Hosted:
        made = branch_of(self.sessions[order.session], order.command, order.author, order.session)
        try:
            if order.folder is not None:
                made.keep_in(order.folder, self.ranks, NEW)
                made.save()
        except BaseException:
            made.close()
            raise
        self.sessions[order.name] = made
        return made

    def _gather(self, order: Gather) -> Mapping[str, np.ndarray[Any, Any]]:
        return self.sessions[order.session].values(order.names)

    def _summarise(self, order: Summarise) -> Report:
        return self.sessions[order.session].simulation.summary()

    def _time(self, order: Time) -> Timings:
        timings: Timings = self.sessions[order.session].simulation.model.timings()
        return timings

    def _repeat(self, order: Repeat) -> int | types.ReplayResult:
        name = order.session
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

    def _close(self, order: Close) -> None:
        self._close_all([order.session])

    def _stop(self, order: Stop) -> None:
        self._close_all(list(self.sessions))

    def _close_all(self, names: Sequence[str]) -> None:
        with ExitStack() as stack:  # what one of them raises keeps no other from being closed
            for name in names:
                stack.callback(self.sessions.pop(name).close)
                if name in self.replays:
                    stack.callback(self.replays.pop(name).close)


_DONE: Mapping[type, Callable[[Host, Any], Any]] = {
    Open: Host._open,
    Advance: Host._advance,
    Save: Host._save,
    Apply: Host._apply,
    BranchOff: Host._branch,
    Gather: Host._gather,
    Summarise: Host._summarise,
    Time: Host._time,
    Repeat: Host._repeat,
    Close: Host._close,
    Stop: Host._stop,
}
