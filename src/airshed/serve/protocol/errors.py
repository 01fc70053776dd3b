"""Errors of requests, as sent to clients."""

import traceback
from typing import Final

from airshed.core.errors import AirshedError


class DefectError(AirshedError):
    """A defect of Airshed itself."""


class EndsError(AirshedError):
    """The server ends, so the request is not executed."""

    def __init__(self) -> None:
        super().__init__("the server is shutting down")


class ControlledError(AirshedError):
    """Another client controls the session."""


class NotThereError(AirshedError):
    """The session, variable or file does not exist."""


class NotYetError(AirshedError):
    """The model of the server is being set up."""


class TooManyError(AirshedError):
    """Too many requests for access."""


def as_airshed_error(error: Exception) -> AirshedError:
    """Return an error as sent to clients; a defect is printed in the server's terminal."""
    if isinstance(error, AirshedError):
        return error
    traceback.print_exception(error)
    return DefectError(
        "a defect of Airshed; its traceback is in the server's terminal; restore a snapshot, or continue"
    )


STATUS: Final[dict[type, int]] = {
    NotThereError: 404,
    NotYetError: 503,
    ControlledError: 409,
    TooManyError: 429,
    DefectError: 500,
}
"""HTTP status of a kind of error; 400 for others."""
