"""Weather of some days and cells, where it comes from, and how it is stored.

Stored weather is whole numbers, of which value = scale * number + offset.
Rain of a day is in two bytes; all other weather is in one byte for each week, since it has less effect on the model.
Scales are those that the first pasture server of Queensland must have had (Rezny 1994, ETH research report 94-10,
section 3.1: two bytes and one byte; the scales themselves are inferred).
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Final, Literal, Self

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import AnyArray, Array
from airshed.core.errors import AirshedError, CaseError, DataError
from airshed.grid.box import Box
from airshed.io.background import ReadAhead
from airshed.kernels.cells.formulas import StepValues
from airshed.models.pasture.weather.calendar import Calendar
from airshed.parallel.communicator import Communicator, SingleRank


@dataclass(frozen=True)
class Packing:
    """Numbers of a type that stand for values in a unit."""

    dtype: type[np.integer[Any]]
    unit: str
    scale: float
    offset: float = 0.0

    @property
    def range(self) -> tuple[float, float]:
        """The least and the greatest value; rain is never below 0."""
        most = int(np.iinfo(self.dtype).max)
        return self.offset, self.offset + self.scale * most

    def packed(self, values: Array, what: str) -> npt.NDArray[Any]:
        """Return the numbers nearest to values; raises DataError, with `what`, for one that no number stands for."""
        low, high = self.range
        wrong = ~((values >= low - self.scale / 2) & (values <= high + self.scale / 2))
        if wrong.any():
            raise DataError(
                f"{what} has the value {values[wrong][0]:g} {self.unit}; what can be stored is {low:g} to {high:g}"
            )
        return np.rint((values - self.offset) / self.scale).astype(self.dtype)

    def unpacked(self, numbers: npt.NDArray[Any], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return values, as float32 or float64."""
        scale, offset = np.array([self.scale, self.offset], dtype)
        values: npt.NDArray[Any] = np.multiply(numbers, scale, dtype=dtype)
        return np.add(values, offset, out=values) if self.offset else values


DAILY: Final[Mapping[str, Packing]] = {"rain": Packing(np.int16, "mm", 0.1)}
"""Weather with a value for each day."""

WEEKLY: Final[Mapping[str, Packing]] = {
    "pan_evaporation": Packing(np.uint8, "mm", 0.1),
    "radiation": Packing(np.uint8, "MJ m-2", 0.2),
    "vapour_pressure": Packing(np.uint8, "hPa", 0.2),
    "vapour_pressure_deficit": Packing(np.uint8, "hPa", 0.4),
    "min_temperature": Packing(np.uint8, "degC", 0.25, -10.0),
    "max_temperature": Packing(np.uint8, "degC", 0.25, -10.0),
}
"""Weather with a value for each week, which is the mean of its days; a store has one of the two humidities."""

PACKINGS: Final[Mapping[str, Packing]] = {**DAILY, **WEEKLY}
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

    def rows(self, first: int, count: int) -> dict[str, AnyArray | StepValues]:
        """Return the weather of some days without a copy: weekly fields as rows that days share, others (days, ...).

        day_of_year and month are (days,).
        """
        days = np.arange(first, first + count)
        weeks = self.calendar.week(days) - self.calendar.week([self.first])[0]
        numbers = {"day_of_year": self.calendar.day_of_year(days), "month": self.calendar.month(days)}
        return {
            **{name: values[first - self.first : first - self.first + count] for name, values in self.daily.items()},
            **{name: StepValues(values, weeks) for name, values in self.weekly.items()},
            **{name: each.astype(np.float64) for name, each in numbers.items()},
        }

    def dense(self) -> Day:
        """Return arrays (days, cells) of all days; day_of_year and month are (days,)."""
        return {name: np.asarray(values) for name, values in self.rows(self.first, self.days).items()}


@dataclass(frozen=True, eq=False)
class Numbers:
    """Weather of a block as it is stored, in a quarter of the memory; `parts` are arrays (days or weeks, cells)."""

    calendar: Calendar
    first: int
    days: int
    parts: Mapping[str, AnyArray]

    def parted(self, cells: Sequence[tuple[int, int]]) -> list["Numbers"]:
        """Return the parts of several ranges of cells."""
        return [
            replace(
                self, parts={name: np.ascontiguousarray(each[:, slice(*ends)]) for name, each in self.parts.items()}
            )
            for ends in cells
        ]

    def decoded(self, dtype: npt.DTypeLike) -> Block:
        """Return the values."""
        values = {name: PACKINGS[name].unpacked(numbers, dtype) for name, numbers in self.parts.items()}
        daily = {name: array for name, array in values.items() if name in DAILY}
        weekly = {name: array for name, array in values.items() if name not in DAILY}
        return Block(self.calendar, self.first, self.days, daily, weekly)


class WeatherSource:
    """Weather of packed cells for the days of a calendar: a store's, that of stations, or synthetic.

    calendar     the days that have weather
    cells        the number of cells
    names        of the weather: rain, pan_evaporation, radiation, min_temperature, max_temperature, and one of
                 vapour_pressure and vapour_pressure_deficit, or neither
    block_days   days of a block that costs least to read: blocks begin at multiples of it
    has_numbers  whether :meth:`numbers` gives its weather as it is stored, which is small to send
    """

    calendar: Calendar
    cells: int
    names: tuple[str, ...]
    block_days: int
    has_numbers = True

    def numbers(self, first: int, days: int, cells: tuple[int, int]) -> Numbers:
        """Return what :meth:`block` returns, as the numbers of a store."""
        raise NotImplementedError

    def block(self, first: int, days: int, cells: tuple[int, int], dtype: npt.DTypeLike = np.float64) -> Block:
        """Return the weather of days first <= n < first + days in the packed cells first <= c < last.

        The values of a cell and day do not depend on what else is requested. Raises DataError for what cannot be read,
        CaseError for days that have no weather.
        """
        return self.numbers(first, days, cells).decoded(dtype)


# Weather day by day for the cells of a rank: read and decompressed on another thread while the model steps.

Reading = Literal["every", "root"]
"""Who reads a store, with the same values for any number of ranks: each rank reads and decompresses its own cells, or
the first rank reads all cells, and sends each rank its own, as they are stored."""

AHEAD: Final = 1
"""Blocks that are read ahead: one is stepped through, and the next is made meanwhile."""


class Stream:
    """The weather of the days of a source, for the cells of a box; use it in a ``with`` block, or close it.

    All ranks request the same days in the same order, as `root` sends what it has read. Days may go backwards or jump:
    what is requested is read then, and what follows it ahead.

    box      the cells of this rank;  ranks  all of those that share the domain
    reading  "every" or "root";  dtype  of values: float32 or float64
    until    the last day that will be requested, so that nothing is read beyond it; None for the calendar's
    """

    def __init__(
        self, source: WeatherSource, box: Box, ranks: Communicator | None = None, *, reading: Reading = "every",
        dtype: npt.DTypeLike = np.float64, until: int | None = None,
    ) -> None:  # fmt: skip
        self.source, self._cells, self._ranks, self._dtype = source, box.ends[0], ranks or SingleRank(), dtype
        self._last = source.calendar.days - 1 if until is None else until
        root = reading == "root" and self._ranks.size > 1
        if root and not source.has_numbers:
            raise CaseError("synthetic weather is made where it is needed; take reading = every")
        self._boxes = self._ranks.gather_all(self._cells) if root else None
        self._pool = ThreadPoolExecutor(1, "airshed-weather")
        self._ahead = ReadAhead[int, Any](self._read)
        self._blocks: dict[int, Block] = {}

    def day(self, number: int) -> Day:
        """Return the weather of a day (cells,); day_of_year and month are numbers. Raises as `days`."""
        return {name: np.asarray(values)[0] for name, values in self.days(number, 1).items()}

    def days(self, first: int, count: int) -> dict[str, AnyArray | StepValues]:
        """Return the weather of days, see `Block.rows`; that of more than one block is a copy.

        Arrays are valid until the next call but one. Raises DataError for what cannot be read, on all ranks alike with
        `root`; CaseError for days that have no weather.
        """
        parts = []
        while count > 0:
            block = self._holding(first)
            held = min(count, block.first + block.days - first)
            parts.append(block.rows(first, held))
            first, count = first + held, count - held
        if len(parts) == 1:
            return parts[0]
        return {name: np.concatenate([np.asarray(each[name]) for each in parts]) for name in parts[0]}

    def close(self) -> None:
        """End the thread; what it reads is dropped."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._ahead.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _holding(self, number: int) -> Block:
        """Return the block that holds a day: the last one, the one before it, or one that is read now."""
        index = number // self.source.block_days
        if index not in self._blocks:
            self.source.calendar.check(number, 1, "the case")
            kept = [key for key in self._blocks if key == index - 1]
            self._blocks = {**{key: self._blocks[key] for key in kept}, index: self._fetched(index)}
        return self._blocks[index]

    def _fetched(self, index: int) -> Block:
        """Return a block by its number, and have the next ones read."""
        reads = self._boxes is None or self._ranks.rank == 0
        if reads:
            wanted = range(index, index + AHEAD + 1)
            self._ahead.prepare([key for key in wanted if key * self.source.block_days <= self._last], self._pool)
        if self._boxes:
            return self._received(index if reads else None)
        block: Block = self._ahead.take(index)
        return block

    def _read(self, index: int) -> Any:
        """Read a block; on another thread. The first of several ranks returns the numbers of all ranks, by rank."""
        first = index * self.source.block_days
        days = min(self.source.block_days, self.source.calendar.days - first)
        if self._boxes is None:
            return self.source.block(first, days, self._cells, self._dtype)
        return self.source.numbers(first, days, (0, self.source.cells)).parted(self._boxes)

    def _received(self, index: int | None) -> Block:
        """Return this rank's part of what the first rank has read; an error there is one of all ranks."""
        parts: Sequence[Any] | None = None
        if index is not None:
            try:
                parts = self._ahead.take(index)
            except AirshedError as error:
                parts = [str(error)] * self._ranks.size
        part = self._ranks.scatter(parts)
        if isinstance(part, str):
            raise DataError(part)
        block: Block = part.decoded(self._dtype)
        return block
