"""Fields that were asked for: each is gathered from the ranks once for a version of the state, and handed out."""

from collections.abc import Mapping, Sequence

from airshed.core.errors import AirshedError, CaseError
from airshed.serve.asked import Asked, as_told
from airshed.serve.host import Gather, Host
from airshed.serve.session import Session


def hand_out(asked: Sequence[Asked], host: Host, sessions: Mapping[str, Session]) -> None:
    """Copy the fields that were asked for, each once, and answer all who asked.

    Those who ask for the same get the same copy: it is published with the session, and stays until its next version. A
    field that is not there or cannot be gathered, and one of a session that has ended or failed meanwhile, is an error
    of those who asked for it alone.
    """
    wanted: dict[str, list[str]] = {}
    for each in asked:
        session = sessions.get(each.what.session)
        if session is not None and each.what.name in session.shape.variables:
            names = wanted.setdefault(session.name, [])
            if each.what.name not in names and session.present(each.what.name) is None:
                names.append(each.what.name)
    failed: dict[str, AirshedError] = {}
    for name, names in wanted.items():
        session = sessions[name]
        try:
            if names:
                session.publish(host.give(Gather(name, tuple(names))), session.state)
        except Exception as error:
            failed[name] = as_told(error)
    for each in asked:
        _answer(each, sessions, failed)


def _answer(asked: Asked, sessions: Mapping[str, Session], failed: Mapping[str, AirshedError]) -> None:
    try:
        session = sessions.get(asked.what.session)
        if session is None:
            raise CaseError(f"there is no session {asked.what.session!r} any more")
        session.shape.variable(asked.what.name)
        copy = session.present(asked.what.name)
        if copy is None:
            raise failed[session.name]
        asked.reply.set_result(copy)
    except AirshedError as error:
        asked.reply.set_exception(error)
