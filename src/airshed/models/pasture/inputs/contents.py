"""Contents of the inputs of a pasture case: land, classes, initial state, and a source of weather."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.core.errors import DataError
from airshed.grid.box import Box
from airshed.grid.land import LandGrid
from airshed.models.pasture.classes import Land, read_class
from airshed.models.pasture.inputs.block import Day, ReadMode, Stream, WeatherSource
from airshed.models.pasture.weather.calendar import Calendar
from airshed.parallel.communicator import Communicator

Classes = Mapping[str, Mapping[str, Any]]
MAPS: Final = ("soil_class", "pasture_class", "tree_basal_area")
HUMIDITY: Final = ("vapour_pressure", "vapour_pressure_deficit")


@dataclass(frozen=True, eq=False)
class Inputs:
    """Inputs of a pasture case; cells are packed land cells.

    grid       grid of the whole area, with its land mask
    calendar   days of the weather
    names      names of the weather fields
    soils, pastures  classes as plain values, by name
    maps       soil_class, pasture_class (cells,) counted from 0, tree_basal_area (cells,) [m2 ha-1]
    initial    initial state by name (cells,); missing variables have default values
    attributes attributes of results: title, source, license, and remarks on synthetic inputs
    source     source of the weather; None for inputs without weather
    where      folder, for messages

    Raises DataError for maps and states with a wrong number of cells, and for classes that do not exist.
    """

    grid: LandGrid
    calendar: Calendar
    names: Sequence[str]
    soils: Classes
    pastures: Classes
    maps: Mapping[str, npt.NDArray[Any]]
    initial: Mapping[str, Array]
    attributes: Mapping[str, str] = field(default_factory=dict)
    source: WeatherSource | None = None
    where: str = "inputs"

    def __post_init__(self) -> None:
        for name, values in (*self.maps.items(), *self.initial.items()):
            if values.shape != (self.grid.cells,):
                raise DataError(f"{name} has the shape {values.shape}, but there are {self.grid.cells} land cells")
        for kind, classes in (("soil", self.soils), ("pasture", self.pastures)):
            values = self.maps[f"{kind}_class"]
            if values.min() < 0 or values.max() >= len(classes):
                raise DataError(f"{kind}_class has the class {values.max()}, but there are {len(classes)} classes")

    @cached_property
    def land(self) -> Land:
        """Classes of soil and pasture, for `airshed.models.pasture.classes.cell_parameters`."""
        soils, pastures = (
            [read_class(kind, values, f"{self.where}: {kind} {name}") for name, values in classes.items()]
            for kind, classes in (("soil", self.soils), ("pasture", self.pastures))
        )
        return Land(soils, pastures)

    @cached_property
    def soil_class(self) -> npt.NDArray[np.int64]:
        """Soil class of each cell (cells,), counted from 0."""
        return self.maps["soil_class"].astype(np.int64)

    @cached_property
    def pasture_class(self) -> npt.NDArray[np.int64]:
        """Pasture class of each cell (cells,), counted from 0."""
        return self.maps["pasture_class"].astype(np.int64)

    @cached_property
    def tree_basal_area(self) -> Array:
        """Basal area of trees [m2 ha-1] (cells,); zeros if the inputs have no trees."""
        return np.asarray(self.maps.get("tree_basal_area", np.zeros(self.grid.cells)), np.float64)

    @cached_property
    def humidity(self) -> str:
        """Name of the humidity field of the weather, "none" without such a field."""
        return next((name for name in HUMIDITY if name in self.names), "none")

    @property
    def readable(self) -> WeatherSource:
        """Source of the weather; raises DataError if there is none."""
        if self.source is None:
            raise DataError(f"{self.where} has no weather yet")
        return self.source

    def weather(self, box: Box, first_day: int, days: int, dtype: npt.DTypeLike = np.float64) -> Day:
        """Return the weather of days first_day <= n < first_day + days in the cells of a box, by name.

        Fields are (days, cells), except for day_of_year and month, which are (days,). Raises the errors of
        `WeatherSource.block`.
        """
        return self.readable.block(first_day, days, box.ends[0], dtype).dense()

    def stream(
        self, box: Box, ranks: Communicator | None = None, *, reading: ReadMode = "every",
        dtype: npt.DTypeLike = np.float64,
    ) -> Stream:  # fmt: skip
        """Return the daily weather with reading ahead; see `Stream`."""
        return Stream(self.readable, box, ranks, reading=reading, dtype=dtype)
