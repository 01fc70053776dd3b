"""Many readers of a model: frames of each reader, and slowing of the model."""

import asyncio
import json
import resource
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from websockets.asyncio.client import connect

from airshed.core.report import Report, Table
from airshed.serve.client import Remote
from airshed.serve.protocol.frames import frames
from benchmarks.serve.timing import serving

CASE: Final = "west-europe"
_WARM: Final = 20.0
"""Seconds of reading before the memory of a long run counts: by then every part of the server has been used."""

_LOOKED: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Fractions of a long run at which the memory is reported."""

_SAMPLES: Final = 1.0
"""Seconds between two samples of the server's memory."""


@dataclass(frozen=True)
class Load:
    """Figures of readers and of the model.

    frames   received by each reader;  dropped  versions reported as missed to each reader
    steps    of the model, per second
    memory   resident memory of all processes of the server [bytes], every second
    """

    frames: Sequence[int]
    dropped: Sequence[int]
    seconds: float
    steps: float
    memory: Sequence[int]

    @property
    def least(self) -> float:
        """Frames per second of the slowest reader."""
        return min(self.frames) / self.seconds

    @property
    def most(self) -> float:
        """Frames per second of the fastest reader."""
        return max(self.frames) / self.seconds


def run(readers: int, hz: float, seconds: float, ranks: int = 1, rounds: int = 3, case: str = CASE) -> Report:
    """Return a comparison of steps with and without readers, in alternation, and the figures of the readers."""
    with serving(case, *_one_thread(ranks)) as (remote, process):
        remote.step(3)
        pairs = [(undisturbed(remote, seconds), load(remote, readers, hz, seconds, process)) for _ in range(rounds)]
    slower = [1.0 - with_them.steps / alone for alone, with_them in pairs]
    rows = [(alone, each.steps, each.least, each.most, each.memory[-1] / 1e6) for alone, each in pairs]
    columns = ("steps/s alone", "steps/s", "least frames/s", "most frames/s", "memory [MB]")
    facts = {
        "readers": readers, "requested_hz": hz, "ranks": ranks, "slower": median(slower),
        "least_hz": min(each.least for _, each in pairs),
    }  # fmt: skip
    return Report("Readers of the live server", [Table(f"{case}, {readers} readers", columns, rows)], facts)


def soak(readers: int, hz: float, seconds: float, ranks: int = 1, case: str = CASE) -> Report:
    """Return the memory of the server during a long run with readers; the case restarts at its end."""
    with serving(case, *_one_thread(ranks)) as (remote, process):
        remote.step(3)
        load(remote, readers, hz, _WARM, process)
        found = load(remote, readers, hz, seconds, process)
    parts = [found.memory[round(at * (len(found.memory) - 1))] for at in _LOOKED]
    rows = [(seconds * at, memory / 1e6) for at, memory in zip(_LOOKED, parts, strict=True)]
    facts = {
        "readers": readers, "requested_hz": hz, "ranks": ranks, "seconds": seconds, "steps_per_second": found.steps,
        "least_hz": found.least, "most_hz": found.most, "start_mb": parts[0] / 1e6, "end_mb": parts[-1] / 1e6,
        "most_mb": max(found.memory) / 1e6,
    }  # fmt: skip
    columns = ("after [s]", "memory [MB]")
    note = "resident memory of all processes of the server; shared pages count in each"
    return Report("A long run with readers", [Table(f"{case}, {readers} readers", columns, rows, note)], facts)


def _one_thread(ranks: int) -> tuple[str, ...]:
    return "--threads", "1", *(() if ranks == 1 else ("-n", str(ranks)))


def undisturbed(remote: Remote, seconds: float) -> float:
    """Return the steps per second of the model without readers."""
    first = _restarted(remote)
    time.sleep(seconds)
    return (remote.pause().version - first) / seconds


def load(remote: Remote, readers: int, hz: float, seconds: float, process: int) -> Load:
    """Connect readers while the model runs, and return their figures."""
    first = _restarted(remote)
    variable = next(each.name for each in remote.info().variables if len(each.dims) > 1)
    subscription = {"id": "map", "variable": variable, "level": 0, "hz": hz, "encoding": "byte"}
    memory, got = asyncio.run(_together(remote, subscription, readers, seconds, process))
    steps = (remote.pause().version - first) / seconds
    return Load([len(each) for each in got], [sum(each) for each in got], seconds, steps, memory)


def _restarted(remote: Remote) -> int:
    remote.restart()
    return remote.start().version


def memory_of(process: int) -> int:
    """Return the resident memory of a process and of all its child processes [bytes]."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
        started = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split()
    except OSError:  # the process has ended
        return 0
    return pages * resource.getpagesize() + sum(memory_of(int(each)) for each in started)


async def _together(
    remote: Remote, subscription: dict[str, Any], readers: int, seconds: float, process: int
) -> tuple[list[int], list[list[int]]]:
    reading = asyncio.gather(*(_read(remote.url, subscription, seconds) for _ in range(readers)))
    memory = []
    while not reading.done():
        memory.append(memory_of(process))
        await asyncio.to_thread(_keep_running, remote)
        await asyncio.wait([reading], timeout=_SAMPLES)
    return memory, await reading


def _keep_running(remote: Remote) -> None:
    """Restart the case whenever it has ended."""
    if remote.state.status == "ended":
        _restarted(remote)


async def _read(url: str, subscription: dict[str, Any], seconds: float) -> list[int]:
    """Return for each frame of a reader the number of versions missed before it."""
    parts = urlsplit(url)
    token = parse_qs(parts.fragment)["token"][0]
    missed: list[int] = []
    async with connect(f"ws://{parts.netloc}/api/live", max_size=None, compression=None) as socket:
        await socket.send(json.dumps({"token": token}))
        await socket.send(json.dumps({"subscribe": subscription}))
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                async for message in socket:
                    if isinstance(message, bytes):
                        missed += [each.header.dropped for each in frames(message)]
    return missed
