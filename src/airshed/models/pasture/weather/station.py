"""Daily weather of one station with the names of the pasture model, its location and its humidity.

    deficit = max(0, 0.75 es(maxt) + 0.25 es(mint) - pressure)        [hPa]

Source: the weights of the day are those of GRASP.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.core.errors import DataError
from airshed.core.text import quoted, suggestion
from airshed.models.pasture.forms import saturation_pressure

Dates = npt.NDArray[np.datetime64]

UNITS: Final[Mapping[str, str]] = {
    "rain": "mm",
    "pan_evaporation": "mm",
    "radiation": "MJ m-2",
    "max_temperature": "degC",
    "min_temperature": "degC",
    "vapour_pressure": "hPa",
    "vapour_pressure_deficit": "hPa",
}
"""Daily weather fields and their units; water and energy are daily sums."""

HUMIDITY: Final = ("vapour_pressure", "vapour_pressure_deficit")
_LEAST_DAYS: Final = 60
_WET: Final = 1.0  # [mm] minimum rain of a wet day

Humidity = Literal["as_labelled", "vapour_pressure", "vapour_pressure_deficit", "none"]
"""Quantity of the humidity column of a station: as labelled, one of the two in spite of the label, or unused."""


@dataclass(frozen=True, eq=False)
class Column:
    """Daily values in a unit of `UNITS`, NaN if missing; `label` is the name of the column in the file."""

    values: Array
    unit: str
    label: str


@dataclass(frozen=True, eq=False)
class Station(Mapping[str, Array]):
    """Weather of a station: a mapping of names, see `UNITS`, to values (days,).

    where      file, for messages
    latitude, longitude  [degrees]; None if the file does not give them
    dates      dates of the file (days,), datetime64[D]; they may have gaps or a wrong order until they are checked
    notes      decisions of the reader, for warnings
    """

    name: str
    where: str
    latitude: float | None
    longitude: float | None
    dates: Dates
    columns: Mapping[str, Column]
    notes: tuple[str, ...] = ()

    @property
    def days(self) -> int:
        """Number of days."""
        return len(self.dates)

    def __getitem__(self, name: str) -> Array:
        if name not in self.columns:
            raise DataError(f"{self.where} has no {name}; {suggestion(name, self.columns)}")
        return self.columns[name].values

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def at(self, latitude: float | None = None, longitude: float | None = None) -> "Station":
        """Return the same weather at another location [degrees]; None retains a coordinate."""
        return replace(
            self,
            latitude=self.latitude if latitude is None else latitude,
            longitude=self.longitude if longitude is None else longitude,
        )

    def with_humidity(self, humidity: Humidity) -> "Station":
        """Return the same weather with the declared quantity of humidity; raises DataError if there is no such column.

        Some files label vapour pressure as deficit, and single days do not distinguish them: a case declares it.
        """
        if humidity == "as_labelled":
            return self
        labelled = [name for name in HUMIDITY if name in self.columns]
        rest: dict[str, Column] = {name: each for name, each in self.columns.items() if name not in HUMIDITY}
        if humidity == "none":
            return replace(self, columns=rest)
        if len(labelled) != 1 and humidity not in labelled:
            raise DataError(f"{self.where} has no humidity column (vp or vpd) for {humidity}")
        source = humidity if humidity in labelled else labelled[0]
        return replace(self, columns=rest | {humidity: self.columns[source]})

    def between(self, first: Any, last: Any) -> "Station":
        """Return the weather of days first <= day <= last; dates have the form "2020-01-01" or numpy.datetime64."""
        inside = (self.dates >= np.datetime64(first, "D")) & (self.dates <= np.datetime64(last, "D"))
        columns = {name: replace(each, values=each.values[inside]) for name, each in self.columns.items()}
        return replace(self, dates=self.dates[inside], columns=columns)


_LIMITS: Final = {"latitude": 90.0, "longitude": 360.0}
_VALUE: Final = re.compile(r"\s*([-+]?[0-9.]+)\s*(?:\(([^)]*)\))?")


def degrees(constants: Mapping[str, str], where: str) -> tuple[float | None, float | None, tuple[str, ...]]:
    """Return latitude and longitude [degrees] from the constants of a file, None if missing, and notes.

    Headers with the unit (deg.min) contain decimal degrees, since programs that read them ignore the unit. Two digits
    of 60 or more after the point prove it; otherwise a note gives both values.

    raises  DataError for invalid numbers, or numbers out of range
    """
    found = {name: _read(constants[name], name, where) for name in _LIMITS if name in constants}
    values = {name: number for name, (number, _) in found.items()}
    minutes = {name: number for name, (number, unit) in found.items() if "min" in unit.casefold()}
    notes: tuple[str, ...] = ()
    if minutes:
        proof = [name for name, number in minutes.items() if round(abs(number) % 1 * 100, 6) >= 60.0]
        listed = ", ".join(f"{name} {number:g}" for name, number in minutes.items())
        if proof:
            why = f"{round(abs(minutes[proof[0]]) % 1 * 100)} minutes do not exist"
        else:
            other = ", ".join(f"{name} {_from_degrees_minutes(number):.4f}" for name, number in minutes.items())
            why = f"as programs that read this format do; in minutes it would be {other}"
        notes = (f"{listed} with the unit (deg.min) is read as decimal degrees: {why}",)
    return values.get("latitude"), values.get("longitude"), notes


def _read(text: str, name: str, where: str) -> tuple[float, str]:
    """Return a value and the unit that follows it in brackets."""
    found = _VALUE.match(text)
    try:
        number = float(found.group(1)) if found else None
    except ValueError:
        number = None
    if found is None or number is None:
        raise DataError(f"{where}: {name} is {quoted(text)}, which is not a number; give degrees, south negative")
    if abs(number) > _LIMITS[name]:
        raise DataError(f"{where}: {name} is {number:g}, which is out of range; give degrees, south negative")
    return number, found.group(2) or ""


def _from_degrees_minutes(number: float) -> float:
    """Return degrees from a number with minutes after the decimal point."""
    whole = int(abs(number))
    return (whole + (abs(number) - whole) / 0.6) * (-1.0 if number < 0.0 else 1.0)


def pressure_from_deficit(deficit: Array, maximum: Array, minimum: Array) -> Array:
    """Return the vapour pressure [hPa] from its deficit [hPa] and the temperatures of the day [degC]."""
    saturated = 0.75 * saturation_pressure(maximum) + 0.25 * saturation_pressure(minimum)
    return np.asarray(np.maximum(saturated - deficit, 0.0))


@dataclass(frozen=True)
class HumidityEvidence:
    """Evidence that a column is vapour pressure, or its deficit.

    with_pressure, with_deficit  correlation with es(mint), and with 0.75 (es(maxt) - es(mint))
    wet, dry                     means of wet and of dry days [hPa], with equal weights of the months
    """

    with_pressure: float
    with_deficit: float
    wet: float
    dry: float

    @property
    def verdict(self) -> str:
        """Most probable field; "" if the two criteria disagree."""
        if self.with_pressure > self.with_deficit and self.wet > self.dry:
            return "vapour_pressure"
        if self.with_deficit > self.with_pressure and self.wet < self.dry:
            return "vapour_pressure_deficit"
        return ""

    def __str__(self) -> str:
        return (
            f"its correlation with es(mint) is {self.with_pressure:.2f}, that with es(maxt) - es(mint) "
            f"{self.with_deficit:.2f}; its mean on wet days is {self.wet:.1f} hPa, on dry days {self.dry:.1f} hPa"
        )


def humidity_evidence(station: Station, name: str) -> HumidityEvidence | None:
    """Return the evidence on a humidity column; None for too few days.

    At night air near the ground cools to about its dew point, so that pressure is correlated with es(mint). Within a
    month pressure is larger on wet days than on dry ones, and the deficit is smaller.
    """
    if not {"max_temperature", "min_temperature", "rain"} <= set(station):
        return None
    maximum, minimum, rain, values = (
        station[each] for each in ("max_temperature", "min_temperature", "rain", name)
    )  # fmt: skip
    known = np.isfinite(maximum) & np.isfinite(minimum) & np.isfinite(rain) & np.isfinite(values)
    known &= (np.abs(maximum) < 90.0) & (np.abs(minimum) < 90.0)
    if known.sum() < _LEAST_DAYS:
        return None
    maximum, minimum, rain, values = maximum[known], minimum[known], rain[known], values[known]
    means = _by_month(station.dates[known].astype("datetime64[M]").astype(int) % 12, rain > _WET, values)
    if means is None or not values.std():
        return None
    night = saturation_pressure(minimum)
    correlations = (np.corrcoef(values, each)[0, 1] for each in (night, saturation_pressure(maximum) - night))
    return HumidityEvidence(*(float(each) for each in (*correlations, *means)))


def _by_month(month: npt.NDArray[np.int64], wet: npt.NDArray[np.bool_], values: Array) -> tuple[float, float] | None:
    """Return the means of wet and dry days over the months of the year that have both."""
    both = [values[month == n] for n in range(12)], [wet[month == n] for n in range(12)]
    pairs = [
        (each[rains].mean(), each[~rains].mean())
        for each, rains in zip(*both, strict=True)
        if rains.any() and not rains.all()
    ]
    if not pairs:
        return None
    wets, dries = zip(*pairs, strict=True)
    return float(np.mean(wets)), float(np.mean(dries))
