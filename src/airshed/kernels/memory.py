"""Where arrays lie, and memory that goes back to the system."""

import ctypes
from collections.abc import Callable
from typing import Final

import numpy as np

_TRIM: Final[Callable[[int], int] | None] = getattr(ctypes.CDLL(None), "malloc_trim", None)


def give_back() -> None:
    """Return freed memory to the system: a quarter of what a run holds, after its set-up; takes about 1 ms.

    What NumPy frees below some MiB the C library keeps, in pieces, and later arrays do not always fit in between.
    Only the GNU library can be asked; with others nothing happens.
    """
    if _TRIM is not None:
        _TRIM(0)


def address(array: np.ndarray) -> int:
    """Return where the array's data lie."""
    return int(array.__array_interface__["data"][0])  # ctypes.data takes ten times as long
