"""The strategy "gather": the root collects each record and writes it to one file.

Uncompressed, that is a classic file that grows in place. A compressed one is netCDF-4, and one that is appended
to when a run is killed is lost: each output time becomes a small whole file of its own, numbered by its time, and the
netCDF-4 file is made of them at the end, whole or not at all. A resumed run writes the records after its restart once
more, with the same bits.
"""

from pathlib import Path

from airshed.core.atomic import write_whole
from airshed.grid.box import Box
from airshed.io import cf
from airshed.io.archive import load_arrays
from airshed.io.strategies.in_place import FileInPlace
from airshed.io.strategies.regroup import Regrouping
from airshed.io.strategies.store import (
    BY_ROOT,
    NATIVE,
    Block,
    Place,
    Store,
    check_sequence,
    found_records,
    keep_until,
    record_path,
    save_record,
)


def gathered(place: Place) -> Store:
    """Return what writes on the root alone, as the compression asks for."""
    return GatheredFile(place) if place.compression == "none" else GatheredRecords(place)


class GatheredFile(FileInPlace):
    """Records that the root of the ranks writes to one file in place."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._gather = _to_the_root(place)

    def _put(self, index: int, seconds: float, block: Block) -> None:
        records: list[Block] = [block] if self._channel.size == 1 else [*self._gather.move(block)]
        with self._channel.together():
            for record in records:
                self._write_at(self._begin_of(index), self._content(seconds, record))


class GatheredRecords:
    """Records that the root of the ranks writes to a file each, and one compressed file of them at the end."""

    kind, dtype = BY_ROOT, NATIVE

    def __init__(self, place: Place) -> None:
        self._place, self._channel = place, place.channel
        self._gather = _to_the_root(place)

    def resume(self, last: int) -> None:
        """Keep the records up to this one; see :class:`Store`."""
        with self._channel.together():
            if self._channel.is_root:
                keep_until(self._place.records, last)

    def write(self, index: int, seconds: float, block: Block) -> None:
        """Collect a record on the root and write it; see :class:`Store`."""
        records = self._gather.move(block)
        with self._channel.together():
            for record in records:
                save_record(record_path(self._place.records, index), record, seconds)

    def read(self, index: int, box: Box) -> tuple[float, Block]:
        """Return a part of a record; see :class:`Store`."""
        arrays, metadata = load_arrays(self.where(index))
        return metadata["seconds"], {name: box.of(values) for name, values in arrays.items()}

    def where(self, index: int) -> Path:
        """Return the file of a record; see :class:`Store`."""
        return record_path(self._place.records, index)

    def finish(self, *, complete: bool) -> Path:
        """Make the netCDF file; see :class:`Store`."""
        path = self._place.result.with_name(f"{self._place.result.name}.nc")
        with self._channel.together():
            if self._channel.is_root:
                self._make(path, complete=complete)
        return path

    def _make(self, path: Path, *, complete: bool) -> None:
        records = found_records(self._place.records)
        check_sequence(self._place.records, records)
        layout = self._place.layout
        with (
            write_whole(path) as part,
            cf.create(part, layout.describe(complete=complete), self._place.compression) as file,
        ):
            for index, [(record, _)] in records.items():
                arrays, metadata = load_arrays(record)
                for name, values in layout.clock(metadata["seconds"]).items():
                    file[name][index] = values
                for spec in layout.fields:
                    file[spec.name][index] = arrays[spec.name]


def _to_the_root(place: Place) -> Regrouping:
    return Regrouping(place.channel, place.boxes, [(0, place.layout.whole)])
