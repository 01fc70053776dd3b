"""The daily weather of one station, by the names that the pasture model has for it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from airshed.core.errors import DataError
from airshed.core.text import suggestion

Array = npt.NDArray[np.float64]
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
"""Weather of a day and its unit; water and energy are those of the whole day."""

HUMIDITY: Final = ("vapour_pressure", "vapour_pressure_deficit")
Humidity = Literal["as_labelled", "vapour_pressure", "vapour_pressure_deficit", "none"]
"""What a station's column of humidity is: as its label says, one of the two whatever the label says, or not to use."""


@dataclass(frozen=True, eq=False)
class Column:
    """Values of the days in a unit of `UNITS`, NaN where the file has none; `label` is the column's name there."""

    values: Array
    unit: str
    label: str


@dataclass(frozen=True, eq=False)
class Station(Mapping[str, Array]):
    """Weather of a station: a mapping of names, see `UNITS`, to values (days,).

    where      the file, for messages
    latitude, longitude  [degrees]; None where the file tells none
    dates      (days,), datetime64[D], as the file has them: in order and without a gap only where checks say so
    notes      what the reader decided, for warnings
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
        """The number of days."""
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
        """Return the same weather at a place [degrees]; what is None stays as it is."""
        return replace(
            self,
            latitude=self.latitude if latitude is None else latitude,
            longitude=self.longitude if longitude is None else longitude,
        )

    def with_humidity(self, humidity: Humidity) -> "Station":
        """Return the same weather with its column of humidity as declared; raises DataError where there is none.

        Files label vapour pressure as deficit, and the two cannot be told apart day by day: a case declares it.
        """
        if humidity == "as_labelled":
            return self
        labelled = [name for name in HUMIDITY if name in self.columns]
        rest: dict[str, Column] = {name: each for name, each in self.columns.items() if name not in HUMIDITY}
        if humidity == "none":
            return replace(self, columns=rest)
        if len(labelled) != 1 and humidity not in labelled:
            raise DataError(f"{self.where} has no column of humidity (vp or vpd) that could be {humidity}")
        source = humidity if humidity in labelled else labelled[0]
        return replace(self, columns=rest | {humidity: self.columns[source]})

    def between(self, first: Any, last: Any) -> "Station":
        """Return the days first <= day <= last, each as numpy.datetime64 takes it ("2020-01-01")."""
        kept = (self.dates >= np.datetime64(first, "D")) & (self.dates <= np.datetime64(last, "D"))
        columns = {name: replace(each, values=each.values[kept]) for name, each in self.columns.items()}
        return replace(self, dates=self.dates[kept], columns=columns)
