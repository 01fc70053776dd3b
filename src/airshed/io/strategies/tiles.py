"""The tiled arrays of a restart in a folder, each rank's part by itself, in the formats of the strategies."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from airshed.core.atomic import guarded, sync, write_whole
from airshed.grid.box import Box
from airshed.io.archive import load_array, save_arrays
from airshed.io.channel import Channel
from airshed.io.strategies.mpiio import mpi_guarded

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Shapes:
    """What the tiled arrays of a restart look like.

    boxes  what each part holds
    types    type of each array, such as "<f8"
    tails    the shape of each array behind the divided axes
    """

    boxes: tuple[Box, ...]
    types: Mapping[str, str]
    tails: Mapping[str, tuple[int, ...]]

    def shape(self, number: int, name: str) -> tuple[int, ...]:
        """Return the shape of a part of an array."""
        return (*self.boxes[number].shape, *self.tails[name])

    def values(self, number: int, name: str) -> int:
        """Return how many values a part of an array has."""
        return int(prod(self.shape(number, name)))

    def bytes(self, number: int, name: str) -> int:
        """Return the size of a part of an array."""
        return self.values(number, name) * np.dtype(self.types[name]).itemsize


class Tiles(Protocol):
    """A format of parts. Writing ends alike on all ranks, with everything on the disk."""

    def write(self, folder: Path, channel: Channel, shapes: Shapes, arrays: Arrays) -> None:
        """Write this rank's part."""
        ...

    def read(self, folder: Path, shapes: Shapes, number: int, name: str) -> NDArray[Any]:
        """Return a part of an array; raises OutputError or OSError where it cannot be read."""
        ...


class ArchivedTiles:
    """A NumPy archive for each rank."""

    def write(self, folder: Path, channel: Channel, shapes: Shapes, arrays: Arrays) -> None:
        """Write this rank's part; see :class:`Tiles`."""
        with channel.together(), write_whole(self._path(folder, channel.rank)) as part:
            save_arrays(part, arrays, {})

    def read(self, folder: Path, shapes: Shapes, number: int, name: str) -> NDArray[Any]:
        """Return a part of an array; see :class:`Tiles`."""
        return load_array(self._path(folder, number), name)

    def _path(self, folder: Path, number: int) -> Path:
        return folder / f"part-{number:05d}.npz"


_BINARY: Final = "tiles.bin"


class CollectiveTiles:
    """One file of plain numbers, part after part and array after array, written by collective MPI-IO."""

    def write(self, folder: Path, channel: Channel, shapes: Shapes, arrays: Arrays) -> None:
        """Write this rank's part; see :class:`Tiles`."""
        path, at = folder / _BINARY, self._offset(shapes, channel.rank)
        content = [np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in arrays.values()]
        part = np.concatenate(content) if content else np.empty(0, np.uint8)
        if channel.handle is None:
            with guarded(path):
                path.write_bytes(part.data)
                sync(path)
            return
        from mpi4py import MPI

        channel.barrier()  # ranks meet here first, as those that wait in the library's own calls would spin
        with channel.together(), mpi_guarded(path):
            file = MPI.File.Open(channel.handle, os.fspath(path), MPI.MODE_WRONLY | MPI.MODE_CREATE)
            try:
                file.Write_at_all(at, part)
                file.Sync()
            finally:
                file.Close()

    def read(self, folder: Path, shapes: Shapes, number: int, name: str) -> NDArray[Any]:
        """Return a part of an array; see :class:`Tiles`."""
        names = list(shapes.types)
        before = sum(shapes.bytes(number, each) for each in names[: names.index(name)])
        with (folder / _BINARY).open("rb") as file:
            file.seek(self._offset(shapes, number) + before)
            content = file.read(shapes.bytes(number, name))
        if len(content) < shapes.bytes(number, name):
            raise OSError("it ends too early")
        return np.frombuffer(content, shapes.types[name]).reshape(shapes.shape(number, name))

    def _offset(self, shapes: Shapes, number: int) -> int:
        sizes = [sum(shapes.bytes(part, name) for name in shapes.types) for part in range(len(shapes.boxes))]
        return list(accumulate(sizes, initial=0))[number]


class ZarrTiles:
    """A Zarr group for each rank, its arrays uncompressed with a checksum."""

    def write(self, folder: Path, channel: Channel, shapes: Shapes, arrays: Arrays) -> None:
        """Write this rank's part; see :class:`Tiles`."""
        import zarr

        with channel.together(), guarded(folder):
            path = folder / f"part-{channel.rank:05d}.zarr"
            group = zarr.create_group(path, zarr_format=3)
            for name, values in arrays.items():
                group.create_array(name, data=np.ascontiguousarray(values), chunks=values.shape, compressors=None)
            written: Sequence[Path] = [each for each in path.rglob("*") if each.is_file()]
            for each in written:
                sync(each)

    def read(self, folder: Path, shapes: Shapes, number: int, name: str) -> NDArray[Any]:
        """Return a part of an array; see :class:`Tiles`."""
        import zarr

        return np.asarray(zarr.open_array(folder / f"part-{number:05d}.zarr" / name, mode="r", zarr_format=3)[...])
