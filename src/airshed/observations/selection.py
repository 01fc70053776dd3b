"""Takes observations as files have them: each is checked, and one that cannot be used is passed over with its place."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

import numpy as np

from airshed.core.errors import CaseError, DataError
from airshed.core.report import Table
from airshed.core.text import counted, listed, suggestion
from airshed.grid import Grid
from airshed.grid.places import turned_into
from airshed.observations.observation import ErrorModel, Kernel, Observation, Observations, observed_unit
from airshed.observations.screening import NO_VALUE, reasons
from airshed.observations.station import Station

OUTSIDE_WINDOW: Final = "outside the window"
OTHER_SPECIES: Final = "another species"
COMMON_REASONS: Final = frozenset({OUTSIDE_WINDOW, OTHER_SPECIES})
"""Why most rows of an archive are not taken, which says nothing about the others."""


@dataclass(frozen=True)
class Candidate:
    """An observation as it stands in a file; times [s] since the start of the window, None: the file tells none."""

    station: str
    kind: str
    parameter: str
    lon: float
    lat: float
    begin: float
    end: float
    value: float
    unit: str
    error: float | None
    representativeness: float | None
    flag: str
    where: str
    kernel: Kernel | None = None
    fault: str = ""
    """Why the file's value is no number, "" where it is one."""


@dataclass(frozen=True)
class RejectedRow:
    """A row that is not taken: its file, its place there, its station and value as far as they are known, and why.

    rows  how many rows it stands for, which have the reason in common
    """

    file: str
    place: str
    station: str
    value: str
    reason: str
    rows: int = 1


def rejected_rows_table(rows: Sequence[RejectedRow]) -> Table:
    """Return how many rows of each file were passed over for each reason, with the first places and values."""
    groups: dict[tuple[str, str], list[RejectedRow]] = {}
    for row in rows:
        groups.setdefault((row.file, row.reason), []).append(row)

    def some(names: Iterable[str]) -> str:
        return listed(list(dict.fromkeys(names)), 5)

    cells = [
        (
            *key,
            sum(row.rows for row in of),
            some(row.place for row in of),
            some(row.station for row in of),
            some(row.value for row in of),
        )
        for key, of in groups.items()
    ]
    return Table("Rows passed over", ("file", "reason", "rows", "places", "stations", "values"), cells)


@dataclass(frozen=True)
class SelectionRules:
    """Which observations are taken.

    good      flags of which a row is taken; others are passed over. 0.00 is the flag 0, and VALID is valid
    outside   what becomes of a row outside the domain or the window;  unknown: of one of a species that is not asked
    names     parameter of a file -> species; others are found by their name, in capital or small letters
    """

    good: Sequence[str] = ("", "0", "valid")
    outside: Literal["refuse", "skip"] = "refuse"
    unknown: Literal["refuse", "skip"] = "refuse"
    names: dict[str, str] = field(default_factory=dict)
    errors: ErrorModel = field(default_factory=ErrorModel)


class ObservationSelection:
    """Observations within a grid and a window of ``length`` [s] of some species, from any number of files.

    rejected  the rows that are not taken; those that only all others show to be no measurement after `observations`
    stations  place and class of each station of an observation, as far as files and tables have them
    """

    def __init__(self, grid: Grid, length: float, species: Sequence[str], choice: SelectionRules | None = None) -> None:
        self._grid, self.length, self.rules = grid, length, choice or SelectionRules()
        self._good = {plain_flag(flag) for flag in self.rules.good}
        self._species = {name.casefold(): name for name in species}
        self._species |= {parameter.casefold(): name for parameter, name in self.rules.names.items()}
        self._taken: dict[tuple[object, ...], tuple[Candidate, Observation]] = {}
        self.rejected: list[RejectedRow] = []
        self.stations: dict[str, Station] = {}

    @property
    def rejected_by_reason(self) -> Counter[str]:
        """The number of rows that were passed over, by reason."""
        counts: Counter[str] = Counter()
        for row in self.rejected:
            counts[row.reason] += row.rows
        return counts

    @property
    def taken(self) -> int:
        """The number of observations."""
        return len(self._taken)

    @property
    def has_own_flags(self) -> bool:
        """Whether flags were chosen, rather than left to the layout."""
        return tuple(self.rules.good) != SelectionRules.good

    def observes(self, parameter: str) -> bool:
        """Return whether a name is one of a species that is observed."""
        return parameter.casefold() in self._species

    def is_within(self, begin: float, end: float) -> bool:
        """Return whether a mean [s since the start] lies in the window."""
        return 0.0 <= begin <= end <= self.length

    def skip(self, file: str, reason: str, lines: tuple[int, int], values: int) -> None:
        """Note that many values of a file are not taken for one reason; ``lines`` are the first and the last one."""
        place = f"line {lines[0]}" if lines[0] == lines[1] else f"lines {lines[0]} to {lines[1]}"
        self.rejected.append(RejectedRow(file, place, "", "", reason, values))

    def add(self, each: Candidate) -> bool:
        """Check an observation, keep it or pass it over, and return whether it is kept.

        Raises DataError with its place for one of another species, outside the domain or the window, where the choice
        refuses such.
        """
        reason = self._reason_to_pass(each)
        if reason:
            self.reject(each.where, reason, each.station, "" if np.isnan(each.value) else f"{each.value:g}")
            return False
        species = self._species[each.parameter.casefold()]
        row = Observation(
            each.station, each.kind, species, self._lon(each.lon), each.lat, each.begin, each.end, each.value,
            each.unit, each.error or np.nan, each.where, each.kernel,
        )  # fmt: skip
        key = (each.station, each.kind, species, each.lon, each.lat, each.begin, each.end)
        if key in self._taken:
            self.reject(each.where, "the same observation stands before", each.station, f"{each.value:g}")
            return False
        self._taken[key] = each, row
        return True

    def reject(self, where: str, reason: str, station: str = "", value: str = "") -> None:
        """Note a row that is not taken; ``where`` is "file, place in it"."""
        file, _, place = where.rpartition(", ")
        self.rejected.append(RejectedRow(file, place, station, value, reason))

    def observations(self) -> Observations:
        """Return all that was taken and is a measurement, with the errors of those that tell none.

        Raises DataError where nothing is left.
        """
        self._screen()
        taken = list(self._taken.values())
        if not taken:
            raise DataError(self._nothing_left())
        scale = np.zeros(len(taken))
        for numbers in _groups(taken):
            scale[numbers] = self.rules.errors.scale(np.array([taken[index][1].value for index in numbers]))
        with_errors = [self._with_error(*pair, float(of)) for pair, of in zip(taken, scale, strict=True)]
        rows = [row for row in with_errors if row is not None]
        if not rows:
            raise DataError(self._nothing_left())
        return Observations.of(rows)

    def _screen(self) -> None:
        """Pass over values that all values of their species and unit show to be no measurements."""
        items = list(self._taken.items())
        for numbers in _groups([pair for _, pair in items]):
            of = [items[index][1] for index in numbers]
            errors = np.array([_given_error(given) for given, _ in of])
            unit, kind = of[0][1].unit, of[0][1].kind
            found = reasons(np.array([row.value for _, row in of]), errors, unit, kind)
            for index, (given, row), reason in zip(numbers, of, found, strict=True):
                if reason:
                    self.reject(given.where, reason, given.station, f"{row.value:g}")
                    del self._taken[items[index][0]]

    def _nothing_left(self) -> str:
        """Return the message where no observation is left, with the most frequent reason and its first place."""
        text = "no observation is left in the domain and the window"
        if not self.rejected:
            return f"{text}; look at the files"
        every_reason = self.rejected_by_reason
        telling = Counter({reason: n for reason, n in every_reason.items() if reason not in COMMON_REASONS})
        reason, number = (telling or every_reason).most_common(1)[0]
        first = next(row for row in self.rejected if row.reason == reason)
        every = sum(row.rows for row in self.rejected)
        told = f"{counted(number, 'row')} of {every} passed over: {reason} ({first.file}, {first.place})"
        hint = "; assimilation.observations.flags lists those that are taken" if reason.startswith("flag ") else ""
        return f"{text}: {told}{hint}"

    def _with_error(self, given: Candidate, row: Observation, scale: float) -> Observation | None:
        """Return an observation with its error, or None for one that is passed over since its error is 0."""
        shares = self.rules.errors
        instrument = shares.instrument * scale if given.error is None else given.error
        other = shares.representativeness * scale if given.representativeness is None else given.representativeness
        sigma = float(np.hypot(instrument, other))
        if sigma > 0.0:
            return replace(row, sigma=sigma)
        self.reject(row.where, "its error comes out as 0; give a column error", row.station, f"{row.value:g}")
        return None

    def _reason_to_pass(self, each: Candidate) -> str:
        """Return why a row is passed over, "" where it is not; raises DataError where the choice refuses it."""
        if plain_flag(each.flag) not in self._good:
            return f"flag {each.flag[:20]!r}"
        if each.fault or not np.isfinite(each.value):
            return each.fault or NO_VALUE
        if each.parameter.casefold() not in self._species:
            if self.rules.unknown == "skip":
                return OTHER_SPECIES
            advice = suggestion(each.parameter, self._species.values())
            raise DataError(f"{each.where}: species {each.parameter[:40]!r} is none that is observed; {advice}")
        fault = _fault(each)
        if fault:
            return fault
        for outside, what in ((self._is_off(each), "the domain"), (self._is_early(each), "the window")):
            if outside and self.rules.outside == "skip":
                return f"outside {what}"
            if outside:
                raise DataError(f"{each.where}: {outside} lies outside {what}; remove the row, or let such be skipped")
        return ""

    def _lon(self, lon: float) -> float:
        return turned_into(lon, float(self._grid.lon_faces[0]), float(self._grid.lon_faces[-1]))

    def _is_off(self, each: Candidate) -> str:
        south, north = self._grid.lat_faces[[0, -1]]
        inside = self._lon(each.lon) <= self._grid.lon_faces[-1] and south <= each.lat <= north
        return "" if inside else f"{each.lon:g} E, {each.lat:g} N"

    def _is_early(self, each: Candidate) -> str:
        if self.is_within(each.begin, each.end):
            return ""
        span = f"{each.begin / 3600:g} h" + (f" to {each.end / 3600:g} h" if each.end > each.begin else "")
        return f"the time {span} after the start"


def _fault(each: Candidate) -> str:
    """Return what is wrong with a row whatever the case, "" for nothing."""
    for name, value, limit in (("lon", each.lon, 720.0), ("lat", each.lat, 90.0)):
        if not abs(value) <= limit:
            return f"{name} is {value:g}; give degrees, finite ones"
    for name, error in (("error", each.error), ("representativeness", each.representativeness)):
        least = 0.0 if name == "error" else -np.finfo(float).tiny
        if error is not None and not (least < error < np.inf):
            return f"{name} is {error:g}; give one above 0, in the unit of the value"
    try:
        observed_unit(each.unit, each.kind)
    except CaseError as error:
        return str(error)
    return ""


def _groups(taken: Sequence[tuple[Candidate, Observation]]) -> list[list[int]]:
    """Return the numbers of the observations of each species, unit and kind."""
    groups: dict[tuple[str, str, str], list[int]] = {}
    for index, (_, row) in enumerate(taken):
        groups.setdefault((row.species, row.unit, row.kind), []).append(index)
    return list(groups.values())


def _given_error(given: Candidate) -> float:
    """Return the standard deviation that a row gives, NaN for none."""
    parts = [part for part in (given.error, given.representativeness) if part is not None]
    return float(np.hypot.reduce(parts)) if parts else np.nan


def plain_flag(flag: str) -> str:
    """Return a flag in small letters, one that is a number in its shortest form."""
    try:
        return f"{float(flag):g}"
    except ValueError:
        return flag.strip().casefold()
