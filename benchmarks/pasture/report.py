"""Run the pasture benchmark, and compare its figures with the limits of memory."""

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any, Final

from airshed.core.report import Cell, Report, Table
from airshed.kernels.host import processor, usable_cores
from benchmarks.speed import copy_bandwidth
from benchmarks.started import answer_of

CENTURY: Final = 36525
"""Days of a hundred years."""

DAYS, ROUNDS = 384, 5
"""Days of Australia from which a century is extrapolated, and number of runs of Queensland."""

_WORKER: Final = "benchmarks.pasture.worker"
_SPACING: Final = 0.05
"""Spacing of the cells of Australia [degrees]: 5 km."""

_READ: Final = 8.0 + 5.0 * 8.0 / 7.0
"""Bytes of weather per cell and day: rain of the day, and five fields of the week, as doubles."""

_KEPT: Final = 18 * 4.0
"""Bytes of exports per cell and day."""


def run(
    days: int = DAYS, rounds: int = ROUNDS, folder: Path | None = None,
    progress: Callable[[str], object] = lambda message: None,
) -> Report:  # fmt: skip
    """Measure each case in a separate process; inputs and results go to a temporary place in `folder`.

    days  of Australia; a whole `CENTURY` needs no extrapolation
    """
    with tempfile.TemporaryDirectory(prefix="airshed-bench-pasture-", dir=folder) as place:
        progress("Queensland")
        queensland = answer_of(_WORKER, {"case": "queensland", "rounds": rounds, "folder": place}, 1)
    progress("Australia")
    australia = answer_of(_WORKER, {"case": "australia", "days": days, "spacing": _SPACING}, 1)
    return report(queensland, australia, copy_bandwidth())


def report(queensland: Mapping[str, Any], australia: Mapping[str, Any], bandwidth: float) -> Report:
    """Return the figures of both cases; `bandwidth` is that of copying on one core [GB/s]."""
    days = sum(days for _, days in australia["blocks"])
    century, times = _century(australia), {name: median(queensland[name]) for name in ("year", "compute", "written")}
    cores, year = usable_cores(), 365.0 * queensland["cells"]
    rows: list[tuple[Cell, ...]] = [
        _rate("Queensland, cells alone", times["compute"], year, _READ, bandwidth),
        _rate("Queensland, with reading and exports in memory", times["year"], year, _READ + _KEPT, bandwidth),
        _rate("Queensland, exports written each day", times["written"], year, _READ + _KEPT, bandwidth),
        _rate("Australia, a century", century, australia["cells"] * float(CENTURY), _READ, bandwidth),
    ]
    columns = (
        "run", "time [s]", "M cell-days/s", "ns per cell-day and core", "GB/s of weather and exports",
        "share of copy bandwidth",
    )  # fmt: skip
    parts = australia["parts"]
    facts: dict[str, Cell] = {
        "queensland_year_s": times["year"], "queensland_compute_s": times["compute"],
        "queensland_written_s": times["written"], "australia_century_s": century,
        "australia_memory_gb": australia["memory"], "australia_days_run": days,
        "australia_share_waiting_for_weather": parts["weather"] / sum(parts.values()),
        "queensland_cells": queensland["cells"], "australia_cells": australia["cells"],
        "queensland_inputs_mb": queensland["stored"] / 1e6, "processor": processor().model, "cores": cores,
        "memory bandwidth, one core copying [GB/s]": bandwidth, "all results are numbers": australia["sane"],
    }  # fmt: skip
    note = "medians of whole runs" if days >= CENTURY else f"Australia: extrapolated from {days} days"
    return Report("The pasture model", [Table("Speed", columns, rows, note)], facts)


def _century(australia: Mapping[str, Any]) -> float:
    """Return the time of a century [s]: set-up and first block, without prefetching, and all other blocks."""
    (setup, _), (first, held), *others = australia["blocks"]
    spent, days = (sum(each) for each in zip(*others, strict=True)) if others else (first, held)
    return float(setup + first + spent / days * (CENTURY - held))


def _rate(name: str, seconds: float, cell_days: float, moved: float, bandwidth: float) -> tuple[Cell, ...]:
    """Return a row; `moved` is the number of bytes per cell and day."""
    rate, flow = cell_days / seconds, cell_days * moved / seconds / 1e9
    return name, seconds, rate / 1e6, 1e9 * usable_cores() / rate, flow, flow / bandwidth
