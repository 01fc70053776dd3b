"""Looks whether arrays that a user hands over hold numbers."""

from typing import Any

import numpy as np
import numpy.typing as npt

from airshed.core.errors import DataError

_KINDS = {"U": "text", "S": "text", "T": "text", "O": "objects", "M": "dates", "m": "durations", "c": "complex values"}


def kind(dtype: np.dtype[Any]) -> str:
    """Return what values of a type are, in a word for messages."""
    return _KINDS.get(dtype.kind, dtype.name)


def numbers(values: npt.ArrayLike, what: str) -> npt.NDArray[np.float64]:
    """Return an array as float64; raises DataError for one of text, dates or objects, which ``what`` names."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise DataError(f"{what} holds {kind(array.dtype)}, no numbers; give numbers")
    return array.astype(np.float64)
