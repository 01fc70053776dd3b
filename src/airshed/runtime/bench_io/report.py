"""Starts the ranks that measure, and puts what they found into a table."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import mean

from airshed.core.errors import AirshedError
from airshed.core.report import Cell, Report, Table
from airshed.parallel.environment import ASKED_FOR
from airshed.parallel.mpiexec import find_mpiexec
from airshed.runtime.bench_io.experiment import COMPUTE, INPUT, Experiment, Measured, Spent

_COLUMNS = (
    "strategy", "min [s]", "avg [s]", "max [s]", "I/O min [s]", "I/O avg [s]", "I/O max [s]", "final file [s]",
    "hidden [%]",
)  # fmt: skip


def run(asked: Experiment, ranks: int = 1, folder: Path | None = None) -> Measured:
    """Measure on so many ranks, in a folder on the disk in question; raises AirshedError where that fails."""
    asked.names()
    with tempfile.TemporaryDirectory(prefix="airshed-bench-io-", dir=folder) as place:
        told = json.dumps({"experiment": asdict(asked), "folder": place})
        command = [sys.executable, "-m", "airshed.runtime.bench_io.worker", told]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        if ranks > 1:
            mpiexec = find_mpiexec()
            command = [*mpiexec.command(ranks), *command]
            environment |= {**mpiexec.environment(), ASKED_FOR: str(ranks)}
        done = subprocess.run(command, capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise AirshedError(f"the ranks that measure failed: {lines[-1]}")
    found = json.loads(done.stdout.splitlines()[-1])
    return Measured(asked, ranks, {kind: [Spent(**each) for each in runs] for kind, runs in found.items()})


def report(measured: Measured) -> Report:
    """Return the table; the I/O of a strategy is its wall time without that of computing alone."""
    asked, alone = measured.asked, measured.runs[COMPUTE]
    base = mean(each.steps for each in alone)
    rows: list[Sequence[Cell]] = []
    for kind, runs in measured.runs.items():
        walls, final = [each.total for each in runs], mean(each.final for each in runs)
        parts: list[Cell] = [None, None, None, None]
        if kind != COMPUTE:
            parts = [*(wall - base for wall in (min(walls), mean(walls), max(walls))), final]
        rows.append((kind, min(walls), mean(walls), max(walls), *parts, hidden(measured, kind)))
    columns, lines, levels = asked.grid
    facts: dict[str, Cell] = {
        "grid (lon x lat x level)": f"{columns} x {lines} x {levels}",
        "ranks": measured.ranks,
        "steps, each with input and output": asked.steps,
        "written in a step [MB]": asked.bytes / 1e6,
        "compute of a step [s]": base / asked.steps,
        "runs": asked.repeats,
        "bandwidth [MB/s]": None if asked.bandwidth is None else asked.bandwidth / 1e6,
    }
    note = (
        "I/O: wall time less that of computing alone. hidden: what asynchronous writing takes off the time of the "
        "synchronous one "
        "until all records are on the disk, of what could be hidden: the smaller of compute and I/O in all steps but "
        "one, since nothing is written beside the first compute and nothing computed beside the last writing; of the "
        "least disturbed runs, and empty where that is less than runs of computing alone differ by."
    )
    return Report("bench io", [Table("Wall time of a run", _COLUMNS, rows, note)], facts)


def hidden(measured: Measured, kind: str) -> float | None:
    """Return the share [%] of the writing that an asynchronous strategy hides, of what could be; None for others.

    None too where what could be hidden is lost in the differences between runs of computing alone.
    """
    name, _, mode = kind.partition(":")
    if mode != "async":
        return None
    compute, reading, sync, behind = (
        min(each.steps for each in measured.runs[which]) for which in (COMPUTE, INPUT, f"{name}:sync", kind)
    )
    steps = measured.asked.steps
    noise = max(each.steps for each in measured.runs[COMPUTE]) - compute
    possible = min(compute, sync - reading) * (steps - 1) / steps
    return 100.0 * (sync - behind) / possible if possible > noise else None
