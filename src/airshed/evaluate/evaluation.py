"""Evaluation of finished runs against station observations."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from airshed.core.arrays import Array
from airshed.core.errors import CaseError, DataError
from airshed.core.report import Cell, Report, Table
from airshed.core.text import counted, listed, number
from airshed.evaluate.matching import read_comparable
from airshed.evaluate.members import ensemble_tables, is_ensemble, is_sweep, member_runs
from airshed.evaluate.observation_files import ObservationFiles, is_text_file, moment
from airshed.evaluate.pairing import (
    PLACEMENTS,
    Pairs,
    Placement,
    pair,
    pair_dataset,
    size_in_unit,
)
from airshed.evaluate.run_fields import SUMS, SURFACE, RunFields, Window
from airshed.evaluate.score_table import Score, columns, difference_table, report_tables, score_table
from airshed.grid import Grid
from airshed.observations.observation import Observations
from airshed.observations.reading import FileSummary, files_table
from airshed.observations.selection import (
    SAME_PLACE,
    RejectedRow,
    rejected_rows_table,
)
from airshed.observations.time_convention import TimeConvention

HIGH: Final = 500.0
"""Altitude [m] above which the report lists stations in the lowest layer."""


@dataclass(frozen=True)
class EvaluationOptions:
    """Settings of an evaluation.

    species    species to compare; empty: all species that runs and observations have in common
    placement  "bilinear" between cell centres, or "cell": the value of the cell that contains the station
    traffic    whether traffic stations are scored
    """

    species: tuple[str, ...] = ()
    placement: Placement = "bilinear"
    traffic: bool = False


@dataclass(frozen=True)
class RunInfo:
    """Label, title, path and period of a run."""

    label: str
    title: str
    path: Path
    period: Window


@dataclass(frozen=True, eq=False)
class MeanFields:
    """Mean of each species in the lowest layer of a run (lat, lon), in the unit of the pairs."""

    grid: Grid
    fields: Mapping[str, Array]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Pairs of observed and modelled values, and their statistics.

    absent   observed species that a run does not have
    classes  class of each station, such as "urban background"; "" where it is not known
    maps     the mean fields of each run; none of the members of a sweep
    ensemble whether the runs are the members of one ensemble
    """

    runs: tuple[RunInfo, ...]
    files: tuple[FileSummary, ...]
    options: EvaluationOptions
    matched: Pairs
    scores: tuple[Score, ...]
    rejected: tuple[RejectedRow, ...]
    absent: tuple[str, ...] = ()
    conventions: dict[str, Cell] = field(default_factory=dict)
    classes: Mapping[str, str] = field(default_factory=dict)
    unscored: frozenset[str] = frozenset()
    maps: tuple[MeanFields, ...] = ()
    ensemble: bool = False

    def __repr__(self) -> str:
        of = self.matched.observations
        where = counted(len(np.unique(of.station)), "station")
        return f"<Evaluation of {', '.join(run.label for run in self.runs)}: {len(of)} pairs at {where}>"

    @property
    def pairs(self) -> Any:
        """All pairs as an xarray.Dataset, see :func:`airshed.evaluate.pairing.pair_dataset`."""
        return pair_dataset(self.matched)

    @property
    def statistics(self) -> Any:
        """All statistics as a pandas.DataFrame: a row for each run, species and group of stations."""
        import pandas as pd  # type: ignore[import-untyped]

        names, rows = columns(self.scores)
        return pd.DataFrame(rows, columns=names)

    def report(self) -> Report:
        """Return the report that the command prints."""
        of = self.matched.observations
        facts: dict[str, Cell] = {
            "observations": listed([Path(each.path).name for each in self.files]),
            "period": f"{_span((self.matched.start, self.matched.end))} UTC",
            "stations": len(np.unique(of.station)),
            "pairs": len(of),
            "rows rejected": sum(row.rows for row in self.rejected),
            **self.conventions,
        }
        if self.absent:
            facts["not in the run"] = f"{', '.join(self.absent)}: observed, but cannot be compared"
        tables: list[Table] = [*difference_table(self.scores), *report_tables(self.scores)]
        if self.ensemble:
            tables = [*ensemble_tables(self.matched, self.unscored), *report_tables(self.scores)]
        tables.append(files_table(self.files))
        if self.rejected:
            tables.append(rejected_rows_table(self.rejected))
        return Report(f"Evaluation of {', '.join(run.label for run in self.runs)}", tables, facts)


def evaluate(
    run: str | Path | Sequence[str | Path],
    observations: str | Path | Sequence[str | Path],
    *,
    stations: str | Path | Sequence[str | Path] = (),
    time: TimeConvention | Mapping[str, str] | None = None,
    averaging: str | float | None = None,
    units: Mapping[str, str] | None = None,
    species: Sequence[str] = (),
    placement: str = "bilinear",
    traffic: bool = False,
    on_progress: Callable[[str], None] = lambda what: None,
) -> Evaluation:
    """Compare finished runs with station observations.

    Parameters
    ----------
    run : path or sequence of paths
        Run folders, output files, or a sweep; the members of an ensemble are scored together, too.
    observations : path or sequence of paths
        Files or folders of observations.
    stations : path or sequence of paths
        Station tables; by default ``stations.csv`` in the folder of the observations, if it exists.
    time : mapping with ``zone`` and ``label``
        Time convention, such as ``{"zone": "Europe/Berlin", "label": "end"}``; by default that of the layout.
    averaging : str or number of seconds
        Averaging period, such as ``"1 h"``; by default that of the layout.
    units : mapping
        Unit by pollutant for files without units.
    species : sequence of names
        Species to compare; by default all species that runs and observations have in common.
    placement : "bilinear" or "cell"
        Interpolate between the centres of cells, or take the cell that contains the station.
    traffic : bool
        Whether traffic stations are scored.
    on_progress : callable
        Callback with the name of the current task.

    Returns
    -------
    Evaluation
        With ``pairs`` (xarray.Dataset) and ``statistics`` (pandas.DataFrame).

    Raises
    ------
    OutputError
        For a run that is missing, unfinished or damaged.
    DataError
        For unusable observations, or if no pairs remain.
    CaseError
        For an invalid setting.

    Examples
    --------
    >>> found = airshed.evaluate("runs/west-europe", "observations/eea")
    >>> found.statistics
    """
    if placement not in PLACEMENTS:
        raise CaseError(f"the placement is {placement!r}; give bilinear or cell")
    settings = EvaluationOptions(tuple(species), "cell" if placement == "cell" else "bilinear", traffic)
    source = ObservationFiles.of(
        _paths(observations), _paths(stations, least=0), time=time, averaging=averaging, units=units
    )
    given = _paths(run)
    for path in given:
        if is_text_file(path):
            raise CaseError(f"{path} is not a run; give --observations before each file of observations")
    runs = member_runs(given)
    with ExitStack() as stack:
        opened = [stack.enter_context(RunFields(path, label)) for path, label in zip(runs, _labels(runs), strict=True)]
        window = _window(opened)
        comparable = read_comparable(source, opened, window, settings.species, on_progress)
        on_progress("pairing")
        altitudes = {name: station.altitude for name, station in comparable.stations.items()}
        matched = pair(opened, comparable.observations, window, settings.placement, comparable.stations)
        if not len(matched.observations):
            raise DataError(f"no observed interval lies within the period of the run, {_span(window)} UTC")
        maps = () if any(is_sweep(path) for path in given) else tuple(
            MeanFields(each.grid, {
                name: each.mean_field(name, window) * size_in_unit(each, name, unit)
                for name, unit in matched.units.items()
            })
            for each in opened
        )  # fmt: skip
        infos = tuple(RunInfo(each.label, each.title, each.path, each.period) for each in opened)
        has_surface = opened[0].surface_altitude is not None
    classes, unscored = comparable.classes, comparable.unscored(traffic=traffic)
    return Evaluation(
        infos, comparable.files, settings, matched, tuple(score_table(matched, classes, unscored)),
        (*comparable.rejected, *matched.rejected), comparable.absent,
        {
            **_conventions(matched, settings), **_heights(matched, altitudes, has_surface=has_surface),
            **_several_places(matched.observations),
        },
        classes, unscored, maps, len(given) == 1 and is_ensemble(given[0]),
    )  # fmt: skip


def _paths(given: str | Path | Sequence[str | Path], least: int = 1) -> list[Path]:
    found = [Path(given)] if isinstance(given, str | Path) else [Path(each) for each in given]
    if len(found) < least:
        raise CaseError("an evaluation needs at least one run and one file of observations")
    return found


def _labels(paths: Sequence[Path]) -> list[str]:
    """Return a name for each run: that of its folder, with the folder above where two are alike."""
    names = [path.resolve().stem if path.is_file() else path.resolve().name for path in paths]
    if len(set(names)) < len(names):
        names = ["/".join(path.resolve().parts[-2:]) for path in paths]
    if len(set(names)) < len(names):
        raise CaseError(f"{listed(names)}: the same run is given more than once; give each once")
    return names


def _window(runs: Sequence[RunFields]) -> Window:
    """Return the period that all runs have in common."""
    start = max(run.period[0] for run in runs)
    end = min(run.period[1] for run in runs)
    if end <= start:
        periods = "; ".join(f"{run.path} from {moment(run.period[0])} to {moment(run.period[1])}" for run in runs)
        raise DataError(f"there is no common period of output: {periods}")
    return start, end


def _conventions(matched: Pairs, options: EvaluationOptions) -> dict[str, Cell]:
    means = set(matched.by_means.values())
    over = {True: "time means of the run", False: "integral between its instants, linear in time"}
    places = {"bilinear": "bilinear between cell centres", "cell": "the cell that contains the station"}
    return {
        "place": places[options.placement],
        "time": f"the mean over each observed interval: {' or '.join(over[each] for each in sorted(means))}",
        "gases in ug/m3": "at 293 K and 101.3 kPa",
        **({"NOx": "NO + NO2, as NO2"} if any(name in matched.units for name in SUMS) else {}),
    }


def _heights(matched: Pairs, altitudes: Mapping[str, float], *, has_surface: bool) -> dict[str, Cell]:
    """Return the treatment of station heights, and stations at high altitude."""
    facts = {"height": "the lowest layer, or the one of the inlet"}
    if matched.raised:
        layers = [
            f"{name} ({number(low)} to {number(high)} m above ground)" for name, (low, high) in matched.raised.items()
        ]
        facts["in a higher layer"] = listed(layers)
    present = set(matched.observations.station.tolist())
    high = sorted(name for name, altitude in altitudes.items() if altitude > HIGH and name in present)
    if high and not has_surface:
        facts[f"above {number(HIGH)} m"] = f"{listed(high)}: in the lowest layer, since the run has no {SURFACE}"
    return dict(facts)


def _several_places(of: Observations) -> dict[str, Cell]:
    """Return which stations have more than one place."""
    several = [
        str(name) for name in np.unique(of.station)
        if max(np.ptp(of.lon[of.station == name]), np.ptp(of.lat[of.station == name])) > SAME_PLACE
    ]  # fmt: skip
    return {"at several places": f"{listed(several)}: one station may move, or two have one name"} if several else {}


def _span(window: Window) -> str:
    return f"{moment(window[0])} to {moment(window[1])}"
