"""What a pasture case is made of: the land, its classes and state at the start, and a source of weather."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.errors import DataError
from airshed.grid.box import Box
from airshed.grid.land import LandGrid
from airshed.models.pasture.classes import read_class
from airshed.models.pasture.inputs.block import Day, WeatherSource
from airshed.models.pasture.inputs.manifest import MANIFEST, check_contents
from airshed.models.pasture.inputs.stream import Reading, Stream
from airshed.models.pasture.parameters import Land
from airshed.models.pasture.weather.calendar import Calendar
from airshed.parallel.communicator import Communicator

Array = npt.NDArray[np.float64]
Classes = Mapping[str, Mapping[str, Any]]

MAPS: Final = ("soil_class", "pasture_class", "tree_basal_area")


@dataclass(frozen=True, eq=False)
class Contents:
    """All that inputs have but the weather; cells are those on land, packed.

    calendar   days of the weather;  weather  its names
    soils, pastures  classes as plain values, by name
    maps       soil_class, pasture_class (cells,) counted from 0, tree_basal_area (cells,) [m2 ha-1]
    initial    fields of the state (cells,)
    attributes title, source, license, and what else results must tell
    raises     DataError for maps and states of another number of cells, and for classes that there are not
    """

    grid: LandGrid
    calendar: Calendar
    weather: Sequence[str]
    soils: Classes
    pastures: Classes
    maps: Mapping[str, npt.NDArray[Any]]
    initial: Mapping[str, Array]
    attributes: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, values in (*self.maps.items(), *self.initial.items()):
            if values.shape != (self.grid.cells,):
                raise DataError(f"{name} has the shape {values.shape}, where {self.grid.cells} cells are on land")
        for kind, classes in (("soil", self.soils), ("pasture", self.pastures)):
            values = self.maps[f"{kind}_class"]
            if values.min() < 0 or values.max() >= len(classes):
                raise DataError(f"{kind}_class has the class {values.max()}, where there are {len(classes)}")


@dataclass(frozen=True, eq=False)
class Inputs:
    """What a pasture case is made of; cells are those on land, packed.

    where     the folder, for messages
    source    of the weather
    """

    where: str
    contents: Contents
    source: WeatherSource

    @property
    def grid(self) -> LandGrid:
        """The grid of the whole area, and which of its cells are on land."""
        return self.contents.grid

    @property
    def calendar(self) -> Calendar:
        """The days that have weather."""
        return self.source.calendar

    @cached_property
    def land(self) -> Land:
        """The classes of soil and pasture, for `airshed.models.pasture.parameters.cell_parameters`."""
        pairs = (("soil", self.contents.soils), ("pasture", self.contents.pastures))
        soils, pastures = (
            [read_class(kind, values, f"{self.where}: {kind} {name}") for name, values in classes.items()]
            for kind, classes in pairs
        )
        return Land(soils, pastures)

    @cached_property
    def soil_class(self) -> npt.NDArray[np.int64]:
        """The soil of each cell (cells,), counted from 0."""
        return self.contents.maps["soil_class"].astype(np.int64)

    @cached_property
    def pasture_class(self) -> npt.NDArray[np.int64]:
        """The pasture of each cell (cells,), counted from 0."""
        return self.contents.maps["pasture_class"].astype(np.int64)

    @cached_property
    def tree_basal_area(self) -> Array:
        """Of each cell [m2 ha-1] (cells,); zeros where the inputs have none."""
        return np.asarray(self.contents.maps.get("tree_basal_area", np.zeros(self.grid.cells)), np.float64)

    @property
    def initial(self) -> Mapping[str, Array]:
        """The state at the start by the names of its fields (cells,); what is not among them is as usual."""
        return self.contents.initial

    @property
    def attributes(self) -> Mapping[str, str]:
        """What results must say: title, source, license, and what is synthetic."""
        return self.contents.attributes

    @cached_property
    def humidity(self) -> str:
        """Which humidity the weather has, declared when it was prepared: "none" where it has no such field."""
        known = [name for name in ("vapour_pressure", "vapour_pressure_deficit") if name in self.source.names]
        return known[0] if known else "none"

    def weather(self, box: Box, first_day: int, days: int, dtype: npt.DTypeLike = np.float64) -> Day:
        """Return weather of days first_day <= n < first_day + days in the cells of a box, by the names of its fields.

        Each is (days, cells), but day_of_year and month, which are (days,). Raises as `WeatherSource.block`.
        """
        return self.source.block(first_day, days, box.ends[0], dtype).dense()

    def stream(
        self, box: Box, ranks: Communicator | None = None, *, reading: Reading = "every",
        dtype: npt.DTypeLike = np.float64,
    ) -> Stream:  # fmt: skip
        """Return the weather day by day, read ahead; see `Stream`."""
        return Stream(self.source, box, ranks, reading=reading, dtype=dtype)

    def check(self) -> None:
        """Compare the files of a store with their checksums; raises DataError with the first that differs."""
        if (Path(self.where) / MANIFEST).exists():
            check_contents(Path(self.where))
