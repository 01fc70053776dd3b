"""Sessions that advance: their goals, steps and replays, and the replies that wait for them."""

import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from airshed.core.alarm import INSTANT
from airshed.core.errors import AirshedError, CaseError
from airshed.core.units import to
from airshed.serve.model.host import Host
from airshed.serve.model.sessions import HostedSession
from airshed.serve.protocol import types
from airshed.serve.protocol.errors import as_airshed_error

_UNITS = (86400.0, "d"), (3600.0, "h"), (60.0, "min")


@dataclass
class Goal:
    """End of an advance: a number of steps, or a time [s].

    pause    least number of seconds from one step to the next
    due      time of the next step, by the clock of :func:`time.monotonic`
    replies  of commands that wait for the goal
    """

    steps: int | None = None
    until: float | None = None
    pause: float = 0.0
    due: float = 0.0
    speed: float | None = None
    replies: "list[Future[Any]]" = field(default_factory=list)
    _began: float = field(default_factory=time.monotonic)

    @classmethod
    def of(cls, command: types.Step | types.Run, session: HostedSession, present: "Goal | None") -> "Goal":
        """Return the goal of a command, where `present` is the goal so far; raises CaseError where it has none."""
        now, end = session.simulation.seconds, session.simulation.end
        if now >= end:
            raise CaseError(f"the case has ended at {_span(end)}; restart it, or restore a snapshot")
        replies = [] if present is None else present.replies
        if isinstance(command, types.Run):
            until = _seconds(command.until, end)
            if until <= now:
                raise CaseError(
                    f"until = {command.until!r} is in the past: the time is {_span(now)}; "
                    "restore a snapshot to return to it"
                )
            pause = 1.0 / command.steps_per_second if command.steps_per_second else 0.0
            return cls(until=until, pause=pause, replies=replies)
        if present is not None and present.steps is None:
            raise CaseError("the session is running; pause it before single steps")
        target = session.step if present is None or present.steps is None else present.steps
        return cls(steps=target + command.steps, replies=replies)

    def note_step(self) -> None:
        """Count a step."""
        now = time.monotonic()
        self.due = max(self.due + self.pause, now) if self.pause else 0.0
        self.speed = 1.0 / max(now - self._began, 1e-9)
        self._began = now

    def is_reached(self, session: HostedSession) -> bool:
        """Return whether the session has reached the goal or the end of the case."""
        now = session.simulation.seconds
        if now >= session.simulation.end:
            return True
        return session.step >= self.steps if self.steps is not None else now >= (self.until or 0.0) - INSTANT


def _seconds(until: float | str | None, end: float) -> float:
    if until is None:
        return end
    seconds = to(until, "s", where="until") if isinstance(until, str) else float(until)
    if seconds > end:
        raise CaseError(f"until = {until!r} is after the end of the case, {_span(end)}")
    return float(seconds)


def _span(seconds: float) -> str:
    """Return a time after the start of the case as text, in the largest unit in which it is at least one."""
    size, unit = next((each for each in _UNITS if abs(seconds) >= each[0]), (1.0, "s"))
    return f"{seconds / size:.4g} {unit}"


class Goals:
    """Advances each session that has a goal by one step or a batch of steps; for the model's thread.

    view     returns the state that was published last
    publish  publishes the state of a session; its version grows unless `changed` is false; `error` marks a failure
    save     is called after the steps of a session
    """

    def __init__(
        self,
        host: Host,
        view: Callable[[str], types.SessionState],
        publish: Callable[..., None],
        save: Callable[[str], None],
    ) -> None:
        self._host, self._view, self._publish, self._save = host, view, publish, save
        self.goals: dict[str, Goal] = {}

    def wait_time(self, longest: float) -> float:
        """Return the time [s] until the next step, at most `longest`; 0 where a session runs at full speed."""
        now = time.monotonic()
        return max(min((longest, *(goal.due - now for goal in self.goals.values()))), 0.0)

    def set(self, name: str, command: types.Step | types.Run, reply: "Future[types.Result]") -> None:
        """Set the goal of a session; raises CaseError for an impossible one."""
        error = self._view(name).error
        if error is not None:
            raise CaseError(f"the session failed: {error}; restart it, or restore a snapshot")
        goal = Goal.of(command, self._host.sessions[name], self.goals.get(name))
        waits = not isinstance(command, types.Run) or command.wait
        if waits:
            goal.replies.append(reply)
        self.goals[name] = goal
        self._publish(name, changed=False)
        if not waits:
            reply.set_result(types.Result(state=self._view(name)))

    def advance(self, name: str) -> None:
        """Advance a session if a step is due: by one step, or by several towards a number of steps."""
        goal, session = self.goals[name], self._host.sessions[name]
        if time.monotonic() < goal.due:
            return
        try:
            self._host.give("advance", name, 1 if goal.steps is None else goal.steps - session.step)
            goal.note_step()
            self._save(name)
        except Exception as error:
            failure = as_airshed_error(error)
            del self.goals[name]
            self._publish(name, error=str(failure))
            for reply in goal.replies:
                reply.set_exception(failure)
            return
        if goal.is_reached(session):
            self.end(name, changed=True)
        else:
            self._publish(name)

    def end(self, name: str, *, changed: bool = False) -> None:
        """Remove the goal of a session, if it has one, and reply to the commands that wait for it."""
        goal = self.goals.pop(name, None)
        if goal is not None:
            self._publish(name, changed=changed)
            for reply in goal.replies:
                reply.set_result(types.Result(state=self._view(name)))


class Replays:
    """Advances each replay by a batch of steps; for the model's thread.

    view         returns the state of a session
    on_progress  is called with the session and the step of its replay; None after its end
    replies      of commands that wait for the replay of a session
    """

    def __init__(
        self, host: Host, view: Callable[[str], types.SessionState], on_progress: Callable[[str, int | None], None]
    ) -> None:
        self._host, self._view, self._on_progress = host, view, on_progress
        self.replies: dict[str, list[Future[types.Result]]] = {}

    def advance(self, session: str) -> None:
        """Make a batch of steps of a replay; at its end reply to the commands that wait for it."""
        try:
            found = self._host.give("repeat", session)
        except Exception as error:
            self.refuse(session, as_airshed_error(error))
            return
        if isinstance(found, types.ReplayResult):
            self._on_progress(session, None)
            for reply in self.replies.pop(session):
                reply.set_result(types.Result(state=self._view(session), replay=found))
        else:
            self._on_progress(session, found)

    def refuse(self, session: str, error: AirshedError) -> None:
        """Reply with an error to the commands that wait for a replay, if there is one."""
        replies = self.replies.pop(session, [])
        if replies:
            self._on_progress(session, None)
        for reply in replies:
            reply.set_exception(error)
