"""How weather is stored: whole numbers, of which value = scale * number + offset.

Rain of a day is in two bytes; all other weather is in one byte for each week, as the model feels it less. Scales are
those that the first pasture server of Queensland must have had (Rezny 1994, ETH research report 94-10, section 3.1: two
bytes and one byte; the scales themselves are inferred).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.errors import DataError

Array = npt.NDArray[np.float64]


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
