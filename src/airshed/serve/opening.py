"""Sessions are made ready beside those that run, and join them between two steps."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any

from airshed.core.errors import AirshedError
from airshed.serve.asked import Asked, as_told
from airshed.serve.folders import SessionFolders
from airshed.serve.host import Host, Open
from airshed.serve.hosted import START, Hosted
from airshed.serve.keeping import SessionUse


@dataclass(frozen=True)
class Made:
    """A session that is ready to begin, or what was wrong with it."""

    order: Open
    result: Hosted | AirshedError


class Openings:
    """Makes sessions: in a thread of its own on one rank; several ranks, which do all together, stop for it.

    names      of sessions that are not ready yet
    hand_over  is given each that is
    """

    def __init__(self, host: Host, hand_over: Callable[[Asked], None]) -> None:
        self.names: set[str] = set()
        self._host, self._hand_over = host, hand_over

    def start(self, order: Open, reply: "Future[Any]") -> None:
        """Begin to make a session ready."""
        self.names.add(order.session)
        if self._host.ranks.handle is None:
            making = threading.Thread(target=self._make, args=(self._host.prepare, order, reply), daemon=True)
            making.start()
        else:
            self._make(self._host.give, order, reply)

    def _make(self, by: Callable[[Open], Hosted], order: Open, reply: "Future[Any]") -> None:
        try:
            result: Hosted | AirshedError = by(order)
        except Exception as error:
            result = as_told(error)
        self._hand_over(Asked(Made(order, result), reply))


def resume_others(folders: SessionFolders, main: Hosted, use: SessionUse, ask: "Callable[[Open], Future[Any]]") -> None:
    """Ask for all sessions that were there besides the main one; why one cannot come back is among its notices."""
    notices = main.notices
    for found in folders.others(main.kept(START).case):
        if isinstance(found, str):
            notices.append(found)
        else:
            reply = ask(Open(found.name, found.case, use=use, parent=found.parent))
            reply.add_done_callback(partial(_note_failure, notices, found.name))


def _note_failure(notices: list[str], name: str, opened: "Future[Any]") -> None:
    if opened.exception() is not None:
        notices.append(f"session {name} cannot come back: {opened.exception()}")
