"""Takes observations as files have them: each is checked, passed over where it may be, or refused with its place."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from airshed.assimilate.observations import ErrorModel, Kernel, Observation, Observations, observed_unit
from airshed.core.errors import CaseError, DataError
from airshed.core.text import suggestion
from airshed.grid import Grid


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


@dataclass(frozen=True)
class Choice:
    """Which observations are taken.

    good      flags of which a row is taken; others are passed over
    outside   what becomes of a row outside the domain or the window;  unknown: of one of a species that is not asked
    names     parameter of a file -> species; others are found by their name, in capital or small letters
    """

    good: Sequence[str] = ("", "0", "valid")
    outside: Literal["refuse", "skip"] = "refuse"
    unknown: Literal["refuse", "skip"] = "refuse"
    names: dict[str, str] = field(default_factory=dict)
    errors: ErrorModel = field(default_factory=ErrorModel)


class Taking:
    """Observations within a grid and a window of ``length`` [s] of some species, from any number of files.

    passed_over  how many rows were, by reason
    """

    def __init__(self, grid: Grid, length: float, species: Sequence[str], choice: Choice | None = None) -> None:
        self._grid, self._length, self._choice = grid, length, choice or Choice()
        self._species = {name.casefold(): name for name in species}
        self._species |= {parameter.casefold(): name for parameter, name in self._choice.names.items()}
        self._taken: dict[tuple[object, ...], tuple[Candidate, Observation]] = {}
        self.passed_over: Counter[str] = Counter()

    def take(self, each: Candidate) -> None:
        """Check an observation and keep it; raises DataError with its place where it cannot be used."""
        reason = self._reason_to_pass(each)
        if reason:
            self.passed_over[reason] += 1
            return
        species = self._species[each.parameter.casefold()]
        self._check(each)
        row = Observation(
            each.station, each.kind, species, self._lon(each.lon), each.lat, each.begin, each.end, each.value,
            each.unit, each.error or np.nan, each.where, each.kernel,
        )  # fmt: skip
        key = (each.station, each.kind, species, each.lon, each.lat, each.begin, each.end)
        if key in self._taken:
            earlier = self._taken[key][1].where
            raise DataError(f"{each.where}: the same observation stands in {earlier}; remove one of the two")
        self._taken[key] = each, row

    def observations(self) -> Observations:
        """Return all that was taken, with the errors of those that tell none; raises DataError where it is none."""
        taken = list(self._taken.values())
        groups: dict[tuple[str, str], list[int]] = {}
        for index, (_, row) in enumerate(taken):
            groups.setdefault((row.species, row.unit), []).append(index)
        scale = np.zeros(len(taken))
        for numbers in groups.values():
            scale[numbers] = self._choice.errors.scale(np.array([taken[index][1].value for index in numbers]))
        rows = [self._with_error(*pair, float(of)) for pair, of in zip(taken, scale, strict=True)]
        return Observations.of(rows)

    def _with_error(self, given: Candidate, row: Observation, scale: float) -> Observation:
        shares = self._choice.errors
        instrument = shares.instrument * scale if given.error is None else given.error
        other = shares.representativeness * scale if given.representativeness is None else given.representativeness
        sigma = float(np.hypot(instrument, other))
        if not sigma > 0.0:
            raise DataError(f"{row.where}: the error of a value of {row.value:g} comes out as 0; give a column error")
        return replace(row, sigma=sigma)

    def _reason_to_pass(self, each: Candidate) -> str:
        """Return why a row is passed over, "" where it is not; raises DataError where it may not be."""
        if each.flag not in self._choice.good:
            return f"flag {each.flag[:20]!r}"
        if each.parameter.casefold() not in self._species:
            if self._choice.unknown == "skip":
                return "another species"
            advice = suggestion(each.parameter, self._species.values())
            raise DataError(f"{each.where}: species {each.parameter[:40]!r} is none that is observed; {advice}")
        for outside, what in ((self._is_off(each), "the domain"), (self._is_early(each), "the window")):
            if outside and self._choice.outside == "skip":
                return f"outside {what}"
            if outside:
                raise DataError(f"{each.where}: {outside} lies outside {what}; remove the row, or let such be skipped")
        return ""

    def _lon(self, lon: float) -> float:
        west = float(self._grid.lon_faces[0])
        east = float(self._grid.lon_faces[-1])
        return lon if west <= lon <= east else west + (lon - west) % 360.0

    def _is_off(self, each: Candidate) -> str:
        for name, value, limit in (("lon", each.lon, 720.0), ("lat", each.lat, 90.0)):
            if not abs(value) <= limit:
                raise DataError(f"{each.where}: {name} is {value:g}; give degrees, finite ones")
        south, north = self._grid.lat_faces[[0, -1]]
        inside = self._lon(each.lon) <= self._grid.lon_faces[-1] and south <= each.lat <= north
        return "" if inside else f"{each.lon:g} E, {each.lat:g} N"

    def _is_early(self, each: Candidate) -> str:
        if 0.0 <= each.begin <= each.end <= self._length:
            return ""
        span = f"{each.begin / 3600:g} h" + (f" to {each.end / 3600:g} h" if each.end > each.begin else "")
        return f"the time {span} after the start"

    def _check(self, each: Candidate) -> None:
        if not np.isfinite(each.value):
            raise DataError(f"{each.where}: value is {each.value:g}; give a finite one, or a flag")
        for name, error in (("error", each.error), ("representativeness", each.representativeness)):
            least = 0.0 if name == "error" else -np.finfo(float).tiny
            if error is not None and not (least < error < np.inf):
                raise DataError(f"{each.where}: {name} is {error:g}; give one above 0, in the unit of the value")
        try:
            observed_unit(each.unit, each.kind)
        except CaseError as error:
            raise DataError(f"{each.where}: {error}") from None
