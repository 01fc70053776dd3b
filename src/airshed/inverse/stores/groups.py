"""A store of Zarr groups: one for each key in the folder of this rank, so that each rank has chunks of its own."""

from pathlib import Path
from typing import Final

from airshed.core.atomic import guarded
from airshed.core.errors import OutputError
from airshed.inverse.stores.store import Arrays, Sums, aligned, check, checksums
from airshed.io.archive import load_group, remove_group, save_group

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
        """The keys; see :class:`airshed.inverse.stores.store.Store`."""
        return list(self._kept)

    def put(self, key: str, arrays: Arrays) -> None:
        """Write a group; see :class:`airshed.inverse.stores.store.Store`."""
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
        """Read a group and compare checksums; see :class:`airshed.inverse.stores.store.Store`."""
        path, sums, _ = self._kept[key]
        if not path.exists():
            raise OutputError(f"there is no {path}")
        arrays = {name: aligned(array) for name, array in load_group(path).items()}
        check(arrays, sums, path)
        return arrays

    def drop(self, key: str) -> None:
        """Remove a group; see :class:`airshed.inverse.stores.store.Store`."""
        remove_group(self._kept.pop(key)[0])

    def close(self) -> None:
        """Remove all groups, and the folder."""
        self._kept.clear()
        remove_group(self._folder)
