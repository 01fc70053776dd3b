"""The strategies "gather" and "files".

    gather  The root collects each record and writes it to one file. Uncompressed, this is a classic file that grows in
            place. A compressed file is netCDF-4, which would be lost if the run were killed while the file grows. So
            each output time becomes a small complete file, numbered by its time. They are merged into the netCDF-4 file
            at the end.
    files   Each rank writes its part of each record to a separate file. At the end each rank merges its parts into one
            netCDF-4 file. The root writes, last of all, the manifest that names them and the file of the shared
            content: coordinates, times and attributes. No messages are sent. A run that was resumed on another number
            of ranks has records with several divisions; each division has its own files.

A resumed run rewrites the records after its restart, bitwise identical.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from airshed.core.atomic import guarded, write_whole
from airshed.grid.box import Box
from airshed.io import cf
from airshed.io.archive import load_arrays, load_metadata
from airshed.io.channel import create_together
from airshed.io.strategies.in_place import InPlaceFile
from airshed.io.strategies.journal import Store
from airshed.io.strategies.store import (
    BY_ROOT,
    PRIVATE,
    Block,
    BlockTransfer,
    OutputTarget,
    check_sequence,
    covers,
    find_records,
    missing_record,
    record_path,
    remove_after,
    save_record,
)

MANIFEST: Final = "manifest.json"
SHARED: Final = "shared.nc"


class PrivateRecords(Store):
    """Records of which each rank writes its own part."""

    kind, _suffix = PRIVATE, ".files"

    def _keep(self, last: int) -> None:
        remove_after(self._place.records, last)
        self._check_parts()

    def _write(self, index: int, seconds: float, block: Block) -> None:
        with self._channel.together():
            save_record(record_path(self._place.records, index, self._place.box), block, seconds)

    def _read(self, index: int, box: Box) -> tuple[float, Block]:
        arrays, metadata = load_arrays(record_path(self._place.records, index, box))
        return metadata["seconds"], arrays

    def _finish(self, path: Path, *, complete: bool) -> None:
        """Write the private netCDF files and the manifest."""
        with create_together(self._channel, path) as made:
            with self._channel.together():
                if self._channel.is_root:
                    self._check_parts()
            groups = self._groups()
            with self._channel.together():
                for number, (box, records) in enumerate(groups.items()):
                    if number % self._channel.size == self._channel.rank:
                        paths = [record_path(self._place.records, index, box) for index in records]
                        _write_netcdf(made / _file_name(number), self._place, paths, complete=complete, box=box)
            with self._channel.together(), guarded(path):
                if self._channel.is_root:
                    self._share(made, groups, complete=complete)

    def _check_parts(self) -> None:
        records = find_records(self._place.records)
        check_sequence(self._place.records, records)
        for index, parts in records.items():
            if not covers([box for _, box in parts if box is not None], self._place.layout.whole):
                raise missing_record(self._place.records, index)

    def _groups(self) -> dict[Box, list[int]]:
        """Return the records of each box; the boxes of this run's ranks come first, by rank.

        Boxes without records are omitted, unless there are no records at all, as the fields are read from the files.
        """
        groups: dict[Box, list[int]] = {box: [] for box in self._place.boxes}
        for index, parts in find_records(self._place.records).items():
            for _, box in parts:
                if box is not None:
                    groups.setdefault(box, []).append(index)
        return {box: records for box, records in groups.items() if records} or groups

    def _share(self, folder: Path, groups: Mapping[Box, list[int]], *, complete: bool) -> None:
        layout = self._place.layout
        found = find_records(self._place.records)
        times = [load_metadata(record)["seconds"] for [(record, _), *_] in found.values()]
        description = layout.describe(complete=complete)
        shared = cf.Description(
            description.dims,
            tuple(each for each in description.variables if each.dims[:1] != ("time",) or each.name in cf.CLOCK),
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


def gather_store(place: OutputTarget) -> Store:
    """Return the store that writes on the root alone, with or without compression."""
    return GatheredFile(place) if place.compression == "none" else GatheredRecords(place)


class GatheredFile(InPlaceFile):
    """Records that the root of the ranks writes to one file in place."""

    def __init__(self, place: OutputTarget) -> None:
        super().__init__(place)
        self._gather = _to_the_root(place)

    def _put(self, index: int, seconds: float, block: Block) -> None:
        records: list[Block] = [block] if self._channel.size == 1 else [*self._gather.move(block)]
        with self._channel.together():
            for record in records:
                self._write_at(self._begin_of(index), self._content(seconds, record))


class GatheredRecords(Store):
    """Records that the root of the ranks writes to one file each, merged into one compressed file at the end."""

    kind = BY_ROOT

    def __init__(self, place: OutputTarget) -> None:
        super().__init__(place)
        self._gather = _to_the_root(place)

    def _keep(self, last: int) -> None:
        remove_after(self._place.records, last)

    def _write(self, index: int, seconds: float, block: Block) -> None:
        records = self._gather.move(block)
        with self._channel.together():
            for record in records:
                save_record(self._where(index), record, seconds)

    def _read(self, index: int, box: Box) -> tuple[float, Block]:
        arrays, metadata = load_arrays(self._where(index))
        return metadata["seconds"], {name: box.of(values) for name, values in arrays.items()}

    def _where(self, index: int) -> Path:
        return record_path(self._place.records, index)

    def _make(self, path: Path, *, complete: bool) -> None:
        records = find_records(self._place.records)
        check_sequence(self._place.records, records)
        _write_netcdf(path, self._place, [record for [(record, _)] in records.values()], complete=complete)


def _write_netcdf(
    path: Path, place: OutputTarget, records: Sequence[Path], *, complete: bool, box: Box | None = None
) -> None:
    """Write a netCDF-4 file of records, or of the parts of records in a box."""
    layout = place.layout
    description = layout.describe(complete=complete, box=box)
    with write_whole(path) as part, cf.create(part, description, place.compression) as file:
        for number, record in enumerate(records):
            arrays, metadata = load_arrays(record)
            for name, values in layout.clock(metadata["seconds"]).items():
                file[name][number] = values
            for spec in layout.fields:
                file[spec.name][number] = arrays[spec.name]


def _to_the_root(place: OutputTarget) -> BlockTransfer:
    return BlockTransfer(place.channel, place.boxes, [(0, place.layout.whole)])
