"""The strategy "gather": the root collects each record and writes it; one netCDF-4 file at the end.

A run may be killed at any moment. Appending to one netCDF-4 file would leave it unreadable then, so each output time
becomes a small whole file of its own, numbered by its time, and the netCDF file is made of them at the end, whole or
not at all. A resumed run writes the records after its restart once more, with the same bits.
"""

from pathlib import Path

from airshed.core.atomic import write_whole
from airshed.io import cf
from airshed.io.archive import load_arrays
from airshed.io.strategies.regroup import Regrouping
from airshed.io.strategies.store import (
    Block,
    Place,
    check_sequence,
    forget_after,
    found_records,
    record_path,
    save_record,
)


class GatheredRecords:
    """Records that the root of the ranks writes."""

    def __init__(self, place: Place) -> None:
        self._place, self._channel = place, place.channel
        self._gather = Regrouping(place.channel, place.windows, [(0, place.layout.whole)])

    def resume(self, last: int) -> None:
        """Keep the records up to this one; see :class:`Store`."""
        with self._channel.together():
            if self._channel.is_root:
                forget_after(self._place.records, last)
                check_sequence(self._place.records, found_records(self._place.records), last)

    def write(self, index: int, seconds: float, block: Block) -> None:
        """Collect a record on the root and write it; see :class:`Store`."""
        records = self._gather.move(block)
        with self._channel.together():
            for record in records:
                save_record(record_path(self._place.records, index), record, seconds)

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
                file["time"][index] = metadata["seconds"]
                for spec in layout.fields:
                    file[spec.name][index] = arrays[spec.name]
