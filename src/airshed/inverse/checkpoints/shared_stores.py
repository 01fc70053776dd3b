"""Stores in which ranks share: one file of all ranks by MPI-IO (:mod:`airshed.io.block_file`), and groups of Zarr."""

from dataclasses import dataclass
from heapq import heappop, heappush
from math import prod
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.atomic import guarded
from airshed.core.errors import OutputError
from airshed.inverse.checkpoints.stores import Arrays, Sums, aligned, check, checksums
from airshed.io.archive import load_group, remove_group, save_group
from airshed.io.block_file import BlockFile
from airshed.kernels.host import ALIGNMENT, aligned_empty

Bytes = npt.NDArray[np.uint8]
Members = dict[str, tuple[tuple[int, ...], np.dtype[Any], int]]
"""Shape, type and place [bytes] of arrays by their names."""


@dataclass(frozen=True)
class _StoredArrays:
    """Where arrays lie: their blocks, and what is in these."""

    blocks: list[int]
    size: int
    members: Members
    sums: Sums


class SharedStore:
    """Keeps the arrays of a rank in its blocks of a file; what is dropped leaves its blocks to what comes."""

    def __init__(self, file: BlockFile) -> None:
        self._file = file
        self._kept: dict[str, _StoredArrays] = {}
        self._free: list[int] = []
        self._blocks = 0
        self._content = np.zeros(0, np.uint8)

    @property
    def bytes(self) -> int:
        """Stored bytes, in whole blocks."""
        return sum(len(each.blocks) for each in self._kept.values()) * self._file.block

    @property
    def keys(self) -> list[str]:
        """The keys; see :class:`airshed.inverse.checkpoints.stores.Store`."""
        return list(self._kept)

    def put(self, key: str, arrays: Arrays) -> None:
        """Write into free blocks; see :class:`airshed.inverse.checkpoints.stores.Store`."""
        members: Members = {}
        size = 0
        for name, array in arrays.items():
            members[name] = array.shape, array.dtype, size
            size += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
        if self._content.size < size:
            self._content = np.zeros(size, np.uint8)
        content = self._content[:size]  # taken anew each time it would cost more than to fill it
        for name, view in _views(content, members).items():
            view[...] = arrays[name]
        kept = _StoredArrays(self._take(-(-size // self._file.block)), size, members, checksums(arrays))
        try:
            self._file.write(kept.blocks, content)
        except BaseException:
            self._give(kept.blocks)
            raise
        if key in self._kept:
            self.drop(key)
        self._kept[key] = kept

    def get(self, key: str) -> Arrays:
        """Read and compare checksums; see :class:`airshed.inverse.checkpoints.stores.Store`."""
        kept = self._kept[key]
        content = np.asarray(aligned_empty((kept.size,), np.uint8), np.uint8)
        self._file.read(kept.blocks, content)
        arrays = _views(content, kept.members)
        check(arrays, kept.sums, self._file.path)
        return arrays

    def drop(self, key: str) -> None:
        """Let the blocks be used again; see :class:`airshed.inverse.checkpoints.stores.Store`."""
        self._give(self._kept.pop(key).blocks)

    def close(self) -> None:
        """Close and remove the file."""
        self._kept.clear()
        self._file.close()

    def _take(self, count: int) -> list[int]:
        """Return the first free blocks, so that the file grows no more than it must."""
        taken = [heappop(self._free) for _ in range(min(count, len(self._free)))]
        more = count - len(taken)
        self._blocks += more
        return [*taken, *range(self._blocks - more, self._blocks)]

    def _give(self, blocks: list[int]) -> None:
        for block in blocks:
            heappush(self._free, block)


def _views(content: Bytes, members: Members) -> dict[str, npt.NDArray[Any]]:
    """The arrays that lie in bytes."""
    found = {}
    for name, (shape, dtype, at) in members.items():
        size = prod(shape) * dtype.itemsize
        found[name] = content[at : at + size].view(dtype).reshape(shape)
    return found


_SUFFIX: Final = ".zarr"


class GroupStore:
    """Keeps arrays in Zarr groups, compressed without loss.

    folder  of this rank alone; made where it is not there, in one that is
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._serial = folder, 0
        self._kept: dict[str, tuple[Path, Sums, int]] = {}
        with guarded(folder):
            folder.mkdir(exist_ok=True)

    @property
    def bytes(self) -> int:
        """Size of all files [bytes]."""
        return sum(size for _, _, size in self._kept.values())

    @property
    def keys(self) -> list[str]:
        """The keys; see :class:`airshed.inverse.checkpoints.stores.Store`."""
        return list(self._kept)

    def put(self, key: str, arrays: Arrays) -> None:
        """Write a group; see :class:`airshed.inverse.checkpoints.stores.Store`."""
        self._serial += 1
        path = self._folder / f"{key}.{self._serial}{_SUFFIX}"
        try:
            save_group(path, arrays)
        except BaseException:
            remove_group(path)
            raise
        if key in self._kept:
            self.drop(key)
        size = sum(each.stat().st_size for each in path.rglob("*") if each.is_file())
        self._kept[key] = path, checksums(arrays), size

    def get(self, key: str) -> Arrays:
        """Read a group and compare checksums; see :class:`airshed.inverse.checkpoints.stores.Store`."""
        path, sums, _ = self._kept[key]
        if not path.exists():
            raise OutputError(f"there is no {path}")
        arrays = {name: aligned(array) for name, array in load_group(path).items()}
        check(arrays, sums, path)
        return arrays

    def drop(self, key: str) -> None:
        """Remove a group; see :class:`airshed.inverse.checkpoints.stores.Store`."""
        remove_group(self._kept.pop(key)[0])

    def close(self) -> None:
        """Remove all groups, and the folder."""
        self._kept.clear()
        remove_group(self._folder)
