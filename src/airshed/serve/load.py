"""Many readers of one model: what each of them gets, and by how much they slow its steps."""

import asyncio
import json
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import parse_qs, urlsplit

from websockets.asyncio.client import connect

from airshed.core.report import Report, Table
from airshed.serve.client import Remote
from airshed.serve.frames import frames
from airshed.serve.timing import serving


@dataclass(frozen=True)
class Load:
    """What readers got: frames of each, versions that each was told it missed; steps of the model meanwhile, a second.

    before, after  resident memory of the server [bytes]
    """

    frames: Sequence[int]
    dropped: Sequence[int]
    seconds: float
    steps: float
    before: int
    after: int


def run(readers: int, hz: float, seconds: float, rounds: int = 3, case: str = "west-europe") -> Report:
    """Return how steps with readers compare with those without, in turn, and what the readers got."""
    with serving(case, "--threads", "1") as (remote, process):
        remote.step(3)
        pairs = [(undisturbed(remote, seconds), load(remote, readers, hz, seconds, process)) for _ in range(rounds)]
    slower = [1.0 - with_them.steps / alone for alone, with_them in pairs]
    got = [count / each.seconds for _, each in pairs for count in each.frames]
    rows = [
        (alone, each.steps, min(each.frames) / each.seconds, max(each.frames) / each.seconds, each.after / 1e6)
        for alone, each in pairs
    ]
    columns = ("steps/s alone", "steps/s", "least frames/s", "most frames/s", "memory [MB]")
    facts = {
        "readers": readers, "asked_hz": hz, "slower": median(slower), "least_hz": min(got), "median_hz": median(got)
    }  # fmt: skip
    return Report("Readers of the live server", [Table(f"{case}, {readers} readers", columns, rows)], facts)


def undisturbed(remote: Remote, seconds: float) -> float:
    """Return the steps a second of the model when nobody reads."""
    first = _restarted(remote)
    time.sleep(seconds)
    return (remote.pause().step - first) / seconds


def load(remote: Remote, readers: int, hz: float, seconds: float, process: int) -> Load:
    """Let readers subscribe while the model runs."""
    before = memory_of(process)
    first = _restarted(remote)
    variable = next(each.name for each in remote.info().variables if len(each.dims) > 1)
    wanted = {"id": "map", "variable": variable, "level": 0, "hz": hz, "encoding": "byte"}
    got = asyncio.run(_read_all(remote.url, wanted, readers, seconds))
    steps = (remote.pause().step - first) / seconds
    return Load([len(each) for each in got], [sum(each) for each in got], seconds, steps, before, memory_of(process))


def _restarted(remote: Remote) -> int:
    remote.restart()
    return remote.start().step


def memory_of(process: int) -> int:
    """Return the memory that a process holds [bytes]."""
    pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()


async def _read_all(url: str, wanted: dict[str, Any], readers: int, seconds: float) -> list[list[int]]:
    return await asyncio.gather(*(_read(url, wanted, seconds) for _ in range(readers)))


async def _read(url: str, wanted: dict[str, Any], seconds: float) -> list[int]:
    """Return of each frame that a reader gets how many versions it missed before."""
    parts = urlsplit(url)
    token = parse_qs(parts.fragment)["token"][0]
    missed: list[int] = []
    async with connect(f"ws://{parts.netloc}/api/live", max_size=None, compression=None) as socket:
        await socket.send(json.dumps({"token": token}))
        await socket.send(json.dumps({"subscribe": wanted}))
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            try:
                message = await asyncio.wait_for(socket.recv(), left)
            except TimeoutError:
                break
            if isinstance(message, bytes):
                missed += [each.header.dropped for each in frames(message)]
    return missed
