"""Requests for fields, which wait for the end of a step; for the model's thread."""

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from airshed.core.errors import AirshedError, CaseError
from airshed.serve.fields.published import Session
from airshed.serve.model.host import Host
from airshed.serve.protocol.errors import as_airshed_error


@dataclass
class FieldRequests:
    """Requests for fields of sessions.

    waiting  session, variable and reply of each request
    """

    host: Host
    sessions: Mapping[str, Session]
    waiting: "list[tuple[str, str, Future[Any]]]" = field(default_factory=list)

    def add(self, session: str, variable: str, reply: "Future[Any]") -> None:
        """Add a request, to which :meth:`copy` replies."""
        self.waiting.append((session, variable, reply))

    def copy(self) -> None:
        """Copy the requested fields once for each version of the state, and reply to all requests for them.

        A missing field, or one of a session that has ended or failed in the meantime, is an error of its own requests.
        """
        requested, self.waiting = self.waiting, []
        needed: dict[str, dict[str, None]] = {}
        for name, variable, _ in requested:
            session = self.sessions.get(name)
            if session and variable in session.shape.variables and session.present(variable) is None:
                needed.setdefault(name, {})[variable] = None
        failed: dict[str, AirshedError] = {}
        for name, variables in needed.items():
            try:
                self.sessions[name].publish(self.host.give("values", name, tuple(variables)))
            except Exception as error:
                failed[name] = as_airshed_error(error)
        for name, variable, reply in requested:
            try:
                if name not in self.sessions:
                    raise CaseError(f"there is no session {name!r} any more")
                self.sessions[name].shape.variable(variable)
                copy = self.sessions[name].present(variable)
                if copy is None:
                    raise failed[name]
                reply.set_result(copy)
            except AirshedError as error:
                reply.set_exception(error)

    def refuse(self, error: AirshedError) -> None:
        """Reply to all requests with an error."""
        for _, _, reply in self.waiting:
            reply.set_exception(error)
