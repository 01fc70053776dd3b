"""The strategy "zarr": a sharded Zarr store; each rank writes shards, one for each field, record and box of cells.

Zarr divides an array evenly, and ranks do not always share a grid evenly. The shards are then as large as the largest
tile; each belongs to the rank that holds most of it, which receives the rest. Shards are separate files, so that no two
ranks write to the same one. A small file for each record marks it as complete once all its shards are on the disk. A
killed run leaves complete records, and a resumed one overwrites later data.
"""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from airshed.core.atomic import guarded, sync, write_whole
from airshed.core.errors import OutputError
from airshed.grid.box import Box
from airshed.io.archive import load_metadata
from airshed.io.cf import CLOCK, TIME, Compression, Description, Variable
from airshed.io.strategies.journal import Store
from airshed.io.strategies.store import (
    SHARDED,
    SHARDS,
    Block,
    BlockTransfer,
    OutputTarget,
    check_sequence,
    find_records,
    link,
    record_path,
    remove_after,
    save_record,
)

_METADATA: Final = "zarr.json"
# a chunk of zeros may hold negative zeros; its file is synced, and would be missed
_CONFIG: Final = {"write_empty_chunks": True}
_SYNCING: Final = 4
_CHUNK_BYTES: Final = 128 * 1024
"""Bytes of a chunk: each costs the writer's thread some 0.2 ms, during which the computation waits for Python's
lock.
"""
_ENDLESS: Final = 2**31 - 1
"""Length of the arrays in time during the run; the true length is set at the end."""


class Shards(Store):
    """Records in a Zarr store."""

    kind, _suffix = SHARDS, ".zarr"

    def __init__(self, place: OutputTarget) -> None:
        super().__init__(place)
        self._path = place.records / SHARDED
        self._arrays: dict[str, Any] = {}
        self._set_cut(tuple(map(max, zip(*(box.shape for box in place.boxes), strict=True))))

    def _begin(self, last: int) -> None:
        super()._begin(last)
        self._set_cut(self._channel.on_root(self._stored_cut))

    def _keep(self, last: int) -> None:
        remove_after(self._place.records, last)
        if last < 0:
            shutil.rmtree(self._path, ignore_errors=True)
            self._create(self._path)
        else:
            self._describe_again()
        for spec in self._place.layout.fields:
            _remove_behind(self._path / spec.name / "c", last + 1)

    def _write(self, index: int, seconds: float, block: Block) -> None:
        shards = self._regrouping.move(block)
        with self._channel.together(), guarded(self._path):
            written = []
            for box, shard in zip(self._mine, shards, strict=True):
                for name, values in shard.items():
                    self._array(name)[(index, ..., *box.slices)] = values
                    written.append(self._shard(name, index, box))
            with ThreadPoolExecutor(_SYNCING) as threads:  # a file system can sync several files together
                list(threads.map(sync, written))
        with self._channel.together():
            if self._channel.is_root:
                save_record(record_path(self._place.records, index), {}, seconds)

    def _read(self, index: int, box: Box) -> tuple[float, Block]:
        seconds = load_metadata(record_path(self._place.records, index))["seconds"]
        names = [spec.name for spec in self._place.layout.fields]
        for shard in (self._shard(name, index, target) for name in names for _, target in self._targets):
            if not shard.exists():  # it would be read as zeros
                raise OutputError(f"{shard} is missing")
        return seconds, {name: self._array(name)[(index, ..., *box.slices)] for name in names}

    def _make(self, path: Path, *, complete: bool) -> None:
        """Set the length of the store and give it its final name."""
        records = find_records(self._place.records)
        check_sequence(self._place.records, records)
        times = [load_metadata(found)["seconds"] for [(found, _)] in records.values()]
        made = path.with_name(f".{path.name}.part")
        shutil.rmtree(made, ignore_errors=True)
        # shards stay in the folder of records too, as the run may continue, or be killed before it is marked as ended
        shutil.copytree(self._path, made, copy_function=_linked if complete else shutil.copy2)
        layout = self._place.layout
        _end(made, layout.describe(complete=complete), layout.clock(times))
        try:
            check_shards(made)
        except FileNotFoundError as error:
            raise OutputError(f"{self._path} is damaged ({error}); restart the run without --resume") from error
        shutil.rmtree(path, ignore_errors=True)
        os.replace(made, path)
        sync(path.parent)

    def _describe_again(self) -> None:
        """Rewrite the metadata except those of shards, which have no checksums."""
        self._set_cut(self._stored_cut())
        made = self._place.records / f".{SHARDED}.part"
        shutil.rmtree(made, ignore_errors=True)
        self._create(made)
        for path in made.rglob(_METADATA):
            with write_whole(self._path / path.relative_to(made)) as part:
                shutil.copyfile(path, part)
        shutil.rmtree(made)

    def _create(self, path: Path) -> None:
        import zarr

        description = self._place.layout.describe(complete=False)
        group = zarr.create_group(path, zarr_format=3)
        for variable in description.variables:
            if variable.data is None and variable.name not in CLOCK:
                _add(group, variable, description.shape(variable), self._cut, self._place.compression)

    def _stored_cut(self) -> tuple[int, ...]:
        """Return the shape of a shard; a run on another number of ranks retains that of the store."""
        path = self._path / self._place.layout.fields[0].name / _METADATA
        try:
            stored = _read(path)["chunk_grid"]["configuration"]["chunk_shape"]
            cut = tuple(int(size) for size in stored[len(stored) - len(self._place.layout.whole.ends) :])
            if min(cut, default=1) < 1:
                raise ValueError(f"a shard has {' x '.join(map(str, cut))} cells")
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise OutputError(f"{path} is damaged ({error}); restart the run without --resume") from error
        return cut

    def _set_cut(self, cut: tuple[int, ...]) -> None:
        """Divide the whole into shards of so many cells, each for the rank that holds most of it."""
        self._cut, sizes = cut, self._place.layout.whole.shape
        ends = [[(n, min(n + step, size)) for n in range(0, size, step)] for size, step in zip(sizes, cut, strict=True)]
        shards = [Box(each) for each in product(*ends)]
        targets = [(_owner(shard, self._place.boxes), shard) for shard in shards]
        self._targets = targets
        self._mine = [shard for rank, shard in targets if rank == self._channel.rank]
        self._regrouping = BlockTransfer(self._channel, self._place.boxes, targets)

    def _array(self, name: str) -> Any:
        if name not in self._arrays:
            import zarr

            array: Any = zarr.open_array(self._path / name, mode="r+", zarr_format=3)
            self._arrays[name] = array.with_config(_CONFIG)
        return self._arrays[name]

    def _shard(self, name: str, index: int, box: Box) -> Path:
        levels = ["0"] * (self._array(name).ndim - 1 - len(self._cut))
        place = [*levels, *(str(first // step) for first, step in zip(box.first, self._cut, strict=True))]
        return self._path.joinpath(name, "c", str(index), *place)


def _linked(source: str, target: str) -> None:
    """Give a shard a second name; metadata are copied, since those of the result have a different end."""
    if Path(source).name == _METADATA:
        shutil.copyfile(source, target)
    else:
        link(Path(source), Path(target))


def _owner(shard: Box, boxes: Sequence[Box]) -> int:
    shared = [shard.common(box) for box in boxes]
    cells = [0 if each is None else each.cells for each in shared]
    return cells.index(max(cells))


def _add(group: Any, variable: Variable, shape: tuple[int, ...], cut: tuple[int, ...], compression: Compression) -> Any:
    """Add an array whose shards are a record, all levels and a box of cells, and whose chunks are some levels."""
    undivided = shape[: len(shape) - len(cut)]
    return group.create_array(
        variable.name,
        shape=(_ENDLESS, *shape),
        dtype=np.float32,
        shards=(1, *undivided, *cut),
        chunks=(1, *(_together(levels, cut) for levels in undivided), *cut),
        compressors="auto" if compression == "zlib" else None,
        dimension_names=variable.dims,
        attributes=dict(variable.attributes),
        config=_CONFIG,
    )


def _together(levels: int, cut: tuple[int, ...]) -> int:
    """Return the number of levels in a chunk: a divisor of all levels within the size limit."""
    most = max(_CHUNK_BYTES // (4 * prod(cut)), 1)
    return max(count for count in range(1, min(levels, most) + 1) if levels % count == 0)


def _end(path: Path, description: Description, clock: Mapping[str, NDArray[np.float64]]) -> None:
    """Write the final content: coordinates, times, attributes, and the number of records in each array."""
    import zarr

    group = zarr.open_group(path, mode="r+")
    group.attrs.put(dict(description.attributes))
    arrays, count = {}, len(clock[TIME])
    for variable in description.variables:
        metadata = path / variable.name / _METADATA
        values = clock.get(variable.name, variable.data)
        if values is not None:
            _set(group, variable, values)
        else:
            content = _read(metadata)
            content["shape"][0] = count
            metadata.write_text(json.dumps(content, indent=1), encoding="utf-8")
            _remove_behind(path / variable.name / "c", count)
        arrays[variable.name] = _read(metadata)
    consolidated = {"kind": "inline", "must_understand": False, "metadata": arrays}
    content = {**_read(path / _METADATA), "consolidated_metadata": consolidated}
    (path / _METADATA).write_text(json.dumps(content, indent=1), encoding="utf-8")


def variables_of(path: Path) -> list[str]:
    """Return the variables of a store except the coordinates, in order; raise OSError, ValueError or KeyError."""
    arrays = _read(path / _METADATA)["consolidated_metadata"]["metadata"]
    # Zarr omits the names of no dimensions: a grid mapping is a scalar.
    return [name for name, array in arrays.items() if array.get("dimension_names") != [name]]


def check_shards(path: Path) -> None:
    """Raise FileNotFoundError for a missing shard: a reader of the store would treat it as missing values."""
    for name, array in _read(path / _METADATA)["consolidated_metadata"]["metadata"].items():
        shard = array["chunk_grid"]["configuration"]["chunk_shape"]
        counts = [range(-(-size // length)) for size, length in zip(array["shape"], shard, strict=True)]
        for place in product(*counts):
            file = path.joinpath(name, "c", *map(str, place))
            if not file.exists():
                raise FileNotFoundError(f"{file.relative_to(path)} is missing")


def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def _set(group: Any, variable: Variable, values: NDArray[np.float64]) -> None:
    array = group.create_array(
        variable.name, shape=values.shape, dtype=np.float64, chunks=tuple(max(size, 1) for size in values.shape),
        compressors=None, dimension_names=variable.dims, attributes=dict(variable.attributes), overwrite=True,
        config=_CONFIG,
    )  # fmt: skip
    array[...] = values


def _remove_behind(shards: Path, count: int) -> None:
    """Remove data of a killed run beyond its complete records."""
    for path in shards.iterdir() if shards.is_dir() else ():
        if int(path.name) >= count:
            shutil.rmtree(path)
