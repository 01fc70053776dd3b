"""Many readers of one model: what each of them gets, and by how much they slow its steps."""

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
from airshed.serve.frames import frames
from benchmarks.serve.timing import serving

CASE: Final = "west-europe"
_WARM: Final = 20.0
"""Seconds of reading before the memory of a long run counts: until then every part of the server has worked once."""

_LOOKED: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
"""At which parts of a long run its memory is told."""

_SAMPLES: Final = 1.0
"""Seconds from one look at the server's memory to the next."""


@dataclass(frozen=True)
class Load:
    """What readers got, and what the model did meanwhile.

    frames   that each reader got;  dropped  versions that each was told it missed
    steps    of the model, a second
    memory   resident memory of all processes of the server [bytes], every second
    """

    frames: Sequence[int]
    dropped: Sequence[int]
    seconds: float
    steps: float
    memory: Sequence[int]

    @property
    def least(self) -> float:
        """Frames a second of the reader that got the fewest."""
        return min(self.frames) / self.seconds

    @property
    def most(self) -> float:
        """Frames a second of the reader that got the most."""
        return max(self.frames) / self.seconds


def run(readers: int, hz: float, seconds: float, ranks: int = 1, rounds: int = 3, case: str = CASE) -> Report:
    """Return how steps with readers compare with those without, in turn, and what the readers got."""
    with serving(case, *_one_thread(ranks)) as (remote, process):
        remote.step(3)
        pairs = [(undisturbed(remote, seconds), load(remote, readers, hz, seconds, process)) for _ in range(rounds)]
    slower = [1.0 - with_them.steps / alone for alone, with_them in pairs]
    rows = [(alone, each.steps, each.least, each.most, each.memory[-1] / 1e6) for alone, each in pairs]
    columns = ("steps/s alone", "steps/s", "least frames/s", "most frames/s", "memory [MB]")
    facts = {
        "readers": readers, "asked_hz": hz, "ranks": ranks, "slower": median(slower),
        "least_hz": min(each.least for _, each in pairs),
    }  # fmt: skip
    return Report("Readers of the live server", [Table(f"{case}, {readers} readers", columns, rows)], facts)


def soak(readers: int, hz: float, seconds: float, ranks: int = 1, case: str = CASE) -> Report:
    """Return what memory the server holds while it runs with readers for long; the case begins again at its end."""
    with serving(case, *_one_thread(ranks)) as (remote, process):
        remote.step(3)
        load(remote, readers, hz, _WARM, process)
        found = load(remote, readers, hz, seconds, process)
    parts = [found.memory[round(at * (len(found.memory) - 1))] for at in _LOOKED]
    rows = [(seconds * at, memory / 1e6) for at, memory in zip(_LOOKED, parts, strict=True)]
    facts = {
        "readers": readers, "asked_hz": hz, "ranks": ranks, "seconds": seconds, "steps_per_second": found.steps,
        "least_hz": found.least, "most_hz": found.most, "start_mb": parts[0] / 1e6, "end_mb": parts[-1] / 1e6,
        "most_mb": max(found.memory) / 1e6,
    }  # fmt: skip
    columns = ("after [s]", "memory [MB]")
    note = "resident memory of all processes of the server; pages that they share count in each"
    return Report("A long run with readers", [Table(f"{case}, {readers} readers", columns, rows, note)], facts)


def _one_thread(ranks: int) -> tuple[str, ...]:
    return "--threads", "1", *(() if ranks == 1 else ("-n", str(ranks)))


def undisturbed(remote: Remote, seconds: float) -> float:
    """Return the steps a second of the model when nobody reads."""
    first = _restarted(remote)
    time.sleep(seconds)
    return (remote.pause().version - first) / seconds


def load(remote: Remote, readers: int, hz: float, seconds: float, process: int) -> Load:
    """Let readers subscribe while the model runs."""
    first = _restarted(remote)
    variable = next(each.name for each in remote.info().variables if len(each.dims) > 1)
    wanted = {"id": "map", "variable": variable, "level": 0, "hz": hz, "encoding": "byte"}
    memory, got = asyncio.run(_together(remote, wanted, readers, seconds, process))
    steps = (remote.pause().version - first) / seconds
    return Load([len(each) for each in got], [sum(each) for each in got], seconds, steps, memory)


def _restarted(remote: Remote) -> int:
    remote.restart()
    return remote.start().version


def memory_of(process: int) -> int:
    """Return the resident memory of a process and of all that it started [bytes]."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
        started = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split()
    except OSError:  # it has just ended
        return 0
    return pages * resource.getpagesize() + sum(memory_of(int(each)) for each in started)


async def _together(
    remote: Remote, wanted: dict[str, Any], readers: int, seconds: float, process: int
) -> tuple[list[int], list[list[int]]]:
    reading = asyncio.gather(*(_read(remote.url, wanted, seconds) for _ in range(readers)))
    memory = []
    while not reading.done():
        memory.append(memory_of(process))
        await asyncio.to_thread(_keep_running, remote)
        await asyncio.wait([reading], timeout=_SAMPLES)
    return memory, await reading


def _keep_running(remote: Remote) -> None:
    """Begin the case anew where it has ended."""
    if remote.state.status == "ended":
        _restarted(remote)


async def _read(url: str, wanted: dict[str, Any], seconds: float) -> list[int]:
    """Return of each frame that a reader gets how many versions it missed before."""
    parts = urlsplit(url)
    token = parse_qs(parts.fragment)["token"][0]
    missed: list[int] = []
    async with connect(f"ws://{parts.netloc}/api/live", max_size=None, compression=None) as socket:
        await socket.send(json.dumps({"token": token}))
        await socket.send(json.dumps({"subscribe": wanted}))
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                async for message in socket:
                    if isinstance(message, bytes):
                        missed += [each.header.dropped for each in frames(message)]
    return missed
