"""Files of observations that an evaluation reads, with tables of stations and a time convention."""

import glob
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import numpy as np

from airshed.core.errors import CaseError, DataError
from airshed.core.text import duration, listed
from airshed.core.units import to
from airshed.evaluate.run_fields import Window
from airshed.observations.layouts import FileOptions
from airshed.observations.observation import Observations
from airshed.observations.reading import FileSummary, read_observations
from airshed.observations.selection import OUTSIDE_WINDOW, ObservationSelection
from airshed.observations.station import read_station_tables
from airshed.observations.time_convention import TimeConvention

TABLE: Final = "stations.csv"
"""Name of the station table that is read by default, in the folder of the observations."""

SUFFIXES: Final = (".csv", ".tsv", ".nc", ".gz")
"""Suffixes of the files that are read from a folder."""

_DATE: Final = re.compile(r"\.\d{1,2}-\d{1,2}-\d{4}")


@dataclass(frozen=True)
class ObservationFiles:
    """Files of observations, with the settings that they do not contain."""

    paths: tuple[Path, ...]
    stations: tuple[Path, ...]
    time: TimeConvention | None
    averaging: float | None
    options: FileOptions

    @classmethod
    def of(
        cls, paths: Sequence[Path], stations: Sequence[Path], *, time: TimeConvention | Mapping[str, str] | None,
        averaging: str | float | None, units: Mapping[str, str] | None,
    ) -> Self:  # fmt: skip
        """Check the settings; raises CaseError for an invalid time convention or averaging period."""
        paths = [file for path in paths for file in _files_of(path)]
        others = [path for path in paths if path.name != TABLE]  # a lone file of that name holds observations
        tables = list(stations) or sorted({each for path in others if (each := path.parent / TABLE).is_file()})
        period = to(averaging, "s", where="averaging") if isinstance(averaging, str) else averaging
        if period is not None and not 0.0 <= period < np.inf:
            raise CaseError(f"averaging is {duration(period)}; give 0 s for instants, or more for means")
        return cls(
            tuple(path for path in paths if path.name != TABLE or path not in tables), tuple(tables), _convention(time),
            period, FileOptions(units=dict(units or {})),
        )  # fmt: skip

    def read(
        self, window: Window, selection: ObservationSelection, on_progress: Callable[[str], None]
    ) -> tuple[Observations, list[FileSummary]]:
        """Return the observations and a summary of each file; raises DataError where none is left."""
        table = read_station_tables(self.stations) if self.stations else None
        summaries = []
        for path in self.paths:
            on_progress(f"reading {path}")
            summaries += read_observations(
                [path], window[0], selection, stations=table, time=self.time, averaging=self.averaging,
                options=self.options,
            )  # fmt: skip
        if not selection.count:
            _raise_where_outside(window, selection, summaries)
        return selection.observations(weighted=False), summaries


def _files_of(path: Path) -> list[Path]:
    """Return the files of a folder, or the matches of a pattern such as ``data/*.csv``; else the path."""
    if path.is_dir():
        found = sorted(each for each in path.iterdir() if _may_hold(each))
        if all(each.name == TABLE for each in found):
            raise DataError(f"{path} has no file of observations ({', '.join(SUFFIXES)}) except {TABLE}")
        return found
    if path.exists() or not glob.has_magic(str(path)):
        return [path]
    found = sorted(Path(each) for each in glob.glob(str(path), recursive=True))
    if not found:
        raise CaseError(f"no file of observations matches {path}")
    return found


def is_text_file(path: Path) -> bool:
    """Return whether a path is a text file of observations by its name, and so no run."""
    return path.suffix.lower() != ".nc" and path.is_file() and (_may_hold(path) or path.suffix.lower() == ".txt")


def _may_hold(path: Path) -> bool:
    """Return whether a file of a folder may be one of observations; raw files of AirBase end with a date."""
    suffix = path.suffix.lower()
    return not path.name.startswith(".") and (suffix in SUFFIXES or _DATE.fullmatch(suffix) is not None)


def moment(time: np.datetime64) -> str:
    """Return a time such as "2022-08-31 14:00"."""
    return str(time.astype("datetime64[m]")).replace("T", " ")


def _convention(time: TimeConvention | Mapping[str, str] | None) -> TimeConvention | None:
    if time is None or isinstance(time, TimeConvention):
        return time
    if set(time) != {"zone", "label"}:
        raise CaseError('the time convention needs a zone and a label, as in {"zone": "Europe/Berlin", "label": "end"}')
    return TimeConvention(time["zone"], time["label"])


def _raise_where_outside(window: Window, selection: ObservationSelection, files: Sequence[FileSummary]) -> None:
    """Raise DataError where all observations are of another period, or all stations in another area."""
    rejected = [row for row in selection.rejected if "outside" in row.reason]
    away = sorted({row.station for row in rejected if row.reason != OUTSIDE_WINDOW and row.station})
    if away:
        raise DataError(f"no station lies in the area of the run; outside are {listed(away)}")
    first, last = min(each.first for each in files), max(each.last for each in files)
    if rejected and np.isfinite([first, last]).all():
        ends = [moment(window[0] + np.timedelta64(round(each), "s")) for each in (first, last)]
        raise DataError(
            f"no observation lies within the period of the run: it has {moment(window[0])} to {moment(window[1])}, "
            f"the observations {ends[0]} to {ends[1]}, both UTC"
        )
