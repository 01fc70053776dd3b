"""Reads the inputs of the pasture model from a store that `airshed pasture prepare` made; see `store` for its files."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from airshed.core.errors import AirshedError, DataError
from airshed.core.files import note_input
from airshed.grid.land import LandGrid
from airshed.models.pasture.inputs.block import AnyArray, Block
from airshed.models.pasture.inputs.contents import MAPS, Contents, Inputs
from airshed.models.pasture.inputs.manifest import check_folder
from airshed.models.pasture.inputs.numbers import Numbers
from airshed.models.pasture.inputs.packing import DAILY, PACKINGS
from airshed.models.pasture.inputs.store import CHUNK_DAYS, FIELDS, OWN
from airshed.models.pasture.weather.calendar import Calendar


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

    def numbers(self, first: int, days: int, cells: tuple[int, int]) -> Numbers:
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


def open_store(path: Path) -> Inputs:
    """Return the inputs in a prepared folder; the weather is read when it is asked for.

    Raises DataError, with the file and what to do, for what is missing, truncated, damaged or no such folder.
    """
    import zarr

    check_folder(path)
    with _told(path, "fields.zarr"):
        group: Any = zarr.open_group(path / FIELDS, mode="r", zarr_format=3)
        attributes = dict(group.attrs)
        told = {name: value for name, value in attributes.items() if isinstance(value, str) and name not in OWN}
        names = [str(name) for name in group["initial"].attrs["names"]]
    grid = LandGrid(_array(path, group, "lat"), _array(path, group, "lon"), _array(path, group, "land") > 0)
    weather = StoredWeather(path, grid, attributes)
    soils, pastures = (_classes(path, kind) for kind in ("soils", "pastures"))
    maps = {name: _array(path, group, name) for name in MAPS if name in group}
    initial = dict(zip(names, _array(path, group, "initial"), strict=True))
    with _told(path, "its contents"):
        contents = Contents(grid, weather.calendar, weather.names, soils, pastures, maps, initial, told)
    return Inputs(str(path), contents, weather)


def _classes(path: Path, name: str) -> dict[str, Any]:
    with _told(path, f"{name}.json"):
        table: dict[str, Any] = json.loads(note_input(path / f"{name}.json").read_text(encoding="utf-8"))
        return table


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
