"""Weather day by day for the cells of a rank: read and decompressed on another thread while the model steps.

`reading` chooses who reads a store, with the same values for any number of ranks:

    every   each rank reads and decompresses its own cells
    root    the first rank reads all cells, and sends each rank its own, as they are stored
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Final, Literal, Self

import numpy as np
import numpy.typing as npt

from airshed.core.errors import AirshedError, CaseError, DataError
from airshed.grid.box import Box
from airshed.io.background import ReadAhead
from airshed.kernels.cells.formulas import Rows
from airshed.models.pasture.inputs.block import AnyArray, Block, Day, WeatherSource
from airshed.parallel.communicator import Alone, Communicator

Reading = Literal["every", "root"]
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
        self.source, self._cells, self._ranks, self._dtype = source, box.ends[0], ranks or Alone(), dtype
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

    def days(self, first: int, count: int) -> dict[str, AnyArray | Rows]:
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
