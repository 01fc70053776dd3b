"""Selection of observations for a grid and a time window; weights of interpolation in space and of means in time.

Each observation is checked; an unusable one is rejected with its location in the file.
"""

import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.core.errors import CaseError, DataError
from airshed.core.report import Table
from airshed.core.text import counted, duration, listed, suggestion
from airshed.grid import Grid
from airshed.grid.coordinates import wrap_longitude
from airshed.observations.observation import ErrorModel, Kernel, Observation, Observations, observed_unit
from airshed.observations.screening import NO_VALUE, plain_flag, reasons
from airshed.observations.station import Station

Numbers = npt.NDArray[np.intp]


def bilinear(grid: Grid, lon: Array, lat: Array) -> tuple[Numbers, Array]:
    """Return the four columns around each location and their weights, (p, 4) both; a column is row * nlon + number.

    Between cell centres fields are bilinear in the coordinates of the grid. Within half a cell of the domain edge the
    nearest centres are used, so that weights are never negative and always sum to 1.
    """
    x, y = grid.locate(lon, lat)
    west, east = _between(grid.x, x)
    south, north = _between(grid.y, y)
    columns = np.stack([j * grid.shape[2] + i for j in (south[0], north[0]) for i in (west[0], east[0])], axis=1)
    weights = np.stack([a * b for a in (south[1], north[1]) for b in (west[1], east[1])], axis=1)
    return columns, weights


def containing(grid: Grid, lon: Array, lat: Array) -> Numbers:
    """Return the column (row * nlon + number) of the cell that contains each location (p,), or of the nearest cell."""
    rows, columns = grid.cells_at(lon, lat)
    return np.asarray(rows * grid.shape[2] + columns, np.intp)


def _between(centres: Array, places: Array) -> tuple[tuple[Numbers, Array], tuple[Numbers, Array]]:
    """Return the centres before and after each location, each with its weight."""
    last = centres.size - 1
    width = (centres[-1] - centres[0]) / last if last else 1.0
    along = np.clip((places - centres[0]) / width, 0.0, last)
    before = np.minimum(along.astype(np.intp), max(last - 1, 0))
    share = along - before
    return (before, 1.0 - share), (np.minimum(before + 1, last), share)


def mean_weights(times: Array, begin: Array, end: Array) -> Array:
    """Return weights (p, n) on fields at rising times (n,) that give their mean from ``begin`` to ``end`` (p,).

    Fields are linear between two times, and the integral is exact; before the first and after the last time they are
    constant. An instant, begin = end, is interpolated.
    """
    span = end - begin
    integrals = _hat_integrals(times, end) - _hat_integrals(times, begin)
    hats = np.stack([np.interp(begin, times, one) for one in np.eye(times.size)], axis=1)
    return np.where(span[:, None] > 0.0, integrals / np.where(span > 0.0, span, 1.0)[:, None], hats)


def _hat_integrals(times: Array, until: Array) -> Array:
    """Return the integrals of the piecewise linear basis of ``times`` from the first one, (p, n)."""
    steps = np.diff(times)
    share = np.clip((until[:, None] - times[:-1]) / steps, 0.0, 1.0)
    integrals = np.zeros((until.size, times.size))
    integrals[:, :-1] += steps * (share - 0.5 * share**2)
    integrals[:, 1:] += steps * 0.5 * share**2
    integrals[:, 0] += np.minimum(until - times[0], 0.0)
    integrals[:, -1] += np.maximum(until - times[-1], 0.0)
    return integrals


def overlap_weights(bounds: Array, begin: Array, end: Array) -> Array:
    """Return weights (p, n) on means over intervals (n, 2) that give the mean from ``begin`` to ``end`` (p,).

    A weight is the share of the interval from ``begin`` to ``end`` that a mean covers. Weights sum to 1 where the means
    cover the whole interval.
    """
    upper = np.minimum(bounds[None, :, 1], end[:, None])
    lower = np.maximum(bounds[None, :, 0], begin[:, None])
    span = (end - begin)[:, None]
    return np.asarray(np.maximum(upper - lower, 0.0) / np.where(span > 0.0, span, 1.0))


def layer_weights(faces: Array, edges: Array, weights: Array) -> Array:
    """Return the weight of the partial column of each model layer in the sum of a_l x_l, (layers,).

    faces  (layers + 1,) of the model [m];  edges  (n + 1,) of the kernel [m];  weights  (n,) a_l

    The air of a model layer is divided among the kernel layers by the overlap in height; above the model top the column
    is zero.
    """
    upper = np.minimum(faces[1:, None], edges[None, 1:])
    lower = np.maximum(faces[:-1, None], edges[None, :-1])
    return np.asarray(np.maximum(upper - lower, 0.0) @ weights / np.diff(faces))


# Selection of observations for a grid and a window: each is checked; an unusable one is rejected with its place.


OUTSIDE_WINDOW: Final = "outside the window"
OTHER_SPECIES: Final = "another species"
COMMON_REASONS: Final = frozenset({OUTSIDE_WINDOW, OTHER_SPECIES})
"""Reasons that hold for most rows of an archive; a message names another reason first."""


_QUOTED: Final = re.compile(r"'[^']*'")
SAME_PLACE, MOVING = 0.02, 50
"""Degrees within which coordinates are one place; number of places above which a station counts as moving (a ship)."""


class Candidate(NamedTuple):
    """An observation as the file has it; times in [s] since the start of the window, None where the file has no value.

    fault  reason why the value is not a number, "" for a number
    """

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


@dataclass(frozen=True)
class RejectedRow:
    """A row that is not used, with the reason; station and value are "" where they are unknown.

    place  line or position in the file
    rows   number of rows with this reason that the entry represents
    """

    file: str
    place: str
    station: str
    value: str
    reason: str
    rows: int = 1


def rejected_rows_table(rows: Sequence[RejectedRow]) -> Table:
    """Return the number of rejected rows by file and reason, with the first places and values."""
    groups: dict[tuple[str, str], list[RejectedRow]] = {}
    for row in rows:
        alike = row.reason if row.reason.startswith("flag ") else _QUOTED.sub("'...'", row.reason)
        groups.setdefault((row.file, alike), []).append(row)

    def told(of: Sequence[RejectedRow]) -> str:
        return of[0].reason + (" (and others like it)" if any(row.reason != of[0].reason for row in of) else "")

    def some(names: Iterable[str]) -> str:
        return listed(list(dict.fromkeys(names)), 5)

    cells = [
        (file, told(of), sum(row.rows for row in of), some(row.place for row in of), some(row.station for row in of),
         some(row.value for row in of))
        for (file, _), of in groups.items()
    ]  # fmt: skip
    return Table("Rejected rows", ("file", "reason", "rows", "places", "stations", "values"), cells)


@dataclass(frozen=True)
class SelectionRules:
    """Rules for the selection of observations.

    good      valid flags; rows with other flags are rejected. 0.00 equals the flag 0, and VALID equals valid
    outside   treatment of rows outside the domain or the window;  unknown: of rows of a species that is not observed
    names     parameter of a file -> species; other parameters are matched by name, without regard to case
    errors    errors of observations without errors of their own
    """

    good: Sequence[str] = ("", "0", "valid")
    outside: Literal["refuse", "skip"] = "refuse"
    unknown: Literal["refuse", "skip"] = "refuse"
    names: dict[str, str] = field(default_factory=dict)
    errors: ErrorModel = field(default_factory=ErrorModel)


class ModelArea(Protocol):
    """The area of a grid, or of several."""

    @property
    def bounds(self) -> tuple[float, float, float, float]:
        """Minimum and maximum longitude, minimum and maximum latitude [degrees]."""

    def contains(self, lon: float, lat: float) -> Any:
        """Return whether a point [degrees] is inside."""


class ObservationSelection:
    """Observations within a grid and a window of ``length`` [s] of some species, from any number of files.

    rejected  rows that are not used; `observations` adds rows that are rejected by comparison with all other rows
    stations  coordinates and class of each station of an observation, if files or tables have them
    """

    def __init__(
        self, grid: ModelArea, length: float, species: Sequence[str], rules: SelectionRules | None = None
    ) -> None:
        self._grid, self.length, self.rules = grid, length, rules or SelectionRules()
        self._good = {plain_flag(flag) for flag in self.rules.good}
        self._species = {name.casefold(): name for name in species}
        self._species |= {parameter.casefold(): name for parameter, name in self.rules.names.items()}
        self._selected: dict[tuple[object, ...], Candidate] = {}  # with its species, and lon as the domain has it
        self._places: dict[tuple[float, float], tuple[float, str]] = {}
        self._of_stations: dict[str, dict[tuple[float, float], tuple[float, float]]] = {}
        self._flags: dict[str, bool] = {}
        self.rejected: list[RejectedRow] = []
        self.stations: dict[str, Station] = {}

    @property
    def rejected_by_reason(self) -> Counter[str]:
        """Number of rejected rows by reason."""
        counts: Counter[str] = Counter()
        for row in self.rejected:
            counts[row.reason] += row.rows
        return counts

    @property
    def count(self) -> int:
        """Number of observations."""
        return len(self._selected)

    @property
    def has_own_flags(self) -> bool:
        """True if the rules define the valid flags, rather than the layout."""
        return tuple(self.rules.good) != SelectionRules.good

    def observes(self, parameter: str) -> bool:
        """Return whether a name denotes an observed species."""
        return parameter.casefold() in self._species

    def is_within(self, begin: float, end: float) -> bool:
        """Return whether a mean [s since the start] lies in the window."""
        return 0.0 <= begin <= end <= self.length

    def skip(self, file: str, reason: str, lines: tuple[int, int], values: int) -> None:
        """Record that many values of a file are rejected for one reason; ``lines`` are the first and the last one."""
        place = f"line {lines[0]}" if lines[0] == lines[1] else f"lines {lines[0]} to {lines[1]}"
        self.rejected.append(RejectedRow(file, place, "", "", reason, values))

    def add(self, each: Candidate, *, may_refuse: bool = True) -> bool:
        """Check an observation, add or reject it, and return whether it was added.

        may_refuse  whether the rules may refuse the row with an error; rows of an archive are rejected instead
        raises      DataError with the place of a row of another species, or outside the domain or the window, if the
                    rules refuse such rows
        """
        reason = self._reason_to_reject(each, may_refuse)
        if reason:
            self.reject(each.where, reason, each.station, "" if math.isnan(each.value) else f"{each.value:g}")
            return False
        species = self._species[each.parameter.casefold()]
        lon = self._place(each)[0]
        key = (each.station, each.kind, species, self._place_of_station(each, lon), each.begin, each.end)
        if key in self._selected:
            self.reject(each.where, "duplicate of an earlier row", each.station, f"{each.value:g}")
            return False
        self._selected[key] = each._replace(parameter=species, lon=lon)
        return True

    def reject(self, where: str, reason: str, station: str = "", value: str = "") -> None:
        """Record a row that is not used; ``where`` is "file, place in it"."""
        file, _, place = where.rpartition(", ")
        self.rejected.append(RejectedRow(file, place, station, value, reason))

    def observations(self, *, weighted: bool = True) -> Observations:
        """Return the selected observations after screening, with estimated errors where files give none.

        weighted  whether each needs an error above 0, as a weight does; else that of zeros alone may be 0

        Raises DataError where nothing is left.
        """
        self._screen()
        taken = list(self._selected.values())
        if taken:
            sigma = self._errors(taken)
            usable = sigma > 0.0 if weighted else np.isfinite(sigma)
            for index in np.flatnonzero(~usable):
                given = taken[index]
                reason = "its error comes out as 0; give a column error"
                self.reject(given.where, reason, given.station, f"{given.value:g}")
            taken = [each for each, use in zip(taken, usable, strict=True) if use]
            sigma = sigma[usable]
        if not taken:
            raise DataError(self._nothing_left())
        return Observations.of([
            Observation(each.station, each.kind, each.parameter, each.lon, each.lat, each.begin, each.end, each.value,
                        each.unit, error, each.where, each.kernel)
            for each, error in zip(taken, sigma.tolist(), strict=True)
        ])  # fmt: skip

    def _errors(self, taken: Sequence[Candidate]) -> Array:
        """Return the error standard deviation of each observation; rows may give either of its two parts."""
        scale, shares = np.zeros(len(taken)), self.rules.errors
        for numbers in _groups(taken):
            scale[numbers] = shares.scale(np.array([taken[index].value for index in numbers]))

        def part(given: list[float | None], share: float) -> Array:
            values = np.array([np.nan if each is None else each for each in given])
            return np.where(np.isnan(values), share * scale, values)

        instrument = part([each.error for each in taken], shares.instrument)
        other = part([each.representativeness for each in taken], shares.representativeness)
        return np.asarray(np.hypot(instrument, other))

    def _screen(self) -> None:
        """Reject values that are implausible among all values of their species and unit."""
        keys, taken = list(self._selected), list(self._selected.values())
        for numbers in _groups(taken):
            of = [taken[index] for index in numbers]
            parts = np.array([(given.error, given.representativeness) for given in of], np.float64)  # NaN for None
            errors = np.where(np.isnan(parts).all(axis=1), np.nan, np.hypot(*np.nan_to_num(parts).T))
            found = reasons(np.array([given.value for given in of]), errors, of[0].unit, of[0].kind)
            for index, given, reason in zip(numbers, of, found, strict=True):
                if reason:
                    self.reject(given.where, reason, given.station, f"{given.value:g}")
                    del self._selected[keys[index]]

    def _nothing_left(self) -> str:
        """Return the message where no observation is left, with the most frequent reason and its first place."""
        text = "no observation is left in the domain and the window"
        if not self.rejected:
            return f"{text}; check the files"
        every_reason = self.rejected_by_reason
        specific = Counter({reason: n for reason, n in every_reason.items() if reason not in COMMON_REASONS})
        reason, number = (specific or every_reason).most_common(1)[0]
        first = next(row for row in self.rejected if row.reason == reason)
        every = sum(row.rows for row in self.rejected)
        count = f"{counted(number, 'row')} of {every} rejected: {reason} ({first.file}, {first.place})"
        hint = "; assimilation.observations.flags lists the valid flags" if reason.startswith("flag ") else ""
        return f"{text}: {count}{hint}"

    def _reason_to_reject(self, each: Candidate, may_refuse: bool) -> str:
        """Return the reason to reject a row, "" for a usable one; raises DataError where the rules refuse it."""
        if each.flag not in self._flags:
            self._flags[each.flag] = plain_flag(each.flag) in self._good
        if not self._flags[each.flag]:
            return f"flag {each.flag[:20]!r}"
        if each.fault or not math.isfinite(each.value):
            return each.fault or NO_VALUE
        if each.parameter.casefold() not in self._species:
            if self.rules.unknown == "skip" or not may_refuse:
                return OTHER_SPECIES
            advice = suggestion(each.parameter, self._species.values())
            raise DataError(f"{each.where}: species {each.parameter[:40]!r} is not observed; {advice}")
        fault = _fault(each)
        if fault:
            return fault
        refuses = self.rules.outside == "refuse" and may_refuse
        for outside, what in ((self._place(each)[1], "the domain"), (self._is_early(each), "the window")):
            if outside and not refuses:
                return f"outside {what}"
            if outside:
                raise DataError(f"{each.where}: {outside} lies outside {what}; remove the row, or set outside = 'skip'")
        return ""

    def _place(self, each: Candidate) -> tuple[float, str]:
        """Return the longitude within the range of the domain, and a description of the place if it lies outside."""
        found = self._places.get((each.lon, each.lat))
        if found is None:
            west, east, *_ = self._grid.bounds
            inside = self._grid.contains(each.lon, each.lat)
            found = wrap_longitude(each.lon, west, east), "" if inside else f"{each.lon:g} E, {each.lat:g} N"
            self._places[each.lon, each.lat] = found
        return found

    def _place_of_station(self, each: Candidate, lon: float) -> tuple[float, float]:
        """Return the first place of a station that is the same but for a few digits, as tables round it."""
        place, places = (lon, each.lat), self._of_stations.setdefault(each.station, {})
        if each.kind != "surface" or len(places) > MOVING:
            return places.get(place, place)
        if place not in places:
            near = (of for of in places.values() if max(abs(of[0] - lon), abs(of[1] - each.lat)) <= SAME_PLACE)
            places[place] = next(near, place)
        return places[place]

    def _is_early(self, each: Candidate) -> str:
        if self.is_within(each.begin, each.end):
            return ""
        span = f"{duration(each.begin)}" + (f" to {duration(each.end)}" if each.end > each.begin else "")
        return f"the time {span} after the start"


def _fault(each: Candidate) -> str:
    """Return the fault of a row, independent of settings; "" for none."""
    for name, value, limit in (("lon", each.lon, 720.0), ("lat", each.lat, 90.0)):
        if not abs(value) <= limit:
            return f"{name} is {value:g}; give degrees, finite ones"
    for name, error in (("error", each.error), ("representativeness", each.representativeness)):
        least = 0.0 if name == "error" else -sys.float_info.min
        if error is not None and not (least < error < math.inf):
            return f"{name} is {error:g}; give one above 0, in the unit of the value"
    try:
        observed_unit(each.unit, each.kind)
    except CaseError as error:
        return str(error)
    return ""


def _groups(taken: Sequence[Candidate]) -> list[list[int]]:
    """Return the indices of the observations of each species, unit and kind."""
    groups: dict[tuple[str, str, str], list[int]] = {}
    for index, each in enumerate(taken):
        groups.setdefault((each.parameter, each.unit, each.kind), []).append(index)
    return list(groups.values())
