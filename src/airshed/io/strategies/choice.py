"""The strategies by name: what a case may say, what this machine has, and which is the fastest ("auto").

The probe of "auto" writes records of the output itself, as many fields as make a few megabytes, and their result, or
small restarts, into a folder beside the real ones; the slowest rank counts. What was taken stands in a file there, so
that a resumed run continues with it; records that are there leave only strategies that continue them.
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
"""Those that can compress: ranks that write one file together have to know beforehand where each part begins."""

_MODES: Final = {"sync": False, "async": True}


@dataclass(frozen=True)
class Strategy:
    """How files are written: by which strategy, and whether behind the computation (asynchronous)."""

    name: str
    asynchronous: bool

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the strategy that a text names: "NAME" or "NAME:sync", "NAME:async"; raises OutputError for others."""
        name, colon, mode = text.partition(":")
        if name not in (*STRATEGIES, AUTO):
            raise OutputError(f"there is no strategy {name!r}; {suggestion(name, (*STRATEGIES, AUTO))}")
        if colon and mode not in _MODES:
            raise OutputError(f'strategy {text!r}: after the colon comes "sync" or "async", not {mode!r}')
        return cls(name, _MODES[mode] if colon else False)

    def __str__(self) -> str:
        return f"{self.name}:{'async' if self.asynchronous else 'sync'}"


def check_there(strategy: Strategy) -> None:
    """Raise OutputError, which names what to install, where this machine lacks what a strategy needs."""
    reason = missing(strategy.name)
    if reason is not None:
        raise OutputError(f'strategy "{strategy.name}" is not there: {reason}')


def missing(name: str) -> str | None:
    """Return why a strategy cannot be used on this machine and what to install; None where it can."""
    return FILES[name].library.unavailable_reason() if name in FILES else None


_PROBE: Final = 4 * 1024 * 1024
_RECORDS: Final = 2


def choose(
    channel: Channel, folder: Path, names: Iterable[str], probe: Callable[[str, Path], None]
) -> tuple[str, dict[str, float]]:
    """Return the fastest of the named strategies that are there, and the time [s] of a probe by each; all ranks alike.

    names   strategies that can be taken; one alone is not measured
    folder  where what was taken is kept; a run that goes on keeps what it began with, and measures nothing
    probe   writes something by a strategy into an empty folder, on all ranks
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
    """Write some records by a strategy, of as many fields as make a small probe, and the result of them."""
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
    _afresh(folder, channel, make=True)
    channel.barrier()
    began = time.perf_counter()
    probe(folder)
    spent = max(channel.gather_all(time.perf_counter() - began))
    _afresh(folder, channel)
    return spent


def _afresh(folder: Path, channel: Channel, *, make: bool = False) -> None:
    with channel.together(), guarded(folder):
        if channel.is_root:
            shutil.rmtree(folder, ignore_errors=True)
            if make:
                folder.mkdir(parents=True)
