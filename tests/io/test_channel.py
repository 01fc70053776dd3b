"""Errors sent to other ranks retain their class where possible."""

import errno
import pickle

import pytest

from airshed.core.errors import CaseError, DataError, NumericalError, OutputError
from airshed.io.channel import sendable


class PickyError(NumericalError):
    """Error that cannot be constructed from its message alone."""

    def __init__(self, cell, *, rate):
        super().__init__(f"cell {cell} fails at {rate}")


class SecretiveError(DataError):
    """Error that cannot be pickled."""

    def __init__(self, message):
        super().__init__(message)
        self.held = lambda: message


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (OutputError("the disk is full"), OutputError),
        (DataError("u.nc is cut"), DataError),
        (CaseError("no such strategy"), CaseError),
        (OSError(errno.ENOENT, "No such file", "u.nc"), FileNotFoundError),
        (KeyError("u"), KeyError),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), UnicodeDecodeError),
        (PickyError(3, rate=0.5), NumericalError),  # the nearest class that can be constructed from a message
        (SecretiveError("u.nc is cut"), DataError),
    ],
)
def test_an_error_keeps_its_kind_and_its_message(error, kind):
    received = pickle.loads(pickle.dumps(sendable(error)))
    assert type(received) is kind
    assert str(received) == str(error)
