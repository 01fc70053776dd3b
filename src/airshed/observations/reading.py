"""Reader of station observations from files of any known layout, with a summary of each file."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import numpy as np

from airshed.core.errors import DataError
from airshed.core.report import Table
from airshed.observations.layouts import LAYOUTS, FileOptions, Layout, Record, TableRows
from airshed.observations.layouts.layout import DAY, HOUR
from airshed.observations.parameters import parameter_of, reference_of, unit_in
from airshed.observations.screening import number_of, plain_flag
from airshed.observations.selection import OTHER_SPECIES, OUTSIDE_WINDOW, Candidate, ObservationSelection
from airshed.observations.station import Station, StationTable
from airshed.observations.text_file import TextFile, read_text_file
from airshed.observations.time_convention import EXAMPLE, Clock, Means, TimeConvention, clock, read_label


@dataclass
class FileSummary:
    """Layout, conventions and counts of one file.

    known    source of the time convention
    periods  averaging periods [s];  rows: values in the file;  used: values that became observations
    first    beginning of the first mean [s since the start of the window];  last: end of the last one
    """

    path: str
    layout: str
    convention: TimeConvention
    known: str
    periods: set[float] = field(default_factory=set)
    units: set[str] = field(default_factory=set)
    rows: int = 0
    used: int = 0
    first: float = math.inf
    last: float = -math.inf


def files_table(files: Sequence[FileSummary]) -> Table:
    """Return a table of the files that were read, with layout, time convention and averaging period."""
    columns = ("file", "layout", "zone", "label", "known by", "averaging", "units", "values", "used")
    rows = [
        (each.path, each.layout, each.convention.zone, each.convention.label, each.known,
         ", ".join(_duration(period) for period in sorted(each.periods)), ", ".join(sorted(each.units)),
         each.rows, each.used)
        for each in files
    ]  # fmt: skip
    return Table("Files of observations", columns, rows)


def _duration(seconds: float) -> str:
    for size, unit in ((DAY, "day"), (HOUR, "h"), (60.0, "min")):
        if seconds >= size and seconds % size == 0.0:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} s"


_STANDARD_TEMPERATURE: Final = 293.15
"""Reference temperature of gases in ug/m3 [K]; values at another temperature are converted."""

_SLASHES: Final = re.compile(r"(?<![0-9/])([0-9]{1,2})/([0-9]{1,2})/[0-9]{4}(?![0-9/])")
_MONTHS: Final = 12
_DAY_FIRST: Final = frozenset({"UK-AIR"})
"""Layouts whose dates with slashes have the day first."""

Span = tuple[float, float]


def read_observations(
    paths: Iterable[Path], start: np.datetime64, selection: ObservationSelection, *,
    stations: StationTable | None = None, time: TimeConvention | None = None, averaging: float | None = None,
    options: FileOptions | None = None,
) -> list[FileSummary]:  # fmt: skip
    """Add the observations of files to a selection, and return a summary of each file.

    start      of the window, UTC
    stations   coordinates and classes; required for files without coordinates
    time       convention of the times of all files; by default that of the layout
    averaging  averaging period [s] of rows that give none; by default that of the layout
    options    station, pollutant and units of files that do not have them
    raises     DataError for an unreadable file, and for a file with unknown time convention, coordinates or units.
               An unusable row is rejected and counted
    """
    summaries = []
    for path in paths:
        file = read_text_file(path)
        layout = recognised(file)
        _check_dates(file, layout)
        reader = _FileReader(file, layout, selection, start, time, averaging)
        summaries.append(reader.read(options or FileOptions(), stations))
    return summaries


def recognised(file: TextFile) -> Layout:
    """Return the layout of a file; raises DataError where none matches."""
    if not any(file.head) and not file.is_netcdf:
        raise DataError(f"{file.path} has no rows; get a fresh copy of the file, or leave it out")
    for layout in LAYOUTS:
        if layout.recognise(file):
            return layout
    first = next(cells for cells in file.head if cells)
    raise DataError(
        f"{file.path} has none of the known layouts; it begins with {', '.join(first)[:80]!r}. Give a row for each "
        f"value, with the columns station, lon, lat, species, value, unit and time (docs/reference/observations.md)"
    )


def _check_dates(file: TextFile, layout: Layout) -> None:
    """Raise DataError for dates with slashes and the year last, unless it is certain that the day comes first."""
    found = [(int(match[1]), int(match[2]), match[0]) for line in file.lines if (match := _SLASHES.search(line))]
    if any(day > _MONTHS for day, _, _ in found):
        return
    monthly = next((text for _, month, text in found if month > _MONTHS), None)
    if monthly:
        raise DataError(f"{file.path}: dates such as {monthly} have the month first; write them as 2022-08-31")
    if found and layout.name not in _DAY_FIRST:
        raise DataError(f"{file.path}: day and month of dates such as {found[0][2]} are ambiguous; write them "
                        "as 2022-08-31")  # fmt: skip


class _FileReader:
    """Reads one file into a selection."""

    def __init__(
        self, file: TextFile, layout: Layout, selection: ObservationSelection, start: np.datetime64,
        time: TimeConvention | None, averaging: float | None,
    ) -> None:  # fmt: skip
        self._file, self._layout, self._selection, self._averaging = file, layout, selection, averaging
        own = layout.time_of(file) if layout.time_of else layout.time
        convention = time or own
        if convention is None:
            raise DataError(f"{file.path}: its layout ({layout.name}) defines neither the zone of its times, nor "
                            f"whether they are start or end of the mean; give both, as in {EXAMPLE}")  # fmt: skip
        if time is not None and own is not None and own.label == "start and end":
            convention = replace(time, label="start and end")
        self._clock = clock(convention, start)
        known = "given" if time is not None else layout.source
        self.summary = FileSummary(str(file.path), layout.name, convention, known)
        self._zone_of_station = layout.zone_of_station and time is None
        self._stations: StationTable | None = None
        self._twice: dict[tuple[object, ...], list[tuple[Record, tuple[Span, ...], float]]] = {}
        self._skipped: dict[str, tuple[int, int, int]] = {}
        self._order: list[float] = []
        self._places: dict[str, tuple[Station | None, Station | str]] = {}
        self._parameters: dict[str, str | None] = {}

    def read(self, options: FileOptions, stations: StationTable | None) -> FileSummary:
        """Add all records of the file."""
        self._stations = stations
        before = self._selection.count
        zone_unknown = self._clock.convention.zone == "file"
        rows = TableRows(self._file, lambda name: self._known(name) is not None, self._window())
        for record in self._layout.read(rows, options):
            self.summary.rows += 1
            if zone_unknown and record.time:
                zone_unknown = self._check_offset(record)
            self._take(record)
        for line, reason in rows.rejected:
            self._selection.reject(f"{self._file.path}, line {line}", reason)
        self.summary.rows += sum(values for _, values in rows.skipped) + len(rows.rejected)
        for line, values in rows.skipped:
            self._skip(OUTSIDE_WINDOW, line, values)
        for text in rows.skipped_times:
            self._note(self._clock.means(text, "", HOUR))
        if not self.summary.rows:
            raise DataError(f"{self._file.path} has no rows; get a fresh copy of the file, or leave it out")
        self._settle()
        for reason, (first, last, values) in self._skipped.items():
            self._selection.skip(str(self._file.path), reason, (first, last), values)
        self.summary.used = self._selection.count - before
        return self.summary

    def _check_offset(self, record: Record) -> bool:
        """Return whether the next record needs this check, too; raises DataError for a time without an offset."""
        label = read_label(record.time)
        if label is not None and label.offset is None:
            raise DataError(f"{self._where(record)}: the time {record.time[:40]!r} has no offset from UTC; write it as "
                            f"2022-08-31T13:00:00Z, or give the zone of all times, as in {EXAMPLE}")  # fmt: skip
        return label is None

    def _clock_of(self, record: Record) -> Clock:
        """Return the clock of a record: in the zone of its station, if the layout reads zones from the table."""
        if not self._zone_of_station or self._stations is None:
            return self._clock
        station = self._stations.find(record.station)
        zone = station.zone if station and station.zone else self.summary.convention.zone
        self.summary.convention = TimeConvention(zone, self.summary.convention.label)
        return clock(self.summary.convention, np.datetime64(self._clock.start))

    def _where(self, record: Record) -> str:
        return f"{self._file.path}, {'time' if self._file.is_netcdf else 'line'} {record.line}"

    def _reject(self, record: Record, reason: str) -> None:
        self._selection.reject(self._where(record), reason, record.station[:40], record.value[:40])

    def _take(self, record: Record) -> None:
        if not record.time and record.fault:
            self._reject(record, record.fault)
            return
        if not record.fault:
            if record.parameter not in self._parameters:
                self._parameters[record.parameter] = self._known(record.parameter)
            if self._parameters[record.parameter] is None:
                self._skip(OTHER_SPECIES, record.line)
                return
        period = self._period(record)
        if math.isnan(period):
            raise DataError(f"{self._where(record)}: the averaging period is unknown; give it, as in averaging = '1 h'")
        means = self._clock_of(record).means(record.time, record.end, period)
        self._note(means)
        if means.fault:
            self._reject(record, record.fault or means.fault)
        elif not any(self._selection.is_within(*span) for span in means.spans) and not self._refuses:
            self._skip(OUTSIDE_WINDOW, record.line)
        elif len(means.spans) > 1:
            key = (record.station, record.parameter, record.time, record.end, period)
            self._twice.setdefault(key, []).append((record, means.spans, period))
        else:
            self._add(record, means.spans[0])
        if len(means.spans) == 1:
            self._order = [*self._order[:1], means.spans[0][1]]

    def _note(self, means: Means) -> None:
        """Extend the period of the summary by a mean."""
        for begin, end in means.spans:
            self.summary.first, self.summary.last = min(self.summary.first, begin), max(self.summary.last, end)

    @property
    def _refuses(self) -> bool:
        """True if rows outside the window are an error."""
        return self._layout.own and self._selection.rules.outside == "refuse"

    def _skip(self, reason: str, line: int, values: int = 1) -> None:
        """Count values that are rejected for a common reason."""
        first, last, number = self._skipped.get(reason, (line, line, 0))
        self._skipped[reason] = (min(first, line), max(last, line), number + values)

    def _window(self) -> tuple[datetime, datetime]:
        """Return the first and the last time [UTC] to read; all times where rows outside the window are an error."""
        if self._refuses:
            return datetime.min + timedelta(days=9), datetime.max - timedelta(days=9)
        return self._clock.start, self._clock.start + timedelta(seconds=self._selection.length)

    def _known(self, parameter: str) -> str | None:
        """Return the name of a species in the selection; None for a species that is not observed."""
        plain = parameter_of(parameter)
        for name in (parameter, plain, plain.replace(".", "")):  # PM2.5 may be called PM25
            if self._selection.observes(name):
                return name
        return parameter if self._layout.own and self._selection.rules.unknown == "refuse" else None

    def _period(self, record: Record) -> float:
        """Return the averaging period [s]: of the row or its column, else the given one, else that of the layout."""
        given = self._averaging is not None
        if not math.isnan(record.period) and not (given and self._layout.infers_period):
            return record.period
        return self._layout.averaging if self._averaging is None else self._averaging

    def _settle(self) -> None:
        """Add the records of the repeated hour at the end of summer time, by their order where the file has both."""
        descending = len(self._order) == 2 and self._order[1] < self._order[0]
        for records in self._twice.values():
            if len(records) != 2:
                for record, _, _ in records:
                    self._reject(record, f"the hour occurs twice in {self._clock.convention.zone} at the end of summer "
                                         f"time, the file has it {len(records)} times")  # fmt: skip
                continue
            for number, (record, spans, _) in enumerate(reversed(records) if descending else records):
                if self._selection.is_within(*spans[number]) or self._refuses:
                    self._add(record, spans[number])
                else:
                    self._skip(OUTSIDE_WINDOW, record.line)

    def _add(self, record: Record, span: Span) -> None:
        station = self._station(record) if not record.fault else Station(record.station)
        if isinstance(station, str):
            self._reject(record, station)
            return
        value, fault = number_of(self._file.number_text(record.value))
        error, wrong = self._number(record.error, "error")
        representativeness, also = self._number(record.representativeness, "representativeness")
        flag, unsound = self._flag(record)
        if record.fault or unsound or wrong or also:
            self._reject(record, record.fault or unsound or wrong or also)
            return
        unit, kelvin = reference_of(unit_in(record.unit) or record.unit)
        if not unit:
            name = parameter_of(record.parameter)
            raise DataError(f"{self._where(record)}: the unit of {record.parameter} is unknown; give it, as in "
                            f'units = {{ {name} = "ug/m3" }} in a case, or --unit {name}=ug/m3')  # fmt: skip
        name = self._parameters.get(record.parameter) or record.parameter
        if not math.isnan(kelvin) and not name.upper().startswith("PM"):
            denser = kelvin / _STANDARD_TEMPERATURE
            value, error = value * denser, error and error * denser
            representativeness = representativeness and representativeness * denser
        self.summary.periods.add(span[1] - span[0])
        self.summary.units.add(unit)
        if self._selection.add(Candidate(
            record.station, "surface", name, station.lon, station.lat, *span, value, unit, error, representativeness,
            flag, self._where(record), fault=fault,
        ), may_refuse=self._layout.own):  # fmt: skip
            self._selection.stations[record.station] = station

    def _flag(self, record: Record) -> tuple[str, str]:
        """Return the flag for the selection, "" for a flag that is valid in the layout; and a fault, or ""."""
        if self._layout.flags is None or self._selection.has_own_flags:
            return record.flag, ""
        if plain_flag(record.flag) in self._layout.flags:
            return "", ""
        return record.flag, f"flag {record.flag[:20]!r}"

    def _number(self, text: str, what: str) -> tuple[float | None, str]:
        if not text:
            return None, ""
        try:
            return float(self._file.number_text(text)), ""
        except ValueError:
            return None, f"{what} {text[:40]!r} is not a number"

    def _station(self, record: Record) -> Station | str:
        """Return the station of a record, or the reason why it has none."""
        place, key = record.place, record.station
        known = self._places.get(key)
        if known is None or known[0] is not place:
            found = self._stations.find(key) if self._stations and place else None
            station = self._looked_up(record) if place is None else _filled(place, found) if found else place
            known = self._places[key] = place, station
        return known[1]

    def _looked_up(self, record: Record) -> Station | str:
        key = record.station
        if self._stations is None or not len(self._stations):
            raise DataError(f"{self._where(record)}: the file has no coordinates of station {key!r}; give a table of "
                            f"stations with its id, lon and lat (docs/reference/observations.md)")  # fmt: skip
        station = self._stations.find(key)
        if station is None:
            return f"station {key[:40]!r} is in no table of stations; {self._stations.advice(key)}"
        if math.isnan(station.lon) or math.isnan(station.lat):
            return f"station {key[:40]!r} has no coordinates in the table of stations"
        return station


def _filled(place: Station, table: Station) -> Station:
    """Return a station with its own coordinates, completed from a table."""
    return replace(
        table, id=place.id, lon=place.lon, lat=place.lat, name=place.name or table.name,
        area=place.area or table.area, type=place.type or table.type,
        altitude=table.altitude if math.isnan(place.altitude) else place.altitude,
    )  # fmt: skip
