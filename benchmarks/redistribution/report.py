"""Start the jobs of `airshed bench redistribution`, and report their results."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from typing import Any, Final

from airshed.core.errors import AirshedError
from airshed.core.report import Cell, Report, Table
from airshed.kernels.host import processor, usable_cores
from airshed.parallel.environment import REQUESTED_RANKS
from airshed.parallel.mpiexec import find_mpiexec
from airshed.parallel.redistribution.tcp import new_token
from benchmarks.redistribution.moves import ARRAYS, SPAN
from benchmarks.redistribution.worker import REQUEST

RANKS_BY_DEFAULT: Final = 4
REQUIRED: Final = 0.67
"""Seconds for a round trip of the paper's array, for a day of the north-eastern United States in 15 minutes."""
_LONGEST: Final = 600.0


def run(ranks: int = RANKS_BY_DEFAULT, arrays: Mapping[str, tuple[int, ...]] = ARRAYS, span: float = SPAN) -> Report:
    """Measure and report; half of the ranks have planes, the other half columns.

    arrays  names and shapes, the paper's first
    span    seconds for which each move is repeated

    Raises AirshedError where ranks cannot be started or one of them fails.
    """
    if ranks < 2:
        raise AirshedError("two groups need at least two ranks: airshed bench redistribution -n 2")
    sizes = (ranks // 2, ranks - ranks // 2)
    load, request = os.getloadavg()[0], {"arrays": dict(arrays), "span": span}
    world = _answer([_start(ranks, 0, request)])
    request |= {"sizes": sizes, "token": new_token(), "port": _free_ports(sizes[0])}
    jobs = _answer([_start(size, job, request) for job, size in enumerate(sizes)])
    moves = [*world["moves"], *jobs["moves"]]
    raw = {each["array"]: each for each in world["raw"]}
    slowest = max(move["median"] for move in moves if move["array"] == next(iter(arrays)) and move["picked"])
    facts: dict[str, Cell] = {
        "processor": processor().model, "cores": usable_cores(), "load of the machine before": load, "ranks": ranks,
        "required round trip of the paper's array [s]": REQUIRED,
        "slowest of its picked round trips, median [s]": slowest, "requirement met": slowest <= REQUIRED,
        "timer, subtracted [us]": 1e6 * world["timer"],
    }  # fmt: skip
    tables = [_moves(moves, raw), _raw(moves, raw), _costs(world["costs"] | jobs["costs"])]
    return Report("Redistribution: planes to columns and back", tables, facts)


def _moves(moves: list[dict[str, Any]], raw: dict[str, Any]) -> Table:
    columns = (
        "array [MB]", "transport", "groups", "strategy", "predicted [ms]", "least [ms]", "median [ms]", "GB/s",
        "of raw copy", "of raw MPI", "picked",
    )  # fmt: skip
    rows: list[tuple[Cell, ...]] = [
        (
            move["bytes"] / 1e6, move["transport"], move["groups"], move["strategy"], 1e3 * move["predicted"],
            1e3 * move["least"], 1e3 * move["median"], 2.0 * move["bytes"] / move["least"] / 1e9,
            2.0 * raw[move["array"]]["copy"] / move["least"], 2.0 * raw[move["array"]]["message"] / move["least"],
            move["picked"],
        )
        for move in moves
    ]  # fmt: skip
    note = "GB/s, of raw: one round trip of the array in the least time; picked: by the prediction for the first half"
    return Table("Round trips", columns, rows, note)


def _raw(moves: list[dict[str, Any]], raw: dict[str, Any]) -> Table:
    size = {move["array"]: move["bytes"] for move in moves}
    rows: list[tuple[Cell, ...]] = [
        (
            size[name] / 1e6, 1e3 * each["copy"], size[name] / each["copy"] / 1e9,
            1e3 * each["message"], size[name] / each["message"] / 1e9,
        )
        for name, each in raw.items()
    ]  # fmt: skip
    columns = ("array [MB]", "raw copy [ms]", "raw copy [GB/s]", "raw MPI, one way [ms]", "raw MPI [GB/s]")
    return Table("Limits of the machine", columns, rows)


def _costs(costs: dict[str, Any]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for transport, each in costs.items():
        for label, key in (("messages", "within"), ("messages between jobs", "between"), ("copies", "copy")):
            if any(each[key].values()):
                rows.append((transport, label, 1e6 * each[key]["alpha"], 1e9 * each[key]["beta"]))
    note = "shared memory: alpha of messages is a barrier of all ranks, two per hop"
    return Table("Costs alpha + beta L", ("transport", "of", "alpha [us]", "beta [ns/B]"), rows, note)


def _start(ranks: int, job: int, request: dict[str, Any]) -> "subprocess.Popen[str]":
    mpiexec = find_mpiexec()
    worker = [sys.executable, "-m", "benchmarks.redistribution.worker", str(job)]
    # The environment is private, whereas any user of the machine can read arguments, and the request has a token.
    environment = {**os.environ, **mpiexec.environment(), REQUESTED_RANKS: str(ranks), REQUEST: json.dumps(request)}
    return subprocess.Popen(
        [*mpiexec.command(ranks), *worker],
        env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def _answer(jobs: "list[subprocess.Popen[str]]") -> dict[str, Any]:
    """Return the result of the first job after all jobs have succeeded."""
    outputs = [job.communicate(timeout=_LONGEST) for job in jobs]
    for job, (_, errors) in zip(jobs, outputs, strict=True):
        if job.returncode:
            lines = [line for line in errors.splitlines() if "error:" in line] or errors.splitlines()[-1:]
            why = lines[0].split("error: ")[-1] if lines else f"exit code {job.returncode}"
            raise AirshedError(f"the ranks of the benchmark failed: {why}")
    answer: dict[str, Any] = json.loads(outputs[0][0].splitlines()[-1])
    return answer


def _free_ports(count: int) -> int:
    """Return the first of `count` consecutive ports that are probably free."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1]) // count * count
