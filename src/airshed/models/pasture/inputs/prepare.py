"""Writes inputs to a store, and tells what it is."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from airshed.models.pasture.inputs.contents import Inputs
from airshed.models.pasture.inputs.manifest import check_folder
from airshed.models.pasture.inputs.store import CHUNK_DAYS, Layout, new_store, stored_bytes

_BLOCKS: Final = 6
"""Blocks of days that are made and written at a time: about a year, a shard."""


@dataclass(frozen=True)
class Written:
    """A store that was written: its bytes, and those of its weather before compression."""

    path: Path
    bytes: int
    uncompressed: int


def save(
    inputs: Inputs, path: Path, *, layout: Layout = "land", replace: bool = False,
    progress: Callable[[float], None] = lambda share: None,
) -> Written:  # fmt: skip
    """Write inputs to a store, whole or not at all, a year at a time; `progress` is told the share that is done.

    Raises OutputError for what the system refuses, DataError for weather that cannot be made or stored.
    """
    calendar, cells, step = inputs.calendar, (0, inputs.grid.cells), _BLOCKS * CHUNK_DAYS
    with new_store(path, inputs.contents, layout=layout, replace=replace) as store:
        for first in range(0, calendar.days, step):
            block = inputs.source.block(first, min(step, calendar.days - first), cells)
            for name, values in block.daily.items():
                store.put(name, first, values)
            week = int(calendar.week([first])[0])
            for name, values in block.weekly.items():
                store.put(name, week, values)
            progress(min((first + step) / calendar.days, 1.0))
    files = check_folder(path)["files"]
    size = sum(int(entry["bytes"]) for entry in files.values())
    return Written(path, size, stored_bytes(inputs.grid, calendar, inputs.source.names, layout))
