"""Reads the inputs of the pasture model from a store that `airshed pasture prepare` made; see `store` for its files."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from airshed.core.errors import AirshedError, DataError
from airshed.grid.box import Box
from airshed.grid.land import LandGrid
from airshed.parallel.communicator import Communicator
from airshed.pasture.classes import read_class
from airshed.pasture.inputs.block import AnyArray, Block, Day, WeatherSource
from airshed.pasture.inputs.manifest import check_contents, check_folder
from airshed.pasture.inputs.packing import DAILY, PACKINGS
from airshed.pasture.inputs.store import CHUNK_DAYS, FIELDS
from airshed.pasture.inputs.stream import Reading, Stream
from airshed.pasture.parameters import Land
from airshed.pasture.weather.calendar import Calendar

Array = npt.NDArray[np.float64]


class StoredWeather:
    """The weather of a store, by blocks; see `WeatherSource`."""

    block_days = CHUNK_DAYS

    def __init__(self, path: Path, grid: LandGrid, attributes: Mapping[str, Any]) -> None:
        self.path, self.cells, self._grid = path / FIELDS, grid.cells, grid
        with _told(path, "its attributes"):
            self.calendar = Calendar(np.datetime64(attributes["first_day"], "D"), int(attributes["days"]))
            self.names = tuple(str(name) for name in attributes["weather"])
            self._full = attributes["layout"] == "full"
        self._arrays = {name: self._open(name) for name in self.names}

    def block(self, first: int, days: int, cells: tuple[int, int], dtype: npt.DTypeLike = np.float64) -> Block:
        """Return weather as values; see `WeatherSource`."""
        return self.numbers(first, days, cells).decoded(dtype)

    def numbers(self, first: int, days: int, cells: tuple[int, int]) -> "Numbers":
        """Return the same as the numbers that are stored, which take a quarter of the room."""
        self.calendar.check(first, days, str(self.path))
        last_week = int(self.calendar.week([first + days - 1])[0]) + 1
        rows = {"day": (first, first + days), "week": (int(self.calendar.week([first])[0]), last_week)}
        read = {name: self._read(name, rows["day" if name in DAILY else "week"], cells) for name in self.names}
        return Numbers(self.calendar, first, days, read)

    def _open(self, name: str) -> Any:
        import zarr

        with _told(self.path, name):
            array: Any = zarr.open_array(self.path / name, mode="r", zarr_format=3)
            expected = self.calendar.days if name in DAILY else self.calendar.weeks
            shape = (expected, *(self._grid.mask.shape if self._full else (self.cells,)))
            if array.shape != shape or array.dtype != PACKINGS[name].dtype:
                raise DataError(f"{self.path / name} is {array.dtype} {array.shape}, not {shape}; prepare it again")
            return array

    def _read(self, name: str, rows: tuple[int, int], cells: tuple[int, int]) -> AnyArray:
        with _told(self.path, f"{name}, days or weeks {rows[0]} to {rows[1] - 1}"):
            if not self._full:
                packed: AnyArray = self._arrays[name][slice(*rows), slice(*cells)]
                return packed
            index, width = self._grid.index[slice(*cells)], len(self._grid.lon)
            south, north = int(index[0]) // width, int(index[-1]) // width + 1
            values: AnyArray = self._arrays[name][slice(*rows), south:north]
            return values.reshape(len(values), -1)[:, index - south * width]


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


@dataclass(frozen=True, eq=False)
class Inputs:
    """What a pasture case is made of; cells are those on land, packed.

    where       the store, for messages
    grid        of the whole area, and which cells are on land
    land        the classes of soil and pasture, for `airshed.pasture.parameters.cell_parameters`
    soil_class, pasture_class  of each cell (cells,), counted from 0
    tree_basal_area  [m2 ha-1] (cells,), zeros where the store has none
    initial     the state at the start by the names of its fields (cells,)
    source      of the weather
    attributes  what results must say: title, source, license, and what is synthetic
    """

    where: str
    grid: LandGrid
    land: Land
    soil_class: npt.NDArray[np.int64]
    pasture_class: npt.NDArray[np.int64]
    tree_basal_area: Array
    initial: Mapping[str, Array]
    source: WeatherSource
    attributes: Mapping[str, str]

    @property
    def calendar(self) -> Calendar:
        """The days that have weather."""
        return self.source.calendar

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
        self,
        box: Box,
        ranks: Communicator | None = None,
        *,
        reading: Reading = "every",
        dtype: npt.DTypeLike = np.float64,
    ) -> Stream:
        """Return the weather day by day, read ahead; see `Stream`."""
        return Stream(self.source, box, ranks, reading=reading, dtype=dtype)

    def check(self) -> None:
        """Compare all files with their checksums; raises DataError with the first that differs."""
        check_contents(Path(self.where))


def open_inputs(path: Path | str) -> Inputs:
    """Return the inputs in a folder; the weather is read when it is asked for.

    Raises DataError, with the file and what to do, for what is missing, truncated, damaged or no such folder.
    """
    import zarr

    path = Path(path)
    check_folder(path)
    with _told(path, "fields.zarr"):
        group: Any = zarr.open_group(path / FIELDS, mode="r", zarr_format=3)
        attributes = dict(group.attrs)
        told = {name: value for name, value in attributes.items() if isinstance(value, str)}
    grid = LandGrid(_array(path, group, "lat"), _array(path, group, "lon"), _array(path, group, "land") > 0)
    soil, pasture = (_array(path, group, f"{kind}_class").astype(np.int64) for kind in ("soil", "pasture"))
    trees = _array(path, group, "tree_basal_area") if "tree_basal_area" in group else np.zeros(grid.cells)
    with _told(path, "initial"):
        names = [str(name) for name in group["initial"].attrs["names"]]
    initial = dict(zip(names, _array(path, group, "initial"), strict=True))
    land = Land([*_classes(path, "soil").values()], [*_classes(path, "pasture").values()])
    weather = StoredWeather(path, grid, attributes)
    return Inputs(str(path), grid, land, soil, pasture, np.asarray(trees, np.float64), initial, weather, told)


def _classes(path: Path, kind: str) -> dict[str, Any]:
    with _told(path, f"{kind}s.json"):
        table = json.loads((path / f"{kind}s.json").read_text(encoding="utf-8"))
        return {name: read_class(kind, values, f"{path}: {kind} {name}") for name, values in table.items()}


def _array(path: Path, group: Any, name: str) -> AnyArray:
    with _told(path, name):
        values: AnyArray = group[name][...]
        return values


@contextmanager
def _told(path: Path, what: str) -> Iterator[None]:
    """Turn whatever goes wrong where a store is read into DataError: damage leads to errors of any kind."""
    try:
        yield
    except AirshedError:
        raise
    except Exception as error:
        reason = " ".join((str(error) or type(error).__name__).split())[:160]
        raise DataError(
            f"{path}: {what} cannot be read ({reason}); make it again by `airshed pasture prepare`"
        ) from error
