"""Start the measuring ranks, and put their results into tables."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

from airshed.core.report import Cell, Table
from airshed.kernels.host import processor, usable_cores
from benchmarks.adjoint import AdjointReport
from benchmarks.adjoint_io.experiment import NOTHING, OUTPUT, Experiment, RankMeasurements
from benchmarks.adjoint_io.model import Cost
from benchmarks.median import FEWEST, Median, median_of
from benchmarks.started import answer_of


def run(
    experiment: Experiment, ranks: Sequence[int], folder: Path | None = None,
    progress: Callable[[str], object] = lambda message: None,
) -> list[RankMeasurements]:  # fmt: skip
    """Measure on each number of ranks, in a folder on the disk in question; raises AirshedError for a failure."""
    experiment.check()
    found = []
    for count in ranks:
        progress(f"{count} ranks")
        with tempfile.TemporaryDirectory(prefix="airshed-bench-adjoint-io-", dir=folder) as place:
            request = {"experiment": asdict(experiment), "folder": place}
            found.append(RankMeasurements(**answer_of("benchmarks.adjoint_io.experiment", request, count)))
    return found


def report(experiment: Experiment, found: Sequence[RankMeasurements], cores: int | None = None) -> AdjointReport:
    """Return the wall times, the hidden share of them, and the fitted cost of a time level."""
    cores = cores or usable_cores()
    fitted = {name: Cost.fitted(found, name, cores) for name in experiment.stores}
    costs = {name: cost for name, cost in fitted.items() if cost is not None}
    facts: dict[str, Cell] = {
        "processor": processor().model, "cores": cores, "case": experiment.case, "minutes of a run": experiment.minutes,
        "rounds": experiment.rounds, "steps": found[0].steps, "cells": found[0].cells,
        "a level on one rank [MB]": found[0].level / 1e6, "output of a run [MB]": found[0].record / 1e6,
    }  # fmt: skip
    tables = [_walls(found), _hidden(experiment, found)]
    if costs:
        tables.append(_costs(costs))
    ratios = {
        "walls": [asdict(each) for each in found],
        "hidden": _shares(experiment, found),
        "costs": _numbers(fitted),
    }
    return AdjointReport(f"Checkpoints and output of {experiment.case}", tables, facts, ratios=ratios)


def hidden(found: RankMeasurements, name: str) -> Median | None:
    """Return 1 - (t_async - t_nothing) / (t_sync - t_nothing) of an output strategy over rounds, with its interval.

    Rounds in which the synchronous run was faster than the one without output are left out; None where none remains.
    """
    pairs = zip(found.added(OUTPUT, f"{name}:sync"), found.added(OUTPUT, f"{name}:async"), strict=True)
    shares = [1.0 - behind / sync for sync, behind in pairs if sync > 0.0]
    return median_of(shares) if shares else None


def _walls(found: Sequence[RankMeasurements]) -> Table:
    rows: list[Sequence[Cell]] = []
    for each in found:
        for subject, kinds in each.walls.items():
            for kind, walls in kinds.items():
                ratio = median(w / nothing for w, nothing in zip(walls, kinds[NOTHING], strict=True))
                parts = (each.ranks, subject, kind, min(walls), median(walls), median(each.added(subject, kind)), ratio)
                rows.append(parts)
    note = (
        "checkpoints: a gradient, from its first step to its adjoints, that stores every time level and reads it "
        "backwards; nothing: in memory. output: a run that writes all species; nothing: a run without output. "
        "added, ratio: medians of rounds, over the run without writing of the same round."
    )
    columns = ("ranks", "of", "by", "min [s]", "median [s]", "added [s]", "ratio")
    return Table("Wall time", columns, rows, note)


def _hidden(experiment: Experiment, found: Sequence[RankMeasurements]) -> Table:
    rows: list[Sequence[Cell]] = []
    for each in found:
        for name in experiment.outputs:
            share = hidden(each, name)
            added = [median(each.added(OUTPUT, f"{name}:{mode}")) for mode in ("sync", "async")]
            parts = (None,) * 3 if share is None else (share.median, share.low, share.high)
            rows.append((each.ranks, name, *added, *(None if part is None else 100.0 * part for part in parts)))
    note = "hidden: 1 - added by async / added by sync, the median of rounds; its confidence interval (95 %, by ranks)."
    if experiment.rounds < FEWEST:
        note += f" With fewer than {FEWEST} rounds there is none."
    columns = (
        "ranks", "output by", "added by sync [s]", "added by async [s]", "hidden [%]", "at least [%]", "at most [%]",
    )  # fmt: skip
    return Table("Overlap of asynchronous output", columns, rows, note)


def _costs(costs: dict[str, Cost]) -> Table:
    rows = [
        (name, 1e3 * each.alpha, None if each.beta == 0.0 else 1e-9 / each.beta, 100.0 * each.error)
        for name, each in costs.items()
    ]
    note = (
        "A time level that a rank writes and reads takes alpha + bytes / rate, times ranks / cores where there are "
        "more ranks than cores. error: greatest error of the fit over all numbers of ranks."
    )
    return Table("Model of the cost of a level", ("store", "alpha [ms]", "rate [GB/s]", "error [%]"), rows, note)


def _shares(experiment: Experiment, found: Sequence[RankMeasurements]) -> list[dict[str, Any]]:
    return [
        {"ranks": each.ranks, "by": name, **_median(hidden(each, name))}
        for each in found
        for name in experiment.outputs
    ]


def _median(share: Median | None) -> dict[str, float | None]:
    return {"median": None, "low": None, "high": None} if share is None else asdict(share)


def _numbers(costs: Mapping[str, Cost | None]) -> dict[str, Any]:
    return {name: None if each is None else asdict(each) for name, each in costs.items()}
