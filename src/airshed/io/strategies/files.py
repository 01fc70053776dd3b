"""The strategy "files": each rank writes private files; a manifest makes one dataset of them.

While the run goes, each rank writes its part of each record as a file of its own. At the end each rank makes one
netCDF-4 file of its parts, and the root, last of all, the manifest that names them and the file of what they share: the
coordinates, times and attributes of the whole. No rank sends another one anything.

A run that was taken up again on another number of ranks has records that are cut in different ways; each cut has its
own files, and the manifest says which records are in which file.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from airshed.core.atomic import guarded, write_whole
from airshed.grid.box import Box
from airshed.io import cf
from airshed.io.archive import load_arrays, load_metadata
from airshed.io.channel import made_together
from airshed.io.strategies.regroup import covers
from airshed.io.strategies.store import (
    NATIVE,
    PRIVATE,
    Block,
    Place,
    check_sequence,
    found_records,
    keep_until,
    lacks,
    record_path,
    save_record,
)

MANIFEST: Final = "manifest.json"
SHARED: Final = "shared.nc"


class PrivateRecords:
    """Records of which each rank writes its own part."""

    kind, dtype = PRIVATE, NATIVE

    def __init__(self, place: Place) -> None:
        self._place, self._channel = place, place.channel

    def resume(self, last: int) -> None:
        """Keep the records up to this one; see :class:`Store`."""
        with self._channel.together():
            if self._channel.is_root:
                keep_until(self._place.records, last)
                self._check()

    def write(self, index: int, seconds: float, block: Block) -> None:
        """Write this rank's part of a record; see :class:`Store`."""
        with self._channel.together():
            save_record(record_path(self._place.records, index, self._place.box), block, seconds)

    def read(self, index: int, box: Box) -> tuple[float, Block]:
        """Return the part of a record that a rank wrote; see :class:`Store`."""
        arrays, metadata = load_arrays(record_path(self._place.records, index, box))
        return metadata["seconds"], arrays

    def where(self, index: int) -> Path:
        """Return the folder of all parts; see :class:`Store`."""
        return self._place.records

    def finish(self, *, complete: bool) -> Path:
        """Make the private netCDF files and the manifest; see :class:`Store`."""
        path = self._place.result.with_name(f"{self._place.result.name}.files")
        with made_together(self._channel, path) as made:
            with self._channel.together():
                if self._channel.is_root:
                    self._check()
            groups = self._groups()
            with self._channel.together():
                for number, (box, records) in enumerate(groups.items()):
                    if number % self._channel.size == self._channel.rank:
                        self._make(made / _file_name(number), box, records, complete=complete)
            with self._channel.together(), guarded(path):
                if self._channel.is_root:
                    self._share(made, groups, complete=complete)
        return path

    def _check(self) -> None:
        records = found_records(self._place.records)
        check_sequence(self._place.records, records)
        for index, parts in records.items():
            if not covers([box for _, box in parts if box is not None], self._place.layout.whole):
                raise lacks(self._place.records, index)

    def _groups(self) -> dict[Box, list[int]]:
        """Return the records of each box; the boxes of this run's ranks come first, by rank.

        Windows without records are left out, unless there are no records at all, as the fields follow from the files.
        """
        groups: dict[Box, list[int]] = {box: [] for box in self._place.boxes}
        for index, parts in found_records(self._place.records).items():
            for _, box in parts:
                if box is not None:
                    groups.setdefault(box, []).append(index)
        return {box: records for box, records in groups.items() if records} or groups

    def _make(self, path: Path, box: Box, records: list[int], *, complete: bool) -> None:
        layout = self._place.layout
        description = layout.describe(complete=complete, box=box)
        with write_whole(path) as part, cf.create(part, description, self._place.compression) as file:
            for number, index in enumerate(records):
                arrays, metadata = load_arrays(record_path(self._place.records, index, box))
                for name, values in layout.clock(metadata["seconds"]).items():
                    file[name][number] = values
                for spec in layout.fields:
                    file[spec.name][number] = arrays[spec.name]

    def _share(self, folder: Path, groups: Mapping[Box, list[int]], *, complete: bool) -> None:
        layout = self._place.layout
        found = found_records(self._place.records)
        times = [load_metadata(record)["seconds"] for [(record, _), *_] in found.values()]
        description = layout.describe(complete=complete)
        shared = cf.Description(
            description.dims,
            tuple(each for each in description.variables if each.dims[0] != "time" or each.name in cf.CLOCK),
            description.attributes,
        )
        with write_whole(folder / SHARED) as part, cf.create(part, shared) as file:
            for name, values in layout.clock(times).items():
                file[name][: len(times)] = values
        files = [
            {"file": _file_name(number), "box": box.ends, "records": records}
            for number, (box, records) in enumerate(groups.items())
        ]
        fields = {spec.name: list(layout.shape(spec, layout.whole)) for spec in layout.fields}
        manifest = {
            "format": 2, "shared": SHARED, "records": len(times), "whole": layout.whole.shape, "fields": fields,
            "files": files,
        }  # fmt: skip
        with write_whole(folder / MANIFEST) as part:
            part.write_text(json.dumps(manifest, indent=1), encoding="utf-8")


def _file_name(number: int) -> str:
    return f"part-{number:05d}.nc"
