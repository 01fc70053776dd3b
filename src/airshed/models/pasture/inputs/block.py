"""Weather of blocks of days and cells: sources, packing, and reading ahead.

Weather is stored as whole numbers with value = scale * number + offset. Daily rain is in two bytes. All other weather
is weekly, in one byte, since it has less effect on the model. The first pasture server of Queensland had the same
number of bytes (Rezny 1994, ETH research report 94-10, section 3.1). The scales are inferred.
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
class PackedType:
    """Type, unit, scale and offset of values that are packed into whole numbers."""

    dtype: type[np.integer[Any]]
    unit: str
    scale: float
    offset: float = 0.0

    @property
    def range(self) -> tuple[float, float]:
        """Minimum and maximum value; negative numbers are not used."""
        most = int(np.iinfo(self.dtype).max)
        return self.offset, self.offset + self.scale * most

    def packed(self, values: Array, name: str) -> npt.NDArray[Any]:
        """Return the nearest packed numbers; raises DataError with a name for values out of range."""
        low, high = self.range
        wrong = ~((values >= low - self.scale / 2) & (values <= high + self.scale / 2))
        if wrong.any():
            raise DataError(
                f"{name} has the value {values[wrong][0]:g} {self.unit}; stored values range from {low:g} to {high:g}"
            )
        return np.rint((values - self.offset) / self.scale).astype(self.dtype)

    def unpacked(self, numbers: npt.NDArray[Any], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """Return the values as float32 or float64."""
        scale, offset = np.array([self.scale, self.offset], dtype)
        values: npt.NDArray[Any] = np.multiply(numbers, scale, dtype=dtype)
        return np.add(values, offset, out=values) if self.offset else values


DAILY: Final[Mapping[str, PackedType]] = {"rain": PackedType(np.int16, "mm", 0.1)}
"""Weather fields with daily values."""

WEEKLY: Final[Mapping[str, PackedType]] = {
    "pan_evaporation": PackedType(np.uint8, "mm", 0.1),
    "radiation": PackedType(np.uint8, "MJ m-2", 0.2),
    "vapour_pressure": PackedType(np.uint8, "hPa", 0.2),
    "vapour_pressure_deficit": PackedType(np.uint8, "hPa", 0.4),
    "min_temperature": PackedType(np.uint8, "degC", 0.25, -10.0),
    "max_temperature": PackedType(np.uint8, "degC", 0.25, -10.0),
}
"""Weather fields with weekly means; a store has one of the two humidities."""

PACKINGS: Final[Mapping[str, PackedType]] = {**DAILY, **WEEKLY}
Day = dict[str, AnyArray]


@dataclass(frozen=True, eq=False)
class Block:
    """Weather of the days first <= n < first + days of a calendar, in some cells; the arrays are read-only.

    daily   name -> (days, cells)
    weekly  name -> (weeks, cells), from the week of the first day
    """

    calendar: Calendar
    first: int
    days: int
    daily: Mapping[str, AnyArray]
    weekly: Mapping[str, AnyArray]

    def rows(self, first: int, count: int) -> dict[str, AnyArray | StepValues]:
        """Return the weather of some days without copying: weekly fields as shared rows, others (days, ...).

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
    """Packed weather of a block, with a quarter of the memory; `parts` are arrays (days or weeks, cells)."""

    calendar: Calendar
    first: int
    days: int
    parts: Mapping[str, AnyArray]

    def split(self, cells: Sequence[tuple[int, int]]) -> list["Numbers"]:
        """Return the parts of several ranges of cells."""
        return [
            replace(
                self, parts={name: np.ascontiguousarray(each[:, slice(*ends)]) for name, each in self.parts.items()}
            )
            for ends in cells
        ]

    def decoded(self, dtype: npt.DTypeLike) -> Block:
        """Return the unpacked values."""
        values = {name: PACKINGS[name].unpacked(numbers, dtype) for name, numbers in self.parts.items()}
        daily = {name: array for name, array in values.items() if name in DAILY}
        weekly = {name: array for name, array in values.items() if name not in DAILY}
        return Block(self.calendar, self.first, self.days, daily, weekly)


class WeatherSource:
    """Weather of packed cells for the days of a calendar: from a store, from stations, or synthetic.

    calendar     days with weather
    cells        number of cells
    names        weather fields: rain, pan_evaporation, radiation, min_temperature, max_temperature, and at most one of
                 vapour_pressure and vapour_pressure_deficit
    block_days   optimal number of days of a block; blocks begin at multiples of it
    has_numbers  whether :meth:`numbers` returns packed weather, which is smaller for communication
    """

    calendar: Calendar
    cells: int
    names: tuple[str, ...]
    block_days: int
    has_numbers = True

    def numbers(self, first: int, days: int, cells: tuple[int, int]) -> Numbers:
        """Return the packed weather of :meth:`block`."""
        raise NotImplementedError

    def block(self, first: int, days: int, cells: tuple[int, int], dtype: npt.DTypeLike = np.float64) -> Block:
        """Return the weather of days first <= n < first + days in the packed cells first <= c < last.

        The values of a cell and day do not depend on the requested range. Raises DataError for unreadable files,
        CaseError for days without weather.
        """
        return self.numbers(first, days, cells).decoded(dtype)


# Daily weather of the cells of a rank, read and decompressed on another thread while the model runs.

ReadMode = Literal["every", "root"]
"""Mode of reading a store, with the same values for any number of ranks: each rank reads and decompresses its own
cells, or the first rank reads all cells and sends packed values to each rank."""
AHEAD: Final = 1
"""Number of blocks that are read ahead of the current one."""


class Stream:
    """Daily weather of a source for the cells of a rank; use it in a ``with`` block, or close it.

    All ranks request the same days in the same order, since with `root` one rank sends to all. Days may be requested in
    any order; the block after the requested one is read ahead.

    box      index range of the cells of this rank
    ranks    ranks that share the domain
    reading  "every" or "root"
    dtype    type of values: float32 or float64
    until    last day that will be requested, beyond which nothing is read; by default the end of the calendar
    """

    def __init__(
        self, source: WeatherSource, box: Box, ranks: Communicator | None = None, *, reading: ReadMode = "every",
        dtype: npt.DTypeLike = np.float64, until: int | None = None,
    ) -> None:  # fmt: skip
        self.source, self._cells, self._ranks, self._dtype = source, box.ends[0], ranks or SingleRank(), dtype
        self._last = source.calendar.days - 1 if until is None else until
        root = reading == "root" and self._ranks.size > 1
        if root and not source.has_numbers:
            raise CaseError("synthetic weather is computed on each rank; set reading = every")
        self._boxes = self._ranks.gather_all(self._cells) if root else None
        self._pool = ThreadPoolExecutor(1, "airshed-weather")
        self._ahead = ReadAhead[int, Any](self._read)
        self._blocks: dict[int, Block] = {}

    def day(self, number: int) -> Day:
        """Return the weather of a day (cells,); day_of_year and month are numbers. Raises the errors of `days`."""
        return {name: np.asarray(values)[0] for name, values in self.days(number, 1).items()}

    def days(self, first: int, count: int) -> dict[str, AnyArray | StepValues]:
        """Return the weather of days, see `Block.rows`; weather from more than one block is copied.

        Arrays remain valid during the next call. Raises DataError for unreadable files, with `root` on all ranks, and
        CaseError for days without weather.
        """
        parts = []
        while count > 0:
            block = self._block_of_day(first)
            held = min(count, block.first + block.days - first)
            parts.append(block.rows(first, held))
            first, count = first + held, count - held
        if len(parts) == 1:
            return parts[0]
        return {name: np.concatenate([np.asarray(each[name]) for each in parts]) for name in parts[0]}

    def close(self) -> None:
        """Stop the thread and discard its blocks."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._ahead.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _block_of_day(self, number: int) -> Block:
        """Return the block that contains a day: the last one, the one before it, or a newly read one."""
        index = number // self.source.block_days
        if index not in self._blocks:
            self.source.calendar.check(number, 1, "the case")
            previous = [key for key in self._blocks if key == index - 1]
            self._blocks = {**{key: self._blocks[key] for key in previous}, index: self._fetch(index)}
        return self._blocks[index]

    def _fetch(self, index: int) -> Block:
        """Return a block by its number, and start reading the next one."""
        reads = self._boxes is None or self._ranks.rank == 0
        if reads:
            keys = range(index, index + AHEAD + 1)
            self._ahead.prepare([key for key in keys if key * self.source.block_days <= self._last], self._pool)
        if self._boxes:
            return self._receive(index if reads else None)
        block: Block = self._ahead.take(index)
        return block

    def _read(self, index: int) -> Any:
        """Read a block, on another thread; with `root` the first rank returns the packed blocks of all ranks."""
        first = index * self.source.block_days
        days = min(self.source.block_days, self.source.calendar.days - first)
        if self._boxes is None:
            return self.source.block(first, days, self._cells, self._dtype)
        return self.source.numbers(first, days, (0, self.source.cells)).split(self._boxes)

    def _receive(self, index: int | None) -> Block:
        """Return the part of this rank from the first rank; an error on the first rank is raised on all ranks."""
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
