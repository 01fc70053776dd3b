"""Measure the cost of a case's output, by pairs of whole runs with and without it.

Runs of the same case differ by more than the cost of output, and the speed of a machine drifts. So the two runs of a
pair follow each other in alternating order. The median of the differences has a confidence interval by ranks, see
:mod:`benchmarks.median`.
"""

import gc
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from airshed.core.errors import CaseError
from airshed.core.report import Cell, Report, Table
from airshed.core.text import counted
from airshed.models.air.case import Case
from airshed.runtime.simulation import Simulation
from benchmarks.median import FEWEST, median_of

HOURS, PAIRS = 8.0, 16
"""Hours of each run, and number of pairs: a few minutes for the case west-europe."""

_COLUMNS: Final = (
    "of a run", "without [s]", "added [s]", "at least [s]", "at most [s]", "added [%]", "at least [%]", "at most [%]",
)  # fmt: skip


@dataclass(frozen=True)
class Spent:
    """Time of a run [s].

    all        wall time from the preparation until the results and the summary are on disk
    later      part of it after the first step: the record of the start is before it
    processor  processor time of all threads
    inside     time of the computing thread in output, by its own clock
    """

    all: float
    later: float
    processor: float
    inside: float


Pair = tuple[Spent, Spent]
"""A run without output, and a run with it."""


def run(
    case: str | Path, hours: float = HOURS, pairs: int = PAIRS, folder: Path | None = None,
    progress: Callable[[str], object] = lambda message: None,
) -> Report:  # fmt: skip
    """Run the first hours of a case, without its spin-up and restarts, in a folder on the disk in question.

    Raises CaseError for a case without output.
    """
    loaded = Case.load(case, [f"time.length={hours:g} h", "time.spinup=0 h", f"restart.every={2 * hours:g} h"])
    if not loaded.output:
        raise CaseError(f"{loaded.name} has no [[output]], so there is nothing to measure")
    found: list[Pair] = []
    with tempfile.TemporaryDirectory(prefix="airshed-bench-output-", dir=folder) as place:
        for turn in range(pairs + 1):
            progress(f"pair {turn} of {pairs}" if turn else "a pair that is not counted")
            results = Path(place) / str(turn)
            if turn % 2:
                written = _spent(loaded, results)
                pair = _spent(loaded, None), written
            else:
                pair = _spent(loaded, None), _spent(loaded, results)
            found += [pair] if turn else []
    return report(loaded, hours, found)


def _spent(case: Case, folder: Path | None) -> Spent:
    gc.collect()
    processor, began = time.process_time(), time.perf_counter()
    with Simulation(case, output=folder) as simulation:
        simulation.step()
        stepped = time.perf_counter()
        simulation.run()
        if folder is None:
            simulation.summary().to_text()  # a run with a folder writes it too
        inside = simulation._wall["output and restarts"]
    done = time.perf_counter()
    return Spent(done - began, done - stepped, time.process_time() - processor, inside)


def report(case: Case, hours: float, pairs: Sequence[Pair]) -> Report:
    """Return the cost of output in a run."""
    rows = [
        _row("wall time", [(without.all, written.all) for without, written in pairs]),
        _row("wall time after the first step", [(without.later, written.later) for without, written in pairs]),
        _row("processor time", [(without.processor, written.processor) for without, written in pairs]),
        _row("by the clock inside", [(without.later, without.later + written.inside) for without, written in pairs]),
    ]
    note = (
        "Medians of pairs of runs. at least, at most: the confidence interval of the median difference (95 %, by "
        "ranks). by the clock inside: wall time of the computing thread in output."
    )
    if len(pairs) < FEWEST:
        note += f" With {counted(len(pairs), 'pair')} there is no interval; it needs {FEWEST} at least."
    walls = [[each[side].all for each in pairs] for side in (0, 1)]
    spread: list[Sequence[Cell]] = [
        (name, min(wall), median(wall), max(wall)) for name, wall in zip(("without", "with output"), walls, strict=True)
    ]
    facts: dict[str, Cell] = {
        "case": case.name, "hours of a run": hours, "pairs of runs": len(pairs),
        "outputs": ", ".join(f"{each.name}: {_fields(each.fields)} every {each.every.text}" for each in case.output),
    }  # fmt: skip
    tables = [
        Table("Cost of output", _COLUMNS, rows, note),
        Table("Wall time of a run", ("run", "min [s]", "median [s]", "max [s]"), spread),
    ]
    return Report("bench output", tables, facts)


def _row(name: str, pairs: Sequence[tuple[float, float]]) -> Sequence[Cell]:
    base = median(without for without, _ in pairs)
    added = median_of([written - without for without, written in pairs])
    parts = added.median, added.low, added.high
    return name, base, *parts, *(None if part is None else 100.0 * part / base for part in parts)


def _fields(names: tuple[str, ...] | str) -> str:
    return f"{names} fields" if isinstance(names, str) else counted(len(names), "field")
