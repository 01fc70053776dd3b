"""Common parts of strategies: records in memory and on disk, and the regrouping of arrays to the boxes that are
written.

The divided axes of each array are cut: the last axes of a field such as (level, lat, lon), the first axes of a state
such as [lat][block][...]. A box that a rank already holds is not moved. All other intersections travel in one message
for each pair of boxes, all arrays together, in memory order.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import prod
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from airshed.core.atomic import guarded, write_whole
from airshed.core.errors import OutputError
from airshed.grid.box import Box
from airshed.io.archive import save_arrays
from airshed.io.cf import Compression, Layout
from airshed.io.channel import Bytes, Channel
from airshed.io.classic import count_in

Arrays = Mapping[str, NDArray[Any]]


class BlockTransfer:
    """Transfer of named arrays between two divisions of a grid.

    sources  box of each rank, by rank
    targets  (rank, box) of each array to assemble
    leading  whether the boxes are along the first axes instead of the last
    """

    def __init__(
        self,
        channel: Channel,
        sources: Sequence[Box],
        targets: Sequence[tuple[int, Box]],
        *,
        leading: bool = False,
    ) -> None:
        self._channel, self._sources, self._leading = channel, sources, leading
        self._targets = targets

    def move(self, arrays: Arrays) -> list[dict[str, NDArray[Any]]]:
        """Return the arrays of this rank's targets, in their order; collective.

        A target that is exactly the box of this rank is returned without a copy.
        """
        rank, held = self._channel.rank, self._sources[self._channel.rank]
        results: list[dict[str, NDArray[Any]]] = []
        sends: list[tuple[int, Bytes]] = []
        arrivals: list[tuple[int, Bytes, Box, dict[str, NDArray[Any]]]] = []
        for owner, target in self._targets:
            part = held.common(target)
            if owner != rank:
                if part is not None:
                    sends.append((owner, self._packed(arrays, part.within(held))))
                continue
            if held == target:
                results.append(dict(arrays))
                continue
            result = {name: self._empty(array, target) for name, array in arrays.items()}
            results.append(result)
            if part is not None:
                for name, array in arrays.items():
                    self._cut(result[name], part.within(target))[...] = self._cut(array, part.within(held))
            arrivals += self._arrivals(arrays, target, result)
        self._channel.exchange(sends, [(source, buffer) for source, buffer, _, _ in arrivals])
        for _, buffer, place, result in arrivals:
            self._unpack(buffer, place, result)
        return results

    def _arrivals(
        self, arrays: Arrays, target: Box, result: dict[str, NDArray[Any]]
    ) -> list[tuple[int, Bytes, Box, dict[str, NDArray[Any]]]]:
        """Return, for each other rank that holds a part of a target, the rank, a buffer, and the part's box and
        array.
        """
        arrivals = []
        for source, box in enumerate(self._sources):
            part = box.common(target)
            if part is not None and source != self._channel.rank:
                place = part.within(target)
                size = sum(self._cut(result[name], place).nbytes for name in arrays)
                arrivals.append((source, np.empty(size, np.uint8), place, result))
        return arrivals

    def _cut(self, array: NDArray[Any], box: Box) -> NDArray[Any]:
        return box.of_leading(array) if self._leading else box.of(array)

    def _empty(self, array: NDArray[Any], box: Box) -> NDArray[Any]:
        if self._leading:
            return np.empty((*box.shape, *array.shape[len(box.shape) :]), array.dtype)
        return np.empty((*box.undivided(array.shape), *box.shape), array.dtype)

    def _packed(self, arrays: Arrays, box: Box) -> Bytes:
        parts = [np.ascontiguousarray(self._cut(array, box)).reshape(-1).view(np.uint8) for array in arrays.values()]
        return np.concatenate(parts) if parts else np.empty(0, np.uint8)

    def _unpack(self, buffer: Bytes, box: Box, result: dict[str, NDArray[Any]]) -> None:
        at = 0
        for array in result.values():
            part = self._cut(array, box)
            part[...] = buffer[at : at + part.nbytes].view(array.dtype).reshape(part.shape)
            at += part.nbytes


def covers(boxes: Sequence[Box], whole: Box) -> bool:
    """Return whether boxes hold each cell of the whole exactly once."""
    if any(box.common(whole) != box for box in boxes):
        return False
    count = np.zeros(whole.shape, np.int64)
    for box in boxes:
        box.within(whole).of(count)[...] += 1
    return bool((count == 1).all())


Block = Mapping[str, NDArray[np.float32]]
"""One record of the fields, with the divided dimensions of a box."""

NATIVE, AS_IN_FILE = "=f4", ">f4"
"""Formats of the numbers of a record in memory: native, or as in a classic netCDF file."""


class Record(dict[str, NDArray[np.float32]]):
    """Block whose arrays are in one contiguous piece of memory, behind space for the record's time and bounds.

    bytes  that piece of memory, with the space
    """

    def __init__(self, shapes: Mapping[str, tuple[int, ...]], dtype: str, times: int = 1) -> None:
        """``times`` is the count of numbers for the time of a record."""
        self._room = 8 * times
        ends = list(accumulate((4 * prod(shape) for shape in shapes.values()), initial=self._room))
        # filled, as the first access to new pages is slow; all bits set are NaN
        self.bytes = np.full(ends[-1], 0xFF, np.uint8)
        super().__init__(
            (name, self.bytes[begin:end].view(dtype).reshape(shape))
            for (name, shape), (begin, end) in zip(shapes.items(), pairwise(ends), strict=True)
        )

    def timed(self, clock: NDArray[np.float64]) -> NDArray[np.uint8]:
        """Return the bytes of the record including its time, as in a classic netCDF file."""
        self.bytes[: self._room].view(">f8")[...] = clock
        return self.bytes

    def untimed(self) -> NDArray[np.uint8]:
        """Return the bytes of the arrays."""
        return self.bytes[self._room :]


RECORD: Final = ".npz"
_UNDIVIDED: Final = "whole"
SHARED_FILE: Final = "records.nc"
"""All records in one file, for strategies that write in place."""
SHARDED: Final = "records.zarr"
"""All records in one store."""
CHOICE_FILE: Final = "strategy"
"""File with the choice of the strategy "auto", next to the records."""

IN_PLACE: Final = "gather without compression, mpiio or pnetcdf"
BY_ROOT, PRIVATE, TOGETHER, SHARDS = "gather with compression", "files", "netcdf4", "zarr"
"""Strategies that can continue each other's records."""


@dataclass(frozen=True)
class OutputTarget:
    """Paths of an output, and the boxes of the ranks.

    result   path of the result without its suffix
    records  folder of the records while the run is unfinished
    boxes    cells of each rank, by rank
    """

    result: Path
    records: Path
    channel: Channel
    layout: Layout
    boxes: tuple[Box, ...]
    compression: Compression

    @property
    def box(self) -> Box:
        """Cells of this rank."""
        return self.boxes[self.channel.rank]


def record_path(folder: Path, index: int, box: Box | None = None) -> Path:
    """Return the path of a record, or of its part in a box."""
    part = "" if box is None else f".{'-'.join(map(str, box.numbers)) or _UNDIVIDED}"
    return folder / f"{index:06d}{part}{RECORD}"


def save_record(path: Path, block: Block, seconds: float) -> None:
    """Write a record, or a part of one, complete or not at all."""
    with write_whole(path) as part:
        save_arrays(part, block, {"seconds": seconds})


def find_records(folder: Path) -> dict[int, list[tuple[Path, Box | None]]]:
    """Return the parts of each record, in time order; the box of a part that is the whole record is None."""
    found: dict[int, list[tuple[Path, Box | None]]] = {}
    for path in sorted(folder.glob(f"[!.]*{RECORD}")):
        number, _, place = path.name.removesuffix(RECORD).partition(".")
        box = Box.of_numbers(*(() if place == _UNDIVIDED else map(int, place.split("-")))) if place else None
        found.setdefault(int(number), []).append((path, box))
    return found


def count_records(folder: Path) -> int:
    """Return the number of records so far, for any strategy."""
    shared = folder / SHARED_FILE
    if shared.exists():
        with shared.open("rb") as file:
            return count_in(file.read(64)) or 0
    return len(find_records(folder)) or len(list(folder.glob("[!.]*.nc")))


def prepare_records(folder: Path, kind: str, last: int) -> None:
    """Prepare the folder for a run that continues after a record, or that starts and removes earlier records.

    Raises OutputError for records of an incompatible strategy; they are not changed.
    """
    found = kind_of(folder)
    if last < 0:
        with guarded(folder):
            for path in folder.iterdir():
                if path.is_dir():
                    shutil.rmtree(path)
                elif path.name != CHOICE_FILE:  # a result linked to a file, as its second name, stays intact
                    path.unlink()
    elif found not in (None, kind):
        raise OutputError(
            f"the records in {folder} are of the strategy {found}, and not of {kind}; resume with the strategy and "
            "compression that the run began with"
        )


def kind_of(folder: Path) -> str | None:
    """Return the kind of strategy that wrote the records in a folder; None without records."""
    if (folder / SHARED_FILE).exists():
        return IN_PLACE
    if (folder / SHARDED).exists():
        return SHARDS
    if any(folder.glob("[!.]*.nc")):
        return TOGETHER
    parts = [box for record in find_records(folder).values() for _, box in record]
    if not parts:
        return None
    return BY_ROOT if None in parts else PRIVATE


def missing_record(folder: Path, index: int) -> OutputError:
    """Return the error for a missing record."""
    return OutputError(f"{folder} lacks the record {index:06d} of this run; restart the run without --resume")


def check_sequence(folder: Path, indices: Any, last: int | None = None) -> None:
    """Raise OutputError for a gap among records, which begin at 0, or before the record ``last``."""
    numbers = list(indices)
    count = len(numbers) if last is None else last + 1
    for expected in range(count):
        if expected >= len(numbers) or numbers[expected] != expected:
            raise missing_record(folder, expected)


def remove_after(folder: Path, last: int) -> None:
    """Remove the records after the one from which a run continues; raise OutputError if an earlier one is missing."""
    found = find_records(folder)
    for index in [index for index in found if index > last]:
        for path, _ in found.pop(index):
            path.unlink()
    check_sequence(folder, found, last)


def link(path: Path, name: Path) -> None:
    """Give a file a second name; a copy, if the file system does not support hard links."""
    try:
        os.link(path, name)
    except OSError:
        shutil.copyfile(path, name)
