"""Start the measuring ranks, and put their results into a table."""

import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import mean, median

from airshed.core.report import Cell, Report, Table
from airshed.core.text import counted
from benchmarks.io.experiment import COMPUTE, Experiment, OutputMeasurements, RunTimes
from benchmarks.io.overlap import overlap
from benchmarks.median import FEWEST
from benchmarks.started import answer_of

_COLUMNS = (
    "strategy", "min [s]", "avg [s]", "max [s]", "I/O min [s]", "I/O avg [s]", "I/O max [s]", "final file [s]",
)  # fmt: skip
_HIDDEN = (
    "strategy", "writing [s]", "handed over [s]", "waited at the end [s]", "slowed down [s]", "could be hidden [s]",
    "not waited for [%]", "hidden [%]", "at least [%]", "at most [%]",
)  # fmt: skip


def run(experiment: Experiment, ranks: int = 1, folder: Path | None = None) -> OutputMeasurements:
    """Measure on a number of ranks, in a folder on the disk in question; raises AirshedError for a failure."""
    experiment.names()
    with tempfile.TemporaryDirectory(prefix="airshed-bench-io-", dir=folder) as place:
        found = answer_of("benchmarks.io.experiment", {"experiment": asdict(experiment), "folder": place}, ranks)
    return OutputMeasurements(
        experiment, ranks, {kind: [RunTimes(**each) for each in runs] for kind, runs in found.items()}
    )


def report(measured: OutputMeasurements) -> Report:
    """Return the wall times as in Table 3 of the paper, and the hidden share of the writing."""
    experiment, alone = measured.experiment, measured.runs[COMPUTE]
    columns, lines, levels = experiment.grid
    facts: dict[str, Cell] = {
        "grid (lon x lat x level)": f"{columns} x {lines} x {levels}",
        "ranks": measured.ranks,
        "steps, each with input and output": experiment.steps,
        "written in a step [MB]": experiment.bytes / 1e6,
        "compute of a step [s]": median(step for run in alone for step in run.computed),
        "runs": experiment.repeats,
        "bandwidth [MB/s]": None if experiment.bandwidth is None else experiment.bandwidth / 1e6,
    }
    return Report("bench io", [table for table in (_walls(measured), _shares(measured)) if table.rows], facts)


def _walls(measured: OutputMeasurements) -> Table:
    base = mean(each.steps for each in measured.runs[COMPUTE])
    rows: list[Sequence[Cell]] = []
    for kind, runs in measured.runs.items():
        walls, final = [each.total for each in runs], mean(each.final for each in runs)
        parts: list[Cell] = [None, None, None, None]
        if kind != COMPUTE:
            parts = [*(wall - base for wall in (min(walls), mean(walls), max(walls))), final]
        rows.append((kind, min(walls), mean(walls), max(walls), *parts))
    note = "I/O: wall time minus the average of computation alone, until the last byte of the final file."
    return Table("Wall time of a run", _COLUMNS, rows, note)


def _shares(measured: OutputMeasurements) -> Table:
    rows: list[Sequence[Cell]] = []
    for name in measured.strategies:
        found = overlap(measured, name)
        if found is not None:
            parts = (found.writing, found.handing, found.drained, found.slowed, found.possible)
            shares = (found.unwaited.median, found.hidden.median, found.hidden.low, found.hidden.high)
            known = shares if found.has_interval else [None] * len(shares)
            rows.append((name, *parts, *(None if share is None else 100.0 * share for share in known)))
    note = (
        "Medians of pairs of runs, without the final file. writing: waiting of the synchronous run. handed over, "
        "waited at the end: waiting of the asynchronous run. slowed down: slowing of the computation by the writer. "
        "could be hidden: the smaller of writing and computation, in all steps except one. hidden: writing minus "
        "the three, relative to that; at least, at most: its confidence interval (95 %, by ranks). not waited for: the "
        "same without slowing."
    )
    if measured.experiment.repeats < FEWEST:
        note += (
            f" No shares are reported: with {counted(measured.experiment.repeats, 'pair')} of runs they would depend "
            f"on the variation between runs; an interval needs {FEWEST} at least (--repeats {FEWEST})."
        )
    return Table("Overlap of writing and computation", _HIDDEN, rows, note)
