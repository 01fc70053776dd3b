"""The sessions that are on their way, and who waits for them to arrive."""

import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol

from airshed.core.errors import AirshedError, CaseError
from airshed.serve import types
from airshed.serve.asked import as_told
from airshed.serve.goal import Goal
from airshed.serve.host import Advance, Host


class Publish(Protocol):
    """Publishes the state of a session, of a new version if it changed."""

    def __call__(self, name: str, *, changed: bool = True, error: str | None = None) -> None:
        """See above."""
        ...


class Goals:
    """Advances each session that has a goal, by a step or a batch of steps at a time; for the model's thread.

    view  returns the state that was published last
    keep  is called after the steps of a session
    """

    def __init__(
        self, host: Host, view: Callable[[str], types.SessionState], publish: Publish, keep: Callable[[str], None]
    ) -> None:
        self._host, self._view, self._publish, self._keep = host, view, publish, keep
        self._goals: dict[str, Goal] = {}

    @property
    def sessions(self) -> list[str]:
        """The sessions that are on their way."""
        return list(self._goals)

    def of(self, name: str) -> Goal | None:
        """Return the goal of a session."""
        return self._goals.get(name)

    def rest(self, longest: float) -> float:
        """Return how long [s] the next step can wait: none of a session that runs as fast as it can."""
        now = time.monotonic()
        return max(min((longest, *(goal.due - now for goal in self._goals.values()))), 0.0)

    def set(self, name: str, command: types.Step | types.Run, reply: "Future[types.Result]") -> None:
        """Send a session on its way; raises CaseError where that cannot be."""
        error = self._view(name).error
        if error is not None:
            raise CaseError(f"the session ended by an error: {error}; restart it, or restore a snapshot")
        goal = Goal.of(command, self._host.sessions[name], self._goals.get(name))
        waits = not isinstance(command, types.Run) or command.wait
        if waits:
            goal.waiting.append(reply)
        self._goals[name] = goal
        self._publish(name, changed=False)
        if not waits:
            reply.set_result(types.Result(state=self._view(name)))

    def advance(self, name: str) -> None:
        """Make a step of a session, if one is due."""
        goal, hosted = self._goals[name], self._host.sessions[name]
        if time.monotonic() < goal.due:
            return
        try:
            self._host.give(Advance(name, goal.most(hosted)))
            goal.made()
            self._keep(name)
        except Exception as error:
            self._fail(name, as_told(error))
            return
        if goal.is_reached(hosted):
            self.end(name, changed=True)
        else:
            self._publish(name)

    def end(self, name: str, *, changed: bool = False) -> None:
        """End the way of a session, if it is on one, and answer those who wait for that."""
        goal = self._goals.pop(name, None)
        if goal is not None:
            self._publish(name, changed=changed)
            for reply in goal.waiting:
                reply.set_result(types.Result(state=self._view(name)))

    def _fail(self, name: str, error: AirshedError) -> None:
        goal = self._goals.pop(name)
        self._publish(name, error=str(error))
        for reply in goal.waiting:
            reply.set_exception(error)
