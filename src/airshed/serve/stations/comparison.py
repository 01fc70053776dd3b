"""Comparison of the sessions of a server with observations: files are read once, pairs are made as the run goes on."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final

import numpy as np

from airshed.case.case import RunCase
from airshed.core.arrays import Array
from airshed.core.errors import AirshedError
from airshed.evaluate.matching import ComparableObservations, read_comparable
from airshed.evaluate.observation_files import ObservationFiles
from airshed.evaluate.pairing import Pairs, in_common_units, pair, selected, size_in_unit
from airshed.evaluate.run_fields import MASS_UNITS, RunFields, Window
from airshed.evaluate.score_table import Group, Score, score_table
from airshed.observations.observation import Observations
from airshed.observations.station import Station
from airshed.serve.protocol import stations as documents
from airshed.serve.protocol.errors import NotThereError
from airshed.serve.stations.recorded_run import recorded_run

if TYPE_CHECKING:
    from airshed.serve.fields.published import Session

FOLDER: Final = "observations"
"""Folder of a case with the observations that a server shows."""

_GROUPS: Final[tuple[Group, ...]] = ("pooled", "class", "station")
_MOST_PAIRS: Final = 32
"""Pairs of a session and species in the cache."""

_INSTANT: Final = 1e-3
"""Round-off of times [s]."""


def case_observations(case: RunCase) -> ObservationFiles | None:
    """Return the files in the folder ``observations`` of a case; None without one, or where it has no such files."""
    folder = None if case.file is None else case.file.parent / FOLDER
    if folder is None or not folder.is_dir():
        return None
    try:
        return ObservationFiles.of([folder], [], time=None, averaging=None, units=None)
    except AirshedError:
        return None


@dataclass(frozen=True, eq=False)
class ObservedSession:
    """Observations of a session, and the period of its run; times of observations count from the window's start.

    offset  start of the window [s] since the start of the case
    """

    data: ComparableObservations
    window: Window
    offset: float

    def of(self, species: str) -> Observations:
        """Return the observations of a species; raises NotThereError for another one."""
        rows = self.data.observations.species == species
        if not rows.any():
            known = ", ".join(sorted(set(self.data.observations.species.tolist())))
            raise NotThereError(f"no station observes {species!r}; observed are: {known}")
        return selected(self.data.observations, rows)


@dataclass
class StationComparison:
    """Observations of the sessions of a server.

    files  of all sessions; without them each session has those of its case
    """

    files: ObservationFiles | None = None
    _lock: Lock = field(default_factory=Lock)
    _read: OrderedDict[object, ObservedSession | AirshedError] = field(default_factory=OrderedDict)
    _pairs: OrderedDict[object, Pairs | None] = field(default_factory=OrderedDict)

    def stations(self, session: "Session") -> documents.StationList:
        """Return the stations of a session; without usable observations the reason."""
        try:
            with self._opened(session) as (run, compared):
                return _listed(run, compared)
        except NotThereError as absent:
            return documents.StationList(problem=str(absent))
        except AirshedError as error:
            return documents.StationList(problem=f"the observations are not shown: {error}")

    def pairs(self, session: "Session", species: str) -> documents.StationPairs:
        """Return the series of a species at all stations."""
        with self._opened(session) as (run, compared):
            rows, matched = compared.of(species), self._matched(session, run, compared, species)
            common = in_common_units(rows, [run])
            modelled = _modelled(common, matched)
            series = [
                _series(common, modelled, name, compared.offset) for name in dict.fromkeys(common.station.tolist())
            ]
        return documents.StationPairs(variable=species, unit=str(common.unit[0]), series=series)

    def series(self, session: "Session", station: str, species: str) -> documents.StationSeries:
        """Return the series of a species at a station."""
        for each in self.pairs(session, species).series:
            if each.station == station:
                return each
        raise NotThereError(f"there is no station {station!r} that observes {species}")

    def scores(self, session: "Session", species: str, until: float | None = None) -> documents.StationScores:
        """Return the scores of a species for the pairs up to a time [s since the start of the case]."""
        with self._opened(session) as (run, compared):
            common = in_common_units(compared.of(species), [run])
            matched = self._matched(session, run, compared, species)
        last = np.inf if until is None else until - compared.offset + _INSTANT
        end = compared.offset + (0.0 if matched is None else float(matched.observations.end.max(initial=0.0)))
        found: Sequence[Score] = ()
        if matched is not None:
            early = _until(matched, last)
            if len(early.observations):
                found = score_table(early, compared.data.classes, compared.data.unscored(traffic=False))
        return documents.StationScores(
            variable=species, unit=str(common.unit[0]), until=end if until is None else until,
            scores=[_score(each) for each in found if each.group in _GROUPS],
        )  # fmt: skip

    @contextmanager
    def _opened(self, session: "Session") -> Iterator[tuple[RunFields, ObservedSession]]:
        """Return the records of a session as a run, and its observations; one thread at a time."""
        source = self.files or session.observations
        if source is None:
            raise NotThereError("there are no observations; give them with --observations")
        if session.recorded is None:
            raise NotThereError(f"session {session.name} records no fields to compare with observations")
        session.recorded.flush()
        with self._lock, _run_of(session) as run:
            key = id(source), session.shape.grid.model_dump_json(), _window(session, run), tuple(run.species)
            if key not in self._read:
                self._read[key] = _observations_of(source, session, run)
            found = self._read[key]
            if isinstance(found, AirshedError):
                raise found
            yield run, found

    def _matched(self, session: "Session", run: RunFields, compared: ObservedSession, species: str) -> Pairs | None:
        """Return the pairs of a species so far; None where there is none."""
        assert session.recorded is not None
        moments = session.recorded.moments
        if not moments:
            return None
        last, rewinds = moments[-1], session.recorded.rewinds
        key = session.name, id(session.recorded), species, rewinds, len(moments), last.step, last.seconds
        if key not in self._pairs:
            found = pair([run], compared.of(species), compared.window, stations=compared.data.stations)
            self._pairs[key] = found if len(found.observations) else None
            if len(self._pairs) > _MOST_PAIRS:
                self._pairs.popitem(last=False)
        return self._pairs[key]


def _run_of(session: "Session") -> RunFields:
    """Return the output of a finished run, or the records of a live session."""
    return recorded_run(session) if session.finished is None else RunFields(session.finished.folder, session.name)


def _window(session: "Session", run: RunFields) -> Window:
    """Return the period to compare: of a finished run that of its output, of a live session that of its case."""
    if session.finished is not None:
        return run.period
    start = _start(session)
    return start, start + np.timedelta64(round(1e3 * session.state.end), "ms")


def _start(session: "Session") -> np.datetime64:
    """Return the start of the case, UTC."""
    if session.finished is not None:
        return np.datetime64(session.finished.info.start.removesuffix("Z"), "ms")
    state = session.state
    return np.datetime64(state.time.removesuffix("Z"), "ms") - np.timedelta64(round(1e3 * state.seconds), "ms")


def _observations_of(source: ObservationFiles, session: "Session", run: RunFields) -> ObservedSession | AirshedError:
    """Read the observations of a session; return an error instead of raising it, so that it is found once."""
    window = _window(session, run)
    try:
        data = read_comparable(source, [run], window)
    except AirshedError as error:
        return error
    return ObservedSession(data, window, float((window[0] - _start(session)) / np.timedelta64(1, "s")))


def _listed(run: RunFields, compared: ObservedSession) -> documents.StationList:
    """Return the stations with their positions on the map."""
    of, unscored = compared.data.observations, compared.data.unscored(traffic=False)
    names, first = np.unique(of.station, return_index=True)
    x, y = run.grid.locate(of.lon[first], of.lat[first])
    stations = []
    for number, name in enumerate(names.tolist()):
        known = compared.data.stations.get(name, Station(name))
        stations.append(
            documents.StationInfo(
                id=name, name=known.name or name, lon=float(of.lon[first[number]]), lat=float(of.lat[first[number]]),
                x=float(x[number]), y=float(y[number]), altitude=_number(known.altitude), area=known.area,
                type=known.type, network=known.network, scored=name not in unscored,
                pollutants=list(dict.fromkeys(of.species[of.station == name].tolist())),
            )
        )  # fmt: skip
    return documents.StationList(
        stations=stations, pollutants=_pollutants(run, of), files=[Path(each.path).name for each in compared.data.files]
    )


def _pollutants(run: RunFields, of: Observations) -> list[documents.Pollutant]:
    common = in_common_units(of, [run])
    found = []
    for name in dict.fromkeys(common.species.tolist()):
        unit = str(common.unit[common.species == name][0])
        source = run.members(name)[-1]
        factor = MASS_UNITS.get(str(source.dataset[source.name].attrs.get("units", "")), None)
        found.append(documents.Pollutant(name=name, unit=unit, factor=factor or size_in_unit(run, name, unit)))
    return found


def _modelled(of: Observations, matched: Pairs | None) -> Array:
    """Return the modelled value of each observation; NaN without one."""
    if matched is None:
        return np.full(len(of), np.nan)
    pairs = matched.observations
    known = dict(zip(_keys(pairs), matched.modelled[0].tolist(), strict=True))
    return np.array([known.get(key, np.nan) for key in _keys(of)])


def _keys(of: Observations) -> list[tuple[str, float, float, float, float]]:
    columns = (of.station, of.lon, of.lat, of.begin, of.end)
    return list(zip(*(each.tolist() for each in columns), strict=True))


def _series(of: Observations, modelled: Array, station: str, offset: float) -> documents.StationSeries:
    rows = np.flatnonzero(of.station == station)
    rows = rows[np.argsort(of.end[rows], kind="stable")]
    return documents.StationSeries(
        station=station, begin=(of.begin[rows] + offset).tolist(), end=(of.end[rows] + offset).tolist(),
        observed=of.value[rows].tolist(), modelled=[_number(each) for each in modelled[rows].tolist()],
    )  # fmt: skip


def _until(matched: Pairs, last: float) -> Pairs:
    """Return the pairs whose interval ends at a time [s since the start of the window] or before."""
    kept = matched.observations.end <= last
    return replace(
        matched, observations=selected(matched.observations, kept), modelled=matched.modelled[:, kept],
        low=matched.low[:, kept], high=matched.high[:, kept],
    )  # fmt: skip


def _score(of: Score) -> documents.StationScore:
    values = of.values
    return documents.StationScore(
        group=of.group, name=of.name, scored=of.scored, hours=int(values["N"]), observed=_number(values["MO"]),
        modelled=_number(values["MP"]), bias=_number(values["MB"]), r=_number(values["R"]),
        rmse=_number(values["RMSE"]),
    )  # fmt: skip


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
