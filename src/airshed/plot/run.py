"""`airshed plot RUN`: all pictures of a run."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache, partial
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from airshed.core.atomic import guarded, write_whole
from airshed.core.errors import CaseError
from airshed.evaluate.evaluation import Evaluation
from airshed.io.folder import PICTURES, SOFTWARE
from airshed.io.results import open_run
from airshed.plot.animation import draw_animation
from airshed.plot.curtain import check_latitude, draw_curtain
from airshed.plot.difference import Difference
from airshed.plot.land_series import draw_land_series
from airshed.plot.limits import Scale
from airshed.plot.maps import draw_maps, map_scale
from airshed.plot.results import Results
from airshed.plot.series import MOST_CURVES, draw_series
from airshed.plot.stations import Stations
from airshed.plot.style import look
from airshed.plot.units import daily

HOURS = (3, 9, 15, 21)
"""Hours of the day [UTC] that are mapped by default."""

_FLAT = 0.03
_METADATA: Final[Mapping[str, dict[str, str | None]]] = {
    "png": {"Software": SOFTWARE},
    "svg": {"Creator": SOFTWARE, "Date": None},
    "pdf": {"Creator": SOFTWARE, "CreationDate": None},
}
FORMATS: Final = tuple(_METADATA)
"""Formats of pictures."""

_FILM = 6.0


def plot_run(
    run: str | Path,
    output: str | Path | None = None,
    fields: str | Sequence[str] | None = None,
    hours: float | Sequence[float] | None = None,
    *,
    animation: bool = True,
    singles: bool = False,
    latitude: float | None = None,
    reference: str | Path | None = None,
    observations: Evaluation | str | Path | Sequence[str | Path] | None = None,
    kind: str = "png",
    on_progress: Callable[[str, float], object] = lambda now, done: None,
) -> list[Path]:
    """Draw maps, time series, curtains and an animation of a finished run.

    A run with one output time has no time series and no animation. Fields on one level have no curtain.

    Parameters
    ----------
    run
        Folder or file of a finished run.
    output
        Folder for the PNG and GIF files, by default RUN/maps; each file is complete or missing.
    fields
        Variables to draw, by default O3 and NO2, or else all mixing ratios in the file.
    hours
        Hours of the day [UTC] to map, on the last day that has them, by default 3, 9, 15 and 21; for daily output
        four days.
    animation
        Whether to animate the first field.
    singles
        Whether to draw also one picture for each field and hour.
    latitude
        Latitude of the curtains [degrees north], by default the one with the largest population nearby. For tracers
        and in runs with only point sources it is that of the maximum.
    reference
        Another run of the same grid: differences ``run - reference`` are drawn.
    observations
        Files or folders of observations, or an evaluation, which `airshed.evaluate` returns: maps show the value of
        each station as a dot.
    kind
        Format of the pictures: png, svg or pdf. An animation is a GIF.
    on_progress
        Function that receives the name of the next picture and the completed part, 0 to 1.

    Returns
    -------
    list of pathlib.Path
        The files.

    Raises
    ------
    OutputError
        If the run is missing, unfinished or damaged, or if a picture cannot be written.
    DataError
        If a field is not in the file.
    CaseError
        If an hour or the latitude is wrong.

    Examples
    --------
    >>> airshed.plot.plot_run("runs/west-europe", fields=["O3"], hours=[6, 12, 18])
    """
    run, fields = Path(run), [fields] if isinstance(fields, str) else fields
    hours = [hours] if isinstance(hours, int | float) else hours
    folder = Path(output) if output is not None else (run if run.is_dir() else run.parent) / PICTURES
    if kind not in FORMATS:
        raise CaseError(f"pictures cannot be {kind!r}; choose {', '.join(FORMATS)}")
    with ExitStack() as stack:
        dataset = stack.enter_context(open_run(run))
        stack.enter_context(look())
        if reference is None:
            results = Results(dataset, run)
        else:
            other = Path(reference)
            results = Difference(dataset, run, stack.enter_context(open_run(other)), other)
        chosen = results.chosen(fields)
        if hours is None and daily(results.times):
            times = spread_days(results.times)
        else:
            times = times_of(results.times, HOURS, nearest=True) if hours is None else times_of(results.times, hours)
        check_latitude(results, latitude)  # before anything is written
        stations = None if observations is None else Stations.read(results, observations)
        if stations is not None:
            stations.check(chosen, times)
        of_maps = results, times, stations
        jobs = list(_jobs(of_maps, chosen, latitude, singles=singles, animation=animation, kind=kind))
        files, whole, done = _Files(folder), sum(job.cost for job in jobs), 0.0
        for job in jobs:
            on_progress(f"drawing {job.name}", done / whole)
            job.draw(files)
            done += job.cost
    return files.written


@dataclass(frozen=True)
class _Job:
    """A picture to draw: its file name, the time that it takes relative to others, and the function that draws it."""

    name: str
    cost: float
    draw: Callable[["_Files"], None]


def _jobs(
    of_maps: tuple[Results, Sequence[int], Stations | None], fields: Sequence[str], latitude: float | None, *,
    singles: bool, animation: bool, kind: str,
) -> Iterator[_Job]:  # fmt: skip
    """Yield the pictures of a run in their order.

    of_maps  the results, the times of the maps, and the stations on them
    """
    results, times, stations = of_maps
    suffix = "_difference" if results.is_difference else ""

    def figure(stem: str, draw: Callable[[], Figure], cost: float = 1.0) -> _Job:
        name = f"{stem}{suffix}.{kind}"
        return _Job(name, cost, lambda files: files.save(name, draw()))

    for field in fields:
        scale = cache(partial(map_scale, results, field, times, stations))
        yield figure(field, partial(_maps, results, field, times, scale, stations))
        for time in times if singles else ():
            moment = str(results.times[time].astype("datetime64[m]")).replace(":", "")
            yield figure(f"{field}_{moment}", partial(_maps, results, field, [time], scale, stations), 0.5)
        if results.has_levels(field):
            yield figure(f"{field}_curtain", partial(draw_curtain, results, field, times, latitude))
    series = results.times.size > 1
    for group in _on_one_axis(results, fields) if series else ():
        place, draw = ("land", draw_land_series) if results.is_land else ("cities", draw_series)
        yield figure(f"{'_'.join(group)}_{place}", partial(draw, results, group))
    if animation and series:
        name, first = f"{fields[0]}{suffix}.gif", fields[0]
        yield _Job(name, _FILM, lambda files: files.write(name, draw_animation(results, first)))


def _maps(
    results: Results, field: str, times: Sequence[int], scale: Callable[[], Scale], stations: Stations | None
) -> Figure:
    return draw_maps(results, field, times, scale(), stations)


def times_of(times: NDArray[np.datetime64], hours: Sequence[float], *, nearest: bool = False) -> list[int]:
    """Return the indices of the times nearest to some hours of the last day that has them all, each index once.

    Without such a day, each hour is that of the last day that has it.

    nearest  whether the nearest end of the run replaces an hour that it does not have

    Raises CaseError for no hours, for one that is not of a day, and unless `nearest` for one that the run does not
    have.
    """
    if len(hours) == 0 or not all(0 <= hour <= 24 for hour in hours):
        raise CaseError(f"hours to map are {list(hours)}; give one or more numbers from 0 to 24, such as 3, 9, 15, 21")
    wanted = np.round(np.asarray(hours, dtype=np.float64) * 3600).astype("timedelta64[s]")
    days = np.unique(times.astype("datetime64[D]"))[::-1].astype("datetime64[s]")
    whole = [day for day in days if times[0] <= day + wanted.min() and day + wanted.max() <= times[-1]]
    moments = []
    for hour, after in zip(hours, wanted, strict=True):
        there = [day + after for day in whole[:1] or days if times[0] <= day + after <= times[-1]]
        if not there and not nearest:
            first, last = (str(end.astype("datetime64[m]")).replace("T", " ") for end in times[[0, -1]])
            raise CaseError(f"hour {hour:g} is not in the run, which has times from {first} to {last} UTC")
        moments.append(there[0] if there else days[-1] + after)
    return sorted({int(np.argmin(np.abs(times - moment))) for moment in moments})


def spread_days(times: NDArray[np.datetime64]) -> list[int]:
    """Return the indices of times at the ends of four even parts of a run, fewer of a short one."""
    parts = min(len(HOURS), times.size - 1)
    return [round((times.size - 1) * (part + 1) / parts) for part in range(parts)]


class _Files:
    """Pictures of a run: writes them into a folder and lists them."""

    def __init__(self, folder: Path) -> None:
        self.written: list[Path] = []
        self._folder = folder
        with guarded(folder):
            folder.mkdir(parents=True, exist_ok=True)

    def save(self, name: str, figure: Figure) -> None:
        """Write a figure in the format of a file name: PNG, SVG or PDF."""
        buffer, kind = BytesIO(), Path(name).suffix[1:]
        options: dict[str, Any] = {"pil_kwargs": {"compress_level": 4}} if kind == "png" else {}
        figure.savefig(buffer, format=kind, dpi=figure.dpi, metadata=_METADATA[kind], **options)
        self.write(name, buffer.getvalue())

    def write(self, name: str, content: bytes) -> None:
        """Write a file whole or not at all."""
        path = self._folder / name
        with write_whole(path) as part:
            part.write_bytes(content)
        self.written.append(path)


def _on_one_axis(results: Results, fields: Sequence[str]) -> list[list[str]]:
    """Group fields that can share an axis: of one unit and similar size, at most one for each colour."""
    groups: list[list[str]] = []
    for field in fields:
        fitting = (group for group in groups if len(group) < MOST_CURVES and _fit(results, group[0], field))
        group = next(fitting, None)
        if group is None:
            groups.append([field])
        else:
            group.append(field)
    return groups


def _fit(results: Results, one: str, other: str) -> bool:
    """Return whether curves of two fields can share an axis: one layer, one unit, and similar size."""
    if results.layer(one) != results.layer(other):
        return False
    sizes = sorted(float(np.nanmax(np.abs(results.ground(field)), initial=0.0)) for field in (one, other))
    return results.quantity(one).unit == results.quantity(other).unit and sizes[0] >= _FLAT * sizes[1]
