"""Stores of checkpoints: memory, files of each rank, one file of all ranks by MPI-IO, and groups of Zarr.

Each file of a :class:`FileStore` is an archive of :mod:`airshed.io.archive` with checksums. It is written atomically,
under a name that is never used twice. A commit synchronises the current files with the disk, which would be slow after
each write. It then writes a manifest that lists these files and a note. The last two manifests are retained, with the
files that they list. A process may therefore be killed at any point. If only some ranks have reached a commit, all
ranks resume from the commit before it.
"""

import re
import zlib
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from heapq import heappop, heappush
from math import prod
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from airshed.core.atomic import guarded, part_path, remove_parts, sync, write_whole
from airshed.core.errors import OutputError
from airshed.io.archive import load_arrays, load_group, load_metadata, reading, remove_group, save_arrays, save_group
from airshed.io.block_file import BlockFile
from airshed.kernels.host import ALIGNMENT, address, aligned_copy, aligned_empty

Arrays = Mapping[str, npt.NDArray[Any]]
Sums = dict[str, int]

LARGE: Final = 1 << 20
"""Minimum size [bytes] of arrays whose memory is reused; the C library caches smaller ones."""


class Store(Protocol):
    """Store of the arrays of this rank by keys, such as "level-17": letters, digits and -."""

    @property
    def bytes(self) -> int:
        """Stored bytes."""
        ...

    @property
    def keys(self) -> list[str]:
        """Keys of the stored arrays, the last one stored at the end."""
        ...

    def put(self, key: str, arrays: Arrays) -> None:
        """Store arrays under a key and replace older ones; the caller may change them when this returns."""
        ...

    def get(self, key: str) -> Arrays:
        """Return the arrays of a key, which are read-only; raise KeyError if there are none.

        They are valid until the key is dropped or stored again.
        """
        ...

    def drop(self, key: str) -> None:
        """Discard the arrays of a key; raise KeyError if there are none."""
        ...

    def close(self) -> None:
        """Close the store and discard all arrays."""
        ...


class MemoryStore:
    """Store of copies in memory that reuses the memory of discarded arrays.

    Allocating new pages takes longer than filling them, and each stretch of levels would need new pages. Memory never
    exceeds the maximum number of stored bytes: if no free array fits, all free arrays are released.
    """

    def __init__(self) -> None:
        self._stored: dict[str, dict[str, npt.NDArray[Any]]] = {}
        self._free: list[npt.NDArray[Any]] = []

    @property
    def bytes(self) -> int:
        """Stored bytes."""
        return sum(array.nbytes for arrays in self._stored.values() for array in arrays.values())

    @property
    def keys(self) -> list[str]:
        """The keys; see :class:`Store`."""
        return list(self._stored)

    def put(self, key: str, arrays: Arrays) -> None:
        """Store copies; see :class:`Store`."""
        if key in self._stored:
            self.drop(key)
        self._stored[key] = {name: self._copy(array) for name, array in arrays.items()}

    def get(self, key: str) -> Arrays:
        """Return the copies themselves; see :class:`Store`."""
        return self._stored[key]

    def drop(self, key: str) -> None:
        """Discard arrays; see :class:`Store`."""
        self._free += [array for array in self._stored.pop(key).values() if array.nbytes >= LARGE]

    def _copy(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if array.nbytes < LARGE:
            return aligned_copy(array)
        for number, free in enumerate(self._free):
            if free.shape == array.shape and free.dtype == array.dtype:
                free[...] = array
                return self._free.pop(number)
        self._free.clear()
        return aligned_copy(array)

    def close(self) -> None:
        """Discard all arrays."""
        self._stored.clear()
        self._free.clear()


def aligned(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array aligned for kernels: the array itself if it is aligned, otherwise a copy."""
    return array if address(array) % ALIGNMENT == 0 else aligned_copy(array)


def size_of(arrays: Arrays) -> int:
    """Return the size of arrays [bytes]."""
    return sum(array.nbytes for array in arrays.values())


def checksums(arrays: Arrays) -> Sums:
    """Return the CRC-32 of each array."""
    return {
        name: zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data) for name, array in arrays.items()
    }


def check(arrays: Arrays, sums: Sums, path: Path) -> None:
    """Raise OutputError with the name of the file if checksums differ from the stored ones."""
    found = checksums(arrays)
    wrong = [name for name, value in sums.items() if found.get(name) != value]
    if wrong:
        raise OutputError(f"{path} is damaged: the checksum of {wrong[0]} is wrong")


_MANIFEST: Final = "manifest"
_SUFFIX: Final = ".npz"
_MANIFESTS: Final = 2
_OURS: Final = re.compile(r"[\w-]+\.\d+\.npz", re.ASCII)


class FileStore:
    """Store of files, one for each key, in a folder of this rank; see this module.

    folder  folder of this rank alone; created if missing
    resume  number of the commit to resume from, one of :func:`commits`; by default files of earlier stores are removed
    note    metadata of that commit

    Raises OutputError with the name of a file that is missing, damaged or cannot be written.
    """

    def __init__(self, folder: Path, resume: int | None = None) -> None:
        self._folder, self._commit, self._serial = folder, 0, 0
        self._files: dict[str, str] = {}
        self._sizes: dict[str, int] = {}
        self._named: dict[int, frozenset[str]] = {}
        self._unsynced: set[str] = set()
        self.note: Mapping[str, Any] = {}
        with guarded(folder):
            folder.mkdir(parents=True, exist_ok=True)
        if resume is not None:
            self._files, self._serial, self.note = _manifest_contents(folder, resume)
            self._commit, names = resume, frozenset(self._files.values())
            self._named[resume] = names
            with reading(folder):
                self._sizes = {name: (folder / name).stat().st_size for name in names}
        self._clear()

    @property
    def bytes(self) -> int:
        """Size of all files [bytes], including files that only a manifest still lists."""
        return sum(self._sizes.values())

    @property
    def keys(self) -> list[str]:
        """The keys; see :class:`Store`."""
        return list(self._files)

    def put(self, key: str, arrays: Arrays) -> None:
        """Write a file; see :class:`Store`."""
        self._serial += 1
        path = self._folder / f"{key}.{self._serial}{_SUFFIX}"
        part = part_path(path)
        with guarded(path, part):
            save_arrays(part, arrays, {"key": key})
            part.replace(path)
        self._unsynced.add(path.name)
        old = self._files.pop(key, None)
        self._files[key], self._sizes[path.name] = path.name, path.stat().st_size
        if old is not None:
            self._discard(old)

    def get(self, key: str) -> Arrays:
        """Read a file and compare its checksums; see :class:`Store`."""
        path = self._folder / self._files[key]
        return {name: aligned(array) for name, array in _loaded(path, key).items()}

    def drop(self, key: str) -> None:
        """Remove a file, unless a manifest lists it; see :class:`Store`."""
        self._discard(self._files.pop(key))

    def commit(self, note: Mapping[str, Any]) -> None:
        """Write a manifest, then remove the oldest one and the files that only it lists."""
        with guarded(self._folder):
            for name in self._unsynced.intersection(self._files.values()):
                sync(self._folder / name)
        self._unsynced.clear()
        number = self._commit + 1
        with write_whole(_manifest(self._folder, number)) as part:
            save_arrays(part, {}, {"files": self._files, "serial": self._serial, "note": dict(note)})
        self._commit, self.note = number, note
        self._named[number] = frozenset(self._files.values())
        for old in sorted(self._named)[:-_MANIFESTS]:
            _manifest(self._folder, old).unlink(missing_ok=True)
            for name in self._named.pop(old) - set(self._files.values()):
                self._discard(name)

    def close(self, *, keep: bool = False) -> None:
        """Remove all files, or with `keep` only the files that no manifest lists; see :class:`Store`."""
        self._files.clear()
        if not keep:
            self._named.clear()
        self._clear()
        with suppress(OSError):  # not empty: it holds committed files, or files of another program
            self._folder.rmdir()

    def _discard(self, name: str) -> None:
        if not any(name in names for names in self._named.values()):
            with guarded(self._folder / name):
                (self._folder / name).unlink(missing_ok=True)
            self._sizes.pop(name, None)

    def _clear(self) -> None:
        """Remove obsolete manifests, files that no valid manifest lists, and incomplete files."""
        names: Collection[str] = {_manifest(self._folder, number).name for number in self._named}.union(
            *self._named.values()
        )
        with guarded(self._folder):
            remove_parts(self._folder)
            for path in self._folder.iterdir():
                if _OURS.fullmatch(path.name) and path.name not in names:
                    path.unlink()
        self._sizes = {name: size for name, size in self._sizes.items() if name in names}


def commits(folder: Path) -> list[int]:
    """Return the numbers of the commits from which the store of a folder can resume, in ascending order."""
    found = (path.name.split(".")[1] for path in folder.glob(f"{_MANIFEST}.*{_SUFFIX}"))
    return sorted(int(number) for number in found if number.isdecimal())


def damage(folder: Path, number: int) -> str:
    """Return a message about a missing or damaged file of a commit, empty if there is none; all files are read."""
    try:
        for key, name in _manifest_contents(folder, number)[0].items():
            _loaded(folder / name, key)
    except OutputError as error:
        return str(error)
    return ""


def read_note(folder: Path, number: int) -> Mapping[str, Any]:
    """Return the note of a commit; raises OutputError if the manifest is damaged."""
    return _manifest_contents(folder, number)[2]


def rank_folder(folder: Path, rank: int) -> Path:
    """Return the folder of a rank's store."""
    return folder / f"rank-{rank:06d}"


def _manifest_contents(folder: Path, number: int) -> tuple[dict[str, str], int, Mapping[str, Any]]:
    """Return the files of a commit by their keys, its serial number, and its note."""
    manifest = _manifest(folder, number)
    with reading(manifest):
        stored = load_metadata(manifest)
        return dict(stored["files"]), int(stored["serial"]), stored["note"]


def _loaded(path: Path, key: str) -> Arrays:
    arrays, metadata = load_arrays(path)
    if metadata != {"key": key}:
        raise OutputError(f"{path} is damaged: it holds {metadata}, not {key}")
    return arrays


def _manifest(folder: Path, number: int) -> Path:
    return folder / f"{_MANIFEST}.{number}{_SUFFIX}"


Bytes = npt.NDArray[np.uint8]
Members = dict[str, tuple[tuple[int, ...], np.dtype[Any], int]]
"""Shape, type and offset [bytes] of arrays by their names."""


@dataclass(frozen=True)
class _StoredArrays:
    """Location of the arrays of a key: their blocks, and the layout of the arrays in them."""

    blocks: list[int]
    size: int
    members: Members
    sums: Sums


class SharedStore:
    """Store of a rank in its blocks of a file that all ranks share; the blocks of discarded arrays are reused."""

    def __init__(self, file: BlockFile) -> None:
        self._file = file
        self._stored: dict[str, _StoredArrays] = {}
        self._free: list[int] = []
        self._blocks = 0
        self._content = np.zeros(0, np.uint8)

    @property
    def bytes(self) -> int:
        """Stored bytes, in whole blocks."""
        return sum(len(each.blocks) for each in self._stored.values()) * self._file.block

    @property
    def keys(self) -> list[str]:
        """The keys; see :class:`Store`."""
        return list(self._stored)

    def put(self, key: str, arrays: Arrays) -> None:
        """Write into free blocks; see :class:`Store`."""
        members: Members = {}
        size = 0
        for name, array in arrays.items():
            members[name] = array.shape, array.dtype, size
            size += -(-array.nbytes // ALIGNMENT) * ALIGNMENT
        if self._content.size < size:
            self._content = np.zeros(size, np.uint8)
        content = self._content[:size]  # a new array for each call would cost more than filling it
        for name, view in _views(content, members).items():
            view[...] = arrays[name]
        kept = _StoredArrays(self._take(-(-size // self._file.block)), size, members, checksums(arrays))
        try:
            self._file.write(kept.blocks, content)
        except BaseException:
            self._give(kept.blocks)
            raise
        if key in self._stored:
            self.drop(key)
        self._stored[key] = kept

    def get(self, key: str) -> Arrays:
        """Read and compare checksums; see :class:`Store`."""
        kept = self._stored[key]
        content = np.asarray(aligned_empty((kept.size,), np.uint8), np.uint8)
        self._file.read(kept.blocks, content)
        arrays = _views(content, kept.members)
        check(arrays, kept.sums, self._file.path)
        return arrays

    def drop(self, key: str) -> None:
        """Release the blocks for reuse; see :class:`Store`."""
        self._give(self._stored.pop(key).blocks)

    def close(self) -> None:
        """Close and remove the file."""
        self._stored.clear()
        self._file.close()

    def _take(self, count: int) -> list[int]:
        """Return the first free blocks, so that the file grows as little as possible."""
        taken = [heappop(self._free) for _ in range(min(count, len(self._free)))]
        more = count - len(taken)
        self._blocks += more
        return [*taken, *range(self._blocks - more, self._blocks)]

    def _give(self, blocks: list[int]) -> None:
        for block in blocks:
            heappush(self._free, block)


def _views(content: Bytes, members: Members) -> dict[str, npt.NDArray[Any]]:
    """Return views of the arrays in a block of bytes."""
    found = {}
    for name, (shape, dtype, at) in members.items():
        size = prod(shape) * dtype.itemsize
        found[name] = content[at : at + size].view(dtype).reshape(shape)
    return found


class GroupStore:
    """Store of arrays in Zarr groups with lossless compression.

    folder  folder of this rank alone; created if missing, in an existing folder
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._serial = folder, 0
        self._stored: dict[str, tuple[Path, Sums, int]] = {}
        with guarded(folder):
            folder.mkdir(exist_ok=True)

    @property
    def bytes(self) -> int:
        """Size of all files [bytes]."""
        return sum(size for _, _, size in self._stored.values())

    @property
    def keys(self) -> list[str]:
        """The keys; see :class:`Store`."""
        return list(self._stored)

    def put(self, key: str, arrays: Arrays) -> None:
        """Write a group; see :class:`Store`."""
        self._serial += 1
        path = self._folder / f"{key}.{self._serial}.zarr"
        try:
            save_group(path, arrays)
        except BaseException:
            remove_group(path)
            raise
        if key in self._stored:
            self.drop(key)
        size = sum(each.stat().st_size for each in path.rglob("*") if each.is_file())
        self._stored[key] = path, checksums(arrays), size

    def get(self, key: str) -> Arrays:
        """Read a group and compare checksums; see :class:`Store`."""
        path, sums, _ = self._stored[key]
        if not path.exists():
            raise OutputError(f"{path} is missing")
        arrays = {name: aligned(array) for name, array in load_group(path).items()}
        check(arrays, sums, path)
        return arrays

    def drop(self, key: str) -> None:
        """Remove a group; see :class:`Store`."""
        remove_group(self._stored.pop(key)[0])

    def close(self) -> None:
        """Remove all groups, and the folder."""
        self._stored.clear()
        remove_group(self._folder)
