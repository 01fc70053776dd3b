"""Formats of restarts by strategy, and their readers.

gather  RUN/restart/SECONDS.npz: one NumPy archive that the root writes, the same bytes for any number of ranks
others  RUN/restart/SECONDS.parts/: the parts of all ranks, and an archive with the whole arrays and the checksums
"""

import os
import shutil
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import Any, Final

import netCDF4
import numpy as np
from numpy.typing import NDArray

from airshed.core.atomic import guarded, part_path, publish, sync, write_whole
from airshed.core.errors import OutputError
from airshed.grid.box import Box
from airshed.io.archive import load_array, load_arrays, load_metadata, load_rows, reading, save_arrays
from airshed.io.channel import Channel, create_together
from airshed.io.hdf5 import hdf5
from airshed.io.libraries import Variable
from airshed.io.strategies.in_place import mpi_guarded
from airshed.io.strategies.library import open_parallel
from airshed.io.strategies.store import BlockTransfer

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Shapes:
    """Shapes of the tiled arrays of a restart.

    boxes  cells of each part
    types  type of each array, such as "<f8"
    tails  the shape of each array behind the divided axes
    """

    boxes: tuple[Box, ...]
    types: Mapping[str, str]
    tails: Mapping[str, tuple[int, ...]]

    def shape(self, number: int, name: str) -> tuple[int, ...]:
        """Return the shape of a part of an array."""
        return (*self.boxes[number].shape, *self.tails[name])

    def values(self, number: int, name: str) -> int:
        """Return the number of values in a part of an array."""
        return int(prod(self.shape(number, name)))

    def bytes(self, number: int, name: str) -> int:
        """Return the size of a part of an array."""
        return self.values(number, name) * np.dtype(self.types[name]).itemsize


# Formats of the parts: functions that write the part of this rank, and that read a part of an array. Writing ends alike
# on all ranks, with everything on the disk; reading raises OutputError or OSError on failure.


def _archive_of(folder: Path, number: int) -> Path:
    return folder / f"part-{number:05d}.npz"


def _write_archive(folder: Path, channel: Channel, shapes: Shapes, arrays: Arrays) -> None:
    """Write a NumPy archive of this rank."""
    with channel.together(), write_whole(_archive_of(folder, channel.rank)) as part:
        save_arrays(part, arrays, {})


def _read_archive(folder: Path, shapes: Shapes, number: int, name: str) -> NDArray[Any]:
    return load_array(_archive_of(folder, number), name)


_BINARY: Final = "tiles.bin"


def _write_collectively(folder: Path, channel: Channel, shapes: Shapes, arrays: Arrays) -> None:
    """Write one binary file, part after part and array after array, by collective MPI-IO."""
    path, at = folder / _BINARY, _offset(shapes, channel.rank)
    content = [np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in arrays.values()]
    part = np.concatenate(content) if content else np.empty(0, np.uint8)
    if channel.handle is None:
        with guarded(path):
            path.write_bytes(part.data)
            sync(path)
        return
    from mpi4py import MPI

    channel.barrier()  # ranks wait here, as the library's own calls poll
    with channel.together(), mpi_guarded(path):
        file = MPI.File.Open(channel.handle, os.fspath(path), MPI.MODE_WRONLY | MPI.MODE_CREATE)
        try:
            file.Write_at_all(at, part)
            file.Sync()
        finally:
            file.Close()


def _read_binary(folder: Path, shapes: Shapes, number: int, name: str) -> NDArray[Any]:
    names = list(shapes.types)
    before = sum(shapes.bytes(number, each) for each in names[: names.index(name)])
    with (folder / _BINARY).open("rb") as file:
        file.seek(_offset(shapes, number) + before)
        content = file.read(shapes.bytes(number, name))
    if len(content) < shapes.bytes(number, name):
        raise OSError("it ends too early")
    return np.frombuffer(content, shapes.types[name]).reshape(shapes.shape(number, name))


def _offset(shapes: Shapes, number: int) -> int:
    return sum(shapes.bytes(part, name) for part in range(number) for name in shapes.types)


def _write_zarr(folder: Path, channel: Channel, shapes: Shapes, arrays: Arrays) -> None:
    """Write a Zarr group of this rank, its arrays uncompressed with a checksum."""
    import zarr

    with channel.together(), guarded(folder):
        path = folder / f"part-{channel.rank:05d}.zarr"
        group = zarr.create_group(path, zarr_format=3)
        for name, values in arrays.items():
            group.create_array(name, data=np.ascontiguousarray(values), chunks=values.shape, compressors=None)
        written: Sequence[Path] = [each for each in path.rglob("*") if each.is_file()]
        for each in written:
            sync(each)


def _read_zarr(folder: Path, shapes: Shapes, number: int, name: str) -> NDArray[Any]:
    import zarr

    return np.asarray(zarr.open_array(folder / f"part-{number:05d}.zarr" / name, mode="r", zarr_format=3)[...])


_LIBRARY_TILES: Final = "tiles.nc"


def _write_by_library(library: str, folder: Path, channel: Channel, shapes: Shapes, arrays: Arrays) -> None:
    """Write one file, part after part, by a parallel library."""
    with channel.together(), guarded(folder / _LIBRARY_TILES):
        file = open_parallel(library, folder / _LIBRARY_TILES, channel)
        ends = {name: [shapes.values(part, name) for part in range(len(shapes.boxes))] for name in arrays}
        dims = {f"values_{number}": sum(counts) for number, counts in enumerate(ends.values())}
        wanted = {name: Variable((dim,), shapes.types[name]) for name, dim in zip(arrays, dims, strict=True)}
        file.define(dims, wanted, {})
        for name, array in arrays.items():
            start = sum(ends[name][: channel.rank])
            file.write(name, (start,), (array.size,), np.ascontiguousarray(array).reshape(-1))
        file.close()


def _read_netcdf(folder: Path, shapes: Shapes, number: int, name: str) -> NDArray[Any]:
    start = sum(shapes.values(part, name) for part in range(number))
    with hdf5(), netCDF4.Dataset(folder / _LIBRARY_TILES) as file:
        file.set_auto_maskandscale(False)
        values = np.asarray(file[name][start : start + shapes.values(number, name)])
    return values.astype(shapes.types[name], copy=False).reshape(shapes.shape(number, name))


GATHER: Final = "gather"
_ARCHIVE: Final = ".npz"
_PARTS: Final = ".parts"
FORMATS: Final[Mapping[str, tuple[Callable[..., None], Callable[..., NDArray[Any]]]]] = {
    "files": (_write_archive, _read_archive),
    "mpiio": (_write_collectively, _read_binary),
    "pnetcdf": (partial(_write_by_library, "pnetcdf"), _read_netcdf),
    "netcdf4": (partial(_write_by_library, "netcdf4"), _read_netcdf),
    "zarr": (_write_zarr, _read_zarr),
}
_TILES: Final = "tiles"
_SHARED: Final = "shared.npz"


def state_store(name: str, folder: Path, channel: Channel, held: Box) -> "GatheredStates | PartStates":
    """Return the store of restarts of a strategy; ``held`` are this rank's cells along the first axes of tiled
    arrays.
    """
    boxes = tuple(channel.gather_all(held))
    return GatheredStates(folder, channel, boxes) if name == GATHER else PartStates(name, folder, channel, boxes)


def find_states(folder: Path) -> list[Path]:
    """Return the restarts in a folder, the newest last; files without a time as name are ignored."""
    found = []
    for suffix in (_ARCHIVE, _PARTS):
        for path in folder.glob(f"[!.]*{suffix}"):
            with suppress(ValueError):
                found.append((float(path.name.removesuffix(suffix)), path.name, path))
    return [path for _, _, path in sorted(found)]


def open_state(path: Path) -> "GatheredParts | FolderParts":
    """Return a restart to read from; raise OutputError if it is damaged."""
    with reading(path):
        return GatheredParts(path) if path.suffix == _ARCHIVE else FolderParts(path)


def remove_state(path: Path) -> None:
    """Remove a restart."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


class GatheredStates:
    """Restarts that the root of the ranks writes. Every rank makes the same calls in the same order."""

    def __init__(self, folder: Path, channel: Channel, held: tuple[Box, ...]) -> None:
        self._folder, self._channel = folder, channel
        last = zip(*([last for _, last in box.ends] for box in held), strict=True)
        self._whole = Box.whole(*map(max, last))
        self._gather = BlockTransfer(channel, held, [(0, self._whole)], leading=True)

    def hand_over(
        self, seconds: float, tiled: Arrays, whole: Arrays, metadata: Mapping[str, Any]
    ) -> Callable[[], None] | None:
        """Hand the state of a single rank to the system; return a function that syncs and renames the file.

        This needs no copy of the state, which may change as soon as the call returns. None if there are other ranks.
        """
        if self._channel.size > 1:
            return None
        path = self._folder / f"{seconds!r}{_ARCHIVE}"
        part = part_path(path)
        with guarded(path, part):
            save_arrays(part, {**tiled, **whole}, {**metadata, **self._tiles(tiled)})

        def publish_file() -> None:
            with guarded(path, part):
                publish(part, path)

        return publish_file

    def write(self, seconds: float, tiled: Arrays, whole: Arrays, metadata: Mapping[str, Any]) -> None:
        """Collect the state on the root and write it, complete or not at all; see ``io.restart.RestartStore.save``."""
        gathered = self._gather.move(tiled)
        with self._channel.together():
            for arrays in gathered:
                with write_whole(self._folder / f"{seconds!r}{_ARCHIVE}") as part:
                    save_arrays(part, {**arrays, **whole}, {**metadata, **self._tiles(arrays)})

    def _tiles(self, arrays: Arrays) -> dict[str, Any]:
        return {_TILES: {"names": list(arrays), "boxes": [self._whole.numbers]}} if arrays else {}


class PartStates:
    """Restarts of which each rank writes its own part, in a folder that is renamed once all parts are complete."""

    def __init__(self, name: str, folder: Path, channel: Channel, held: tuple[Box, ...]) -> None:
        self._name, self._folder, self._channel, self._held = name, folder, channel, held

    def write(self, seconds: float, tiled: Arrays, whole: Arrays, metadata: Mapping[str, Any]) -> None:
        """Write this rank's part of the state; the restart is complete or absent."""
        path = self._folder / f"{seconds!r}{_PARTS}"
        divided = len(self._held[0].ends)
        shapes = Shapes(
            self._held,
            {name: array.dtype.str for name, array in tiled.items()},
            {name: array.shape[divided:] for name, array in tiled.items()},
        )
        with create_together(self._channel, path) as made:
            write, _ = FORMATS[self._name]
            write(made, self._channel, shapes, tiled)
            sums = self._channel.gather_all([_checksum(array) for array in tiled.values()])
            tiles = {
                "format": self._name,
                "types": dict(shapes.types),
                "tails": {name: list(tail) for name, tail in shapes.tails.items()},
                "boxes": [box.numbers for box in self._held],
                "checksums": sums,
            }
            with self._channel.together(), guarded(path):
                if self._channel.is_root:
                    with write_whole(made / _SHARED) as part:
                        save_arrays(part, whole, {**metadata, _TILES: tiles})


class GatheredParts:
    """Restart of one part, in one archive with the shared content.

    tiled  names of the tiled arrays
    boxes  cells of each part

    All reading raises OutputError for damage.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        tiles = load_metadata(path).get(_TILES, {"names": [], "boxes": []})
        self.tiled = tuple(tiles["names"])
        self.boxes = tuple(Box.of_numbers(*numbers) for numbers in tiles["boxes"])

    def load(self, number: int, name: str) -> NDArray[Any]:
        """Return a part of an array."""
        return load_array(self._path, name)

    def rows(self, number: int, name: str, first: int, last: int) -> NDArray[Any]:
        """Return rows first <= n < last without reading others: any rank needs a few rows of this single part."""
        return load_rows(self._path, name, first, last)

    def shared(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return the arrays that all ranks share, and the metadata."""
        arrays, metadata = load_arrays(self._path, without=self.tiled)
        metadata.pop(_TILES, None)
        return arrays, metadata


class FolderParts:
    """Restart with one part for each rank that wrote it, in a folder; every part has a checksum."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        tiles = load_metadata(folder / _SHARED)[_TILES]
        (_, self._read), self._checksums = FORMATS[tiles["format"]], tiles["checksums"]
        tails = {name: tuple(tail) for name, tail in tiles["tails"].items()}
        self._shapes = Shapes(tuple(Box.of_numbers(*numbers) for numbers in tiles["boxes"]), tiles["types"], tails)
        self.tiled, self.boxes = tuple(tiles["types"]), self._shapes.boxes

    def load(self, number: int, name: str) -> NDArray[Any]:
        """Return a part of an array after verification of its checksum."""
        with reading(self._folder):
            array = self._read(self._folder, self._shapes, number, name)
            if _checksum(array) != self._checksums[number][self.tiled.index(name)]:
                raise OutputError(f"{self._folder} is damaged: part {number} of {name} has another checksum")
            return array

    def rows(self, number: int, name: str, first: int, last: int) -> NDArray[Any]:
        """Return rows first <= n < last of a part."""
        return self.load(number, name)[first:last]

    def shared(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return the arrays that all ranks share, and the metadata."""
        arrays, metadata = load_arrays(self._folder / _SHARED)
        metadata.pop(_TILES)
        return arrays, metadata


def _checksum(array: NDArray[Any]) -> int:
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
