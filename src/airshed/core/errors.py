"""Errors that a user can act on.

Every message states the problem, its location and a remedy in one or two lines. The command line prints only the
message. Any other exception is a defect of Airshed and is shown with its traceback.
"""

from pathlib import Path
from typing import Any, Self

from airshed.core.text import printable


class AirshedError(Exception):
    """Base class of all errors that a user can correct; ``str(error)`` is the complete message.

    Names and values from files of the user are quoted with escapes for characters that do not print.
    """

    def __str__(self) -> str:
        """Return the message in printable characters."""
        return printable(super().__str__(), lines=True)


class CaseError(AirshedError):
    """A case file, a command-line setting or a conditions file is invalid."""


class MechanismError(AirshedError):
    """A reaction file cannot be read, or a mechanism lacks a species or a rate that the case requires."""


class UnknownMechanismError(MechanismError):
    """The requested name is not that of a shipped mechanism."""


class DataError(AirshedError):
    """An input file is missing, truncated, out of range or of the wrong shape."""


class KernelError(AirshedError):
    """Generated code could not be compiled or loaded, or was interrupted."""


class OutputError(AirshedError):
    """A result could not be written or read back."""


class RedistributionError(AirshedError):
    """A distribution, a plan or an array does not match its use."""


class LinkError(RedistributionError):
    """The other job is missing, is not the expected one, or has ended."""


class NumericalError(AirshedError):
    """A computation left the range in which its result is meaningful."""


class ReplayableError(NumericalError):
    """A failure that a file in the run folder reproduces."""

    def keep(self, folder: Path, case: Any) -> Self:
        """Write the file that reproduces the failure, and return the error, which then names it."""
        raise NotImplementedError


class FormulaError(AirshedError):
    """A formula is invalid, or cannot be evaluated or differentiated as requested."""


class ProgramError(AirshedError):
    """A list of stages is not a valid time step: a stage reads, writes or advances an unavailable value."""
