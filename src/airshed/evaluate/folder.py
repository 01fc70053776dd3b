"""Folder of an evaluation: written completely or not at all; it replaces only an earlier evaluation."""

import csv
import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from airshed.core.atomic import guarded, part_path
from airshed.core.errors import OutputError
from airshed.evaluate.evaluation import Evaluation
from airshed.evaluate.pairing import monet_datasets
from airshed.evaluate.score_table import columns
from airshed.io.folder import EVALUATED

FOLDER, _, MARK = EVALUATED.partition("/")


def default_folder(run: Path) -> Path:
    """Return the default folder: RUN/evaluation, or evaluation/ next to a run that is a file or a Zarr store."""
    return (run if run.is_dir() and not run.suffix else run.parent) / FOLDER


@contextmanager
def replaced_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder that replaces ``folder`` at the end of the block.

    If the block raises, ``folder`` is unchanged. Raises OutputError for a folder with other files than an earlier
    evaluation, and for errors of the file system.
    """
    check_folder(folder)
    part, earlier = part_path(folder), part_path(folder)
    with guarded(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        part.mkdir()
    try:
        with guarded(folder):
            yield part
            if folder.exists():
                folder.rename(earlier)
            part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
        shutil.rmtree(earlier, ignore_errors=True)


def check_folder(folder: Path) -> None:
    """Raise OutputError for a folder that may not be replaced."""
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MARK).is_file():
        raise OutputError(f"{folder} holds other files than an evaluation; choose another folder with --output")
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} is a file; choose another folder with --output")


def write_tables(evaluation: Evaluation, folder: Path) -> None:
    """Write statistics.csv, statistics.json, report.txt, rejected.csv and the pairs of each run."""
    report = evaluation.report()
    names, rows = columns(evaluation.scores)
    _write_csv(folder / "statistics.csv", names, [["" if cell != cell else cell for cell in row] for row in rows])
    statistics = [
        {name: None if value != value else value for name, value in zip(names, row, strict=True)} for row in rows
    ]
    found = {**report.to_dict(), "statistics": statistics}
    (folder / MARK).write_text(json.dumps(found, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    (folder / "report.txt").write_text(report.to_text(), encoding="utf-8")
    _write_csv(
        folder / "rejected.csv", ("file", "place", "station", "value", "reason", "rows"),
        [(row.file, row.place, row.station, row.value, row.reason, row.rows) for row in evaluation.rejected],
    )  # fmt: skip
    for number, run in enumerate(evaluation.matched.runs):
        for suffix, dataset in monet_datasets(evaluation.matched, number):
            path = folder / f"pairs_{run.replace('/', '_')}{suffix}.nc"
            dataset.to_netcdf(path, engine="netcdf4", encoding={"time": {"units": "seconds since 1970-01-01"}})


def _write_csv(path: Path, names: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(rows)
