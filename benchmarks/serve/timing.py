"""`airshed bench serve`: the exercise of the ADVISE paper, a year stepped by a client, and the time of messages.

A server with the case of Queensland runs in a separate process on this machine. Times are those of a client, from the
call to the received values, minus the time of the timer itself. For each message the report has the time of the first
call, which includes one-time work, and the mean of the later ones.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from airshed.core.errors import AirshedError
from airshed.core.report import Report, Table
from airshed.runtime.registry import load_case
from airshed.runtime.simulation import Simulation
from airshed.serve.client import Remote, connect

CASE: Final = "queensland"
DAYS: Final = 365
FIELD: Final = "standing_dry_matter"
_REPEATS: Final = 200
_SIZES: Final = (10, 30, 100)
"""Sides of square windows of the map."""

_MICRO: Final = 1e6


def run(days: int = DAYS) -> Report:
    """Return the time of `days` steps with an image of each, and the table of messages."""
    with serving(CASE) as (remote, _):
        calls = year(remote, days)
        rows = messages(remote)
    inside = steps_alone(days)
    overhead = timer_overhead()
    facts = {
        f"queensland_{2 * days}_calls_s": calls,
        "of_which_steps_alone_s": inside,
        "per_call_ms": 1e3 * calls / (2 * days),
        "timer_overhead_us": overhead * _MICRO,
    }
    columns = ("message", "bytes", "first [us]", "mean [us]", "rate [kB/s]")
    note = f"round trips over loopback, mean of {_REPEATS} after the first; the time of the timer is subtracted"
    return Report("The live server", [Table("Messages and images", columns, rows, note)], facts)


@contextmanager
def serving(case: str, *options: str) -> Iterator[tuple[Remote, int]]:
    """Serve a case from a separate process and folder; yield a client and the process id, which ends afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        program = [sys.executable, "-P", "-m", "airshed", "serve", case, "--no-browser", "--output", f"{folder}/live"]
        process = subprocess.Popen([*program, *options], stdout=subprocess.PIPE, text=True, cwd=Path.cwd())
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip().removeprefix("To steer: ")
            if not url:
                raise AirshedError("the server of the benchmark did not start; see its message above")
            with connect(url) as remote:
                yield remote, process.pid
        finally:
            process.terminate()
            process.wait(60.0)
            if process.stdout is not None:
                process.stdout.close()


def year(remote: Remote, days: int) -> float:
    """Return the time [s] of steps of a day, each with a byte image of a field after it."""
    began = time.perf_counter()
    for _ in range(days):
        remote.step(1)
        remote.image(FIELD)
    return time.perf_counter() - began


def steps_alone(days: int) -> float:
    """Return the time [s] of the same steps without a server."""
    with Simulation(load_case(CASE)) as simulation:
        began = time.perf_counter()
        for _ in range(days):
            simulation.step()
        return time.perf_counter() - began


def messages(remote: Remote) -> list[tuple[str, int, float, float, float]]:
    """Return bytes, first and mean time [us] and rate [kB/s] of several kinds and sizes of messages."""
    rows: list[tuple[str, int, float, float, float]] = [_row("state", lambda: remote.state, 0)]
    for side in _SIZES:
        window = (0, side, 0, side)
        rows.append(_row(f"image {side} x {side}", partial(remote.image, FIELD, window=window), side * side))
    shape = remote.image(FIELD).shape
    cells = shape[0] * shape[1]
    rows.append(_row("image, whole map", lambda: remote.image(FIELD), cells))
    rows.append(_row("float32, whole map", lambda: remote.values(FIELD), 4 * cells))
    rows.append(_row("float32 compressed", lambda: remote.values(FIELD, compress=True), 4 * cells))
    return rows


def _row(name: str, call: Callable[[], object], size: int) -> tuple[str, int, float, float, float]:
    overhead = timer_overhead()
    times = []
    for _ in range(1 + _REPEATS):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began - overhead)
    first, mean = times[0], sum(times[1:]) / _REPEATS
    return name, size, first * _MICRO, mean * _MICRO, 1e-3 * size / mean


def timer_overhead(calls: int = 100_000) -> float:
    """Return the time of a pair of readings of the timer [s]."""
    began = time.perf_counter()
    for _ in range(calls):
        time.perf_counter()
    return (time.perf_counter() - began) / calls
