"""Looks whether arrays that a user hands over hold numbers."""

import numpy as np
import numpy.typing as npt

from airshed.core.errors import DataError

_KINDS = {
    "U": "texts",
    "S": "texts",
    "T": "texts",
    "O": "objects",
    "M": "dates",
    "m": "durations",
    "c": "complex values",
}


def numbers(values: npt.ArrayLike, what: str) -> npt.NDArray[np.float64]:
    """Return an array as float64; raises DataError for one of texts, dates or objects, which ``what`` names."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise DataError(f"{what} holds {_KINDS.get(array.dtype.kind, array.dtype)}, no numbers; give it as floats")
    return array.astype(np.float64)
