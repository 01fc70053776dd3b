"""Strategies by name: their syntax in a case, their availability, and the selection of the fastest ("auto").

The probe of "auto" writes into a separate folder: records of the output itself, with enough fields for a few megabytes,
and their result; or small restarts. The time of the slowest rank counts. The choice is recorded in a file there, so
that a resumed run uses it again. Existing records limit the choice to strategies that can continue them.
"""

import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from pathlib import Path
from typing import Final, Self

import numpy as np

from airshed.core.atomic import guarded, write_whole
from airshed.core.errors import OutputError
from airshed.core.fields import FieldSpec
from airshed.core.text import suggestion
from airshed.grid.box import Box
from airshed.io.channel import Channel
from airshed.io.libraries import FILES
from airshed.io.strategies.journal import Store
from airshed.io.strategies.states import GatheredStates, PartStates
from airshed.io.strategies.store import CHOICE_FILE, OutputTarget

STRATEGIES: Final = ("gather", "files", "mpiio", "pnetcdf", "netcdf4", "zarr")
AUTO: Final = "auto"
COMPRESSING: Final = ("gather", "files", "zarr")
"""Strategies that can compress: ranks that write one file together must know the offset of each part in advance."""

_MODES: Final = {"sync": False, "async": True}


@dataclass(frozen=True)
class Strategy:
    """Strategy of writing files, and whether it runs in the background (asynchronous)."""

    name: str
    asynchronous: bool

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the strategy of a text: "NAME" or "NAME:sync", "NAME:async"; raise OutputError for others."""
        name, colon, mode = text.partition(":")
        if name not in (*STRATEGIES, AUTO):
            raise OutputError(f"there is no strategy {name!r}; {suggestion(name, (*STRATEGIES, AUTO))}")
        if colon and mode not in _MODES:
            raise OutputError(f'strategy {text!r}: after the colon comes "sync" or "async", not {mode!r}')
        return cls(name, _MODES[mode] if colon else False)

    def __str__(self) -> str:
        return f"{self.name}:{'async' if self.asynchronous else 'sync'}"


def check_there(strategy: Strategy) -> None:
    """Raise OutputError, which names the package to install, if this machine lacks a library for a strategy."""
    reason = missing(strategy.name)
    if reason is not None:
        raise OutputError(f'strategy "{strategy.name}" is not available: {reason}')


def missing(name: str) -> str | None:
    """Return why a strategy cannot be used on this machine and the package to install; None if it can."""
    return FILES[name].library.unavailable_reason() if name in FILES else None


_PROBE: Final = 4 * 1024 * 1024
_RECORDS: Final = 2


def choose(
    channel: Channel, folder: Path, names: Iterable[str], probe: Callable[[str, Path], None]
) -> tuple[str, dict[str, float]]:
    """Return the fastest available strategy of the named ones, and the time [s] of a probe by each; all ranks alike.

    names   candidates; a single one is not measured
    folder  folder of the recorded choice; a resumed run uses it again, without a measurement
    probe   writes a sample by a strategy into an empty folder, on all ranks
    """
    taken = folder / CHOICE_FILE
    known = channel.on_root(lambda: taken.read_text(encoding="utf-8") if taken.exists() else None)
    possible = [name for name in STRATEGIES if name in names]
    if known in possible:
        return known, {}
    available = channel.broadcast([name for name in possible if missing(name) is None]) or possible[:1]
    if len(available) == 1:
        return available[0], {}
    measured = {name: _measured(channel, folder / ".probe.part", partial(probe, name)) for name in available}
    fastest = min(available, key=lambda name: measured[name])

    def note() -> None:
        with write_whole(taken) as part:
            part.write_text(fastest, encoding="utf-8")

    channel.on_root(note)
    return fastest, measured


def probe_output(
    place: OutputTarget, stores: Mapping[str, Callable[[OutputTarget], Store]], name: str, folder: Path
) -> None:
    """Write some records by a strategy, with enough fields for a small probe, and their result."""
    layout, fields, size = place.layout, list[FieldSpec](), 0
    for spec in layout.fields:
        size += 4 * int(prod(layout.shape(spec, layout.whole)))
        if fields and size > _PROBE:
            break
        fields.append(spec)
    small = replace(layout, fields=tuple(fields))
    store = stores[name](replace(place, result=folder / "probe", records=folder, layout=small))
    store.resume(-1)
    numbers = np.random.default_rng(1)
    block = {spec.name: numbers.random(small.shape(spec, place.box), np.float32) for spec in fields}
    for index in range(_RECORDS):
        store.write(index, float(index), block)
    store.finish(complete=True)


def probe_restart(store: GatheredStates | PartStates, held: Box, ranks: int) -> None:
    """Write a small restart."""
    depth = max(_PROBE // (8 * ranks * held.cells), 1)
    tiled = {"probe": np.random.default_rng(1).random((*held.shape, depth))}
    for number in range(_RECORDS):
        store.write(float(number), tiled, {}, {})


def _measured(channel: Channel, folder: Path, probe: Callable[[Path], None]) -> float:
    """Return the time [s] that the slowest rank needs for a probe."""
    _in_empty_folder(folder, channel, make=True)
    channel.barrier()
    began = time.perf_counter()
    probe(folder)
    spent = max(channel.gather_all(time.perf_counter() - began))
    _in_empty_folder(folder, channel)
    return spent


def _in_empty_folder(folder: Path, channel: Channel, *, make: bool = False) -> None:
    with channel.together(), guarded(folder):
        if channel.is_root:
            shutil.rmtree(folder, ignore_errors=True)
            if make:
                folder.mkdir(parents=True)
