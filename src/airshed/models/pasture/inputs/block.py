"""Weather of some days and cells, and where it comes from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from airshed.kernels.rows import Rows
from airshed.models.pasture.weather.calendar import Calendar

AnyArray = npt.NDArray[Any]
Day = dict[str, AnyArray]


@dataclass(frozen=True, eq=False)
class Block:
    """Weather of the days first <= n < first + days of a calendar, in some cells; all arrays are to be read only.

    daily   name -> (days, cells)
    weekly  name -> (weeks, cells), the weeks from that of the first day on
    """

    calendar: Calendar
    first: int
    days: int
    daily: Mapping[str, AnyArray]
    weekly: Mapping[str, AnyArray]

    def day(self, number: int) -> Day:
        """Return the weather of a day: arrays (cells,), views; day_of_year and month are numbers of all cells.

        A weekly field is the same array on all days of its week.
        """
        row, week = number - self.first, int(self._weeks(np.array([number]))[0])
        numbers = {"day_of_year": self.calendar.day_of_year, "month": self.calendar.month}
        return {
            **{name: values[row] for name, values in self.daily.items()},
            **{name: values[week] for name, values in self.weekly.items()},
            **{name: np.asarray(of([number])[0], np.float64) for name, of in numbers.items()},
        }

    def rows(self, first: int, count: int) -> dict[str, AnyArray | Rows]:
        """Return the weather of some days without a copy: weekly fields as rows that days share, others (days, ...)."""
        weeks = self._weeks(np.arange(first, first + count))
        return {
            **{name: values[first - self.first : first - self.first + count] for name, values in self.daily.items()},
            **{name: Rows(values, weeks) for name, values in self.weekly.items()},
            **self._numbers(first, count),
        }

    def dense(self, first: int | None = None, count: int | None = None) -> Day:
        """Return arrays (days, cells) of some days, or of all; day_of_year and month are (days,)."""
        rows = self.rows(self.first if first is None else first, self.days if count is None else count)
        return {name: np.asarray(values) for name, values in rows.items()}

    def _numbers(self, first: int, count: int) -> Day:
        """Return the numbers of days that all cells have: (days,)."""
        days = np.arange(first, first + count)
        found = {"day_of_year": self.calendar.day_of_year(days), "month": self.calendar.month(days)}
        return {name: values.astype(np.float64) for name, values in found.items()}

    def _weeks(self, days: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        weeks: npt.NDArray[np.int64] = self.calendar.week(days) - self.calendar.week([self.first])[0]
        return weeks


class WeatherSource(Protocol):
    """Weather of packed cells for the days of a calendar: a store's, or synthetic.

    calendar     the days that there are
    cells        the number of cells
    names        of the weather: rain, pan_evaporation, radiation, min_temperature, max_temperature, and one of
                 vapour_pressure and vapour_pressure_deficit, or neither
    block_days   days of a block that costs least to read: blocks begin at multiples of it
    """

    calendar: Calendar
    cells: int
    names: tuple[str, ...]
    block_days: int

    def block(self, first: int, days: int, cells: tuple[int, int], dtype: npt.DTypeLike = np.float64) -> Block:
        """Return the weather of days first <= n < first + days in the packed cells first <= c < last.

        The values of a cell and day do not depend on what else is asked for. Raises DataError for what cannot be read,
        CaseError for days that there are not.
        """
        ...
