"""Errors that a user can act on.

Every message says what is wrong, where, and what to do, in a line or two. The command line prints the message alone;
anything that is not an :class:`AirshedError` is a defect of Airshed itself and keeps its traceback.
"""

from pathlib import Path
from typing import Any, Self

from airshed.core.text import printable


class AirshedError(Exception):
    """Base of all errors that are the user's to mend; ``str(error)`` is the whole message.

    Names and values of the user's files stand in it: what of them would move a cursor is written as an escape.
    """

    def __str__(self) -> str:
        """Return the message, which any terminal can show."""
        return printable(super().__str__(), lines=True)


class CaseError(AirshedError):
    """A case file, a command-line setting or a conditions file asks for something that cannot be."""


class MechanismError(AirshedError):
    """A reaction file cannot be read, or a mechanism lacks what a case needs of it."""


class UnknownMechanismError(MechanismError):
    """No shipped mechanism has the name that is asked for."""


class DataError(AirshedError):
    """An input file is missing, truncated, out of range or of the wrong shape."""


class KernelError(AirshedError):
    """Generated code could not be compiled or loaded, or was broken off."""


class OutputError(AirshedError):
    """A result could not be written or read back."""


class RedistributionError(AirshedError):
    """A distribution, a plan or an array does not fit what it is used for."""


class LinkError(RedistributionError):
    """The other job is missing, is another one, or has left."""


class NumericalError(AirshedError):
    """A computation left the range where its result means anything."""


class ReplayableError(NumericalError):
    """A failure of which a file in the run folder shows how it came about."""

    def keep(self, folder: Path, case: Any) -> Self:
        """Write that file, and return the error, which then names it."""
        raise NotImplementedError


class FormulaError(AirshedError):
    """A formula has what no formula can have, or is asked for what it does not tell."""


class ProgramError(AirshedError):
    """A list of stages is no time step: a stage reads, writes or advances what it cannot."""
