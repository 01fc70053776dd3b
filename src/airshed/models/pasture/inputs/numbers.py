"""Weather as the numbers that are stored, which take a quarter of the room of values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from airshed.models.pasture.inputs.block import AnyArray, Block
from airshed.models.pasture.inputs.packing import DAILY, PACKINGS
from airshed.models.pasture.weather.calendar import Calendar


@dataclass(frozen=True, eq=False)
class Numbers:
    """Weather of a block as it is stored; `parts` are arrays (days or weeks, cells)."""

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
