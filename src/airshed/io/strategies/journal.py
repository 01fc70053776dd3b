"""Checksums of records in a separate journal: a resumed run verifies each record that it continues.

The journal has a line for each record: its time, and the CRC-32 of the part that each rank submitted, as in memory. A
line reaches the disk before its record counts, so that every counted record has a line, whenever a run is killed. A
line without a record, or a truncated line, belongs to a record that is written once more.
"""

import json
import os
import zlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import numpy as np

from airshed.core.atomic import guarded, write_whole
from airshed.core.errors import OutputError
from airshed.core.text import duration
from airshed.grid.box import Box
from airshed.io.archive import reading
from airshed.io.strategies.store import NATIVE, Block, OutputTarget, Record, covers

JOURNAL: Final = "checksums"
_RESTART: Final = "restart the run without --resume"


@dataclass(frozen=True)
class Entry:
    """Line of the journal: time [s] of a record, the byte order of its numbers, the checksum of each part."""

    record: int
    seconds: float
    order: str
    parts: tuple[tuple[Box, int], ...]

    def line(self) -> str:
        """Return the line of the journal, which ends in its own checksum."""
        parts = [[*box.numbers, checksum] for box, checksum in self.parts]
        text = json.dumps([self.record, self.seconds, self.order, parts], separators=(",", ":"))
        return f"{text} {zlib.crc32(text.encode()):08x}\n"

    @classmethod
    def of(cls, line: str) -> Self | None:
        """Return the entry of a line; None for a truncated or damaged one."""
        text, _, checksum = line.rpartition(" ")
        if checksum != f"{zlib.crc32(text.encode()):08x}":
            return None
        record, seconds, order, parts = json.loads(text)
        return cls(record, seconds, order, tuple((Box.of_numbers(*ends), checksum) for *ends, checksum in parts))


class Store(ABC):
    """Records of one output, and their checksums; a strategy implements the writing.

    Every rank makes the same calls in the same order; all end alike on all ranks.

    kind   strategies of the same kind can continue its records: IN_PLACE, BY_ROOT ...
    dtype  preferred format of the numbers in the blocks to write
    """

    kind: str
    dtype = NATIVE
    _suffix = ".nc"

    def __init__(self, place: OutputTarget) -> None:
        self._place, self._channel = place, place.channel
        self._path = place.records
        self._journal = place.records / JOURNAL
        self._order = np.dtype(self.dtype).str[0]  # "<" or ">", also for native order

    def resume(self, last: int) -> None:
        """Retain the records up to this one, each verified by some rank, and discard later ones.

        Raises OutputError for a record that is missing or has changed.
        """
        self._begin(last)
        entries = self._channel.on_root(lambda: self._kept(last))
        with self._channel.together():
            for entry in entries[self._channel.rank :: self._channel.size]:
                self._check(entry)

    def write(self, index: int, seconds: float, block: Block) -> None:
        """Write this rank's part of a record to disk, on the writer thread; it counts once all parts are written."""
        checksums = self._gathered(_checksum(block))
        with self._channel.together(), guarded(self._journal):
            if self._channel.is_root:
                parts = tuple(zip(self._place.boxes, checksums, strict=True))
                with self._journal.open("a", encoding="utf-8") as file:
                    file.write(Entry(index, seconds, self._order, parts).line())
                    file.flush()
                    os.fsync(file.fileno())
        self._write(index, seconds, block)

    def finish(self, *, complete: bool) -> Path:
        """Assemble the result from the records so far, complete or not at all, and return its path; the run may
        continue.
        """
        path = self._place.result.with_name(f"{self._place.result.name}{self._suffix}")
        self._finish(path, complete=complete)
        return path

    def _begin(self, last: int) -> None:
        with self._channel.together(), guarded(self._path):
            if self._channel.is_root:
                self._keep(last)

    def _finish(self, path: Path, *, complete: bool) -> None:
        with self._channel.together(), guarded(path):
            if self._channel.is_root:
                self._make(path, complete=complete)

    @abstractmethod
    def _keep(self, last: int) -> None:
        """Retain the records up to this one and discard later ones, on the root."""

    @abstractmethod
    def _write(self, index: int, seconds: float, block: Block) -> None:
        """Write this rank's part of a record to disk; collective."""

    @abstractmethod
    def _read(self, index: int, box: Box) -> tuple[float, Block]:
        """Return the time [s] of a record, and its part in a box that a rank wrote.

        Raises OutputError, or any error of a reader, if it is damaged.
        """

    def _where(self, index: int) -> Path:
        """Return the file or folder that holds a record."""
        return self._path

    def _make(self, path: Path, *, complete: bool) -> None:
        """Assemble the result, on the root."""
        raise NotImplementedError

    def _gathered(self, checksum: int) -> list[int]:
        """Gather the checksums of all ranks, by rank, on the root."""
        mine = np.array([checksum], np.uint32)
        if not self._channel.is_root:
            self._channel.exchange([(0, mine.view(np.uint8))], [])
            return []
        found = [mine, *(np.zeros(1, np.uint32) for _ in range(1, self._channel.size))]
        self._channel.exchange([], [(rank, each.view(np.uint8)) for rank, each in enumerate(found) if rank])
        return [int(each[0]) for each in found]

    def _kept(self, last: int) -> list[Entry]:
        """Return the entries up to a record, and discard the rest; raise OutputError if one is missing."""
        found: dict[int, Entry] = {}
        if last >= 0 and self._journal.exists():
            with guarded(self._journal):
                lines = self._journal.read_bytes().decode("utf-8", "replace").splitlines()
            entries = [Entry.of(line) for line in lines]
            found = {entry.record: entry for entry in entries if entry is not None}  # the newest of each
        for index in range(last + 1):
            if index not in found or not covers([box for box, _ in found[index].parts], self._place.layout.whole):
                raise OutputError(f"{self._journal} is damaged: it lacks the record {index:06d}; {_RESTART}")
        kept = [found[index] for index in range(last + 1)]
        with write_whole(self._journal) as part:
            part.write_text("".join(entry.line() for entry in kept), encoding="utf-8")
        return kept

    def _check(self, entry: Entry) -> None:
        """Raise OutputError if a record does not match its checksums."""
        where, names = self._where(entry.record), [spec.name for spec in self._place.layout.fields]
        try:
            with reading(where):
                for box, checksum in entry.parts:
                    seconds, values = self._read(entry.record, box)
                    block = {name: values[name].astype(f"{entry.order}f4", copy=False) for name in names}
                    if seconds != entry.seconds or _checksum(block) != checksum:
                        raise OutputError(
                            f"{where} is damaged: the record {entry.record:06d} at {duration(entry.seconds)} differs "
                            "from the written record"
                        )
        except OutputError as error:
            raise OutputError(f"{error}; {_RESTART}") from error


def _checksum(block: Block) -> int:
    """Return the CRC-32 of the bytes of a block, field after field."""
    if isinstance(block, Record):
        return zlib.crc32(block.untimed().data)
    checksum = 0
    for values in block.values():
        checksum = zlib.crc32(np.ascontiguousarray(values).view(np.uint8).reshape(-1).data, checksum)
    return checksum
