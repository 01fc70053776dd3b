"""The replays that are under way, and who waits for them."""

from collections.abc import Callable
from concurrent.futures import Future

from airshed.core.errors import AirshedError
from airshed.serve import types
from airshed.serve.asked import as_told
from airshed.serve.host import Host, Repeat


class Replays:
    """Lets replays take turns, a batch of steps each; for the model's thread.

    view  returns the state of a session
    told  is told the session and the step that its replay has reached; None where it has ended
    """

    def __init__(
        self, host: Host, view: Callable[[str], types.SessionState], told: Callable[[str, int | None], None]
    ) -> None:
        self._host, self._view, self._told = host, view, told
        self._waiting: dict[str, list[Future[types.Result]]] = {}

    @property
    def sessions(self) -> list[str]:
        """The sessions that are replayed."""
        return list(self._waiting)

    def ask(self, session: str, reply: "Future[types.Result]") -> None:
        """Begin a replay, or wait for the one that is under way."""
        self._waiting.setdefault(session, []).append(reply)

    def go_on(self, session: str) -> None:
        """Go on with a replay by a batch of steps; at its end answer all who wait."""
        try:
            found = self._host.give(Repeat(session))
        except Exception as error:
            self.refuse(session, as_told(error))
            return
        if isinstance(found, types.ReplayResult):
            self._told(session, None)
            for reply in self._waiting.pop(session):
                reply.set_result(types.Result(state=self._view(session), replay=found))
        else:
            self._told(session, found)

    def refuse(self, session: str, error: AirshedError) -> None:
        """Tell all who wait for a replay, if there is one, that it comes to nothing."""
        waiting = self._waiting.pop(session, [])
        if waiting:
            self._told(session, None)
        for reply in waiting:
            reply.set_exception(error)
