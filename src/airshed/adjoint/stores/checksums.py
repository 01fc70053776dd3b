"""Checksums of what a store that is no archive gives back."""

import zlib
from pathlib import Path

import numpy as np

from airshed.adjoint.stores.store import Arrays
from airshed.core.errors import OutputError

Sums = dict[str, int]


def checksums(arrays: Arrays) -> Sums:
    """Return the CRC-32 of each array."""
    return {
        name: zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data) for name, array in arrays.items()
    }


def check(arrays: Arrays, sums: Sums, path: Path) -> None:
    """Raise OutputError, which names the file, for arrays that are not those that were kept."""
    found = checksums(arrays)
    wrong = [name for name, value in sums.items() if found.get(name) != value]
    if wrong:
        raise OutputError(f"{path} is damaged: {wrong[0]} is not what was written")
