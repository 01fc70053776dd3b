"""Prepared inputs of the pasture model: a folder with two tables, and a Zarr group of maps, state and weather.

    soils.json, pastures.json        classes, see airshed.models.pasture.classes
    fields.zarr                      attributes: title, source, license, first_day, days, layout, humidity ...
      lat, lon, land                 grid and land mask
      soil_class, pasture_class      (cell), counted from 0;  tree_basal_area (cell) [m2 ha-1]
      initial                        (state, cell)
      rain                           (day, cell) int16, 0.1 mm
      pan_evaporation, radiation, vapour_pressure or vapour_pressure_deficit, min_temperature, max_temperature
                                     (week, cell) one byte, 53 weeks a year
    manifest.json                    sizes and checksums of all of these

They correspond to the ten files of Rezny (1994), table 13. Weather is divided into chunks of days and cells. Chunks are
compressed separately with a checksum each, and collected in shards with an index, so that any day and window can be
read separately. Cells are packed land cells ("land"), or all cells of the grid as (lat, lon) ("full"). See
docs/decisions/0025 for the reasons.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import AnyArray, Array
from airshed.core.atomic import guarded, part_path, sync
from airshed.core.errors import AirshedError, DataError, OutputError
from airshed.core.files import note_input
from airshed.grid.land import LandGrid
from airshed.models.pasture.fields import STATE
from airshed.models.pasture.inputs.block import DAILY, PACKINGS, Numbers, WeatherSource
from airshed.models.pasture.inputs.contents import MAPS, Inputs
from airshed.models.pasture.weather.calendar import Calendar

Layout = Literal["land", "full"]
FIELDS: Final = "fields.zarr"
"""Name of the Zarr group in the folder."""

MANIFEST: Final = "manifest.json"
FORMAT: Final = "airshed pasture inputs 1"
_PREPARE: Final = "run `airshed pasture prepare` again"
CHUNK_DAYS: Final = 64
CHUNK_WEEKS: Final = 16
CHUNK_CELLS: Final = 8192
"""Cells of a chunk: one mebibyte of rain, so that a rank decompresses few additional cells."""
_SHARD: Final = 6  # chunks of days or weeks in a shard, about a year
_SHARD_CELLS: Final = 8
_LEVEL: Final = 5
_OWN: Final = ("Conventions", "first_day", "layout", "humidity")
"""Attributes of the store."""


class Store:
    """Store that is being written: `put` writes the weather, in any order."""

    def __init__(self, folder: Path, inputs: Inputs, layout: Layout) -> None:
        import zarr

        self._inputs, self._layout = inputs, layout
        attributes = {
            "Conventions": "CF-1.11", **inputs.attributes, "first_day": str(inputs.calendar.first),
            "days": inputs.calendar.days, "weather": [name for name in PACKINGS if name in inputs.names],
            "humidity": inputs.humidity, "layout": layout,
        }  # fmt: skip
        self._group: Any = zarr.create_group(folder / FIELDS, zarr_format=3, attributes=attributes)
        for name, classes in (("soils", inputs.soils), ("pastures", inputs.pastures)):
            (folder / f"{name}.json").write_text(json.dumps(dict(classes), indent=1), encoding="utf-8")
        self._add_maps()
        self._weather = {name: self._add_weather(name) for name in inputs.names}

    def put(self, name: str, first: int, values: Array) -> None:
        """Write weather (days or weeks, cells) from a day or week; raises DataError for values out of range."""
        numbers = PACKINGS[name].packed(values, name)
        if self._layout == "full":
            numbers = self._inputs.grid.unpacked(numbers, 0)
        self._weather[name][first : first + len(numbers)] = numbers

    def _add_maps(self) -> None:
        grid, initial = self._inputs.grid, self._inputs.initial
        self._add("lat", grid.lat, ("lat",), {"units": "degrees_north"})
        self._add("lon", grid.lon, ("lon",), {"units": "degrees_east"})
        self._add("land", grid.mask.astype(np.uint8), ("lat", "lon"), {"units": "1", "long_name": "1 on land"})
        for name, values in self._inputs.maps.items():
            units = "m2 ha-1" if name == "tree_basal_area" else "1"
            self._add(name, values, ("cell",), {"units": units})
        units_of = {spec.name: spec.unit for spec in STATE}
        attributes = {"names": list(initial), "units": [units_of[name] for name in initial]}
        state = np.stack([np.asarray(values, np.float64) for values in initial.values()])
        self._add("initial", state, ("state", "cell"), attributes)

    def _add(self, name: str, values: npt.NDArray[Any], dims: tuple[str, ...], attributes: Mapping[str, Any]) -> None:
        made: Any = self._group.create_array(
            name, shape=values.shape, dtype=values.dtype, chunks=values.shape, compressors=_codecs(values.dtype),
            dimension_names=dims, attributes=dict(attributes), config={"write_empty_chunks": True},
        )  # fmt: skip
        made[...] = values

    def _add_weather(self, name: str) -> Any:
        packing, calendar = PACKINGS[name], self._inputs.calendar
        rows, of_rows = (calendar.days, CHUNK_DAYS) if name in DAILY else (calendar.weeks, CHUNK_WEEKS)
        # A chunk contains packed cells, or rows of the grid. Shards have several chunks in both dimensions.
        shape = _cells_shape(self._inputs.grid, self._layout)
        width = 1 if len(shape) == 1 else shape[1]
        cells = min(max(CHUNK_CELLS // width, 1), shape[0])
        chunk = (of_rows, cells, *shape[1:])
        shard = (
            of_rows * min(_SHARD, -(-rows // of_rows)),
            cells * min(_SHARD_CELLS, -(-shape[0] // cells)),
            *shape[1:],
        )
        mean = {} if name in DAILY else {"cell_methods": "time: mean (interval: 7 days)"}
        dims = ("day" if name in DAILY else "week", *(("cell",) if len(shape) == 1 else ("lat", "lon")))
        attributes = {"units": packing.unit, "scale_factor": packing.scale, "add_offset": packing.offset, **mean}
        return self._group.create_array(
            name, shape=(rows, *shape), dtype=packing.dtype, chunks=chunk, shards=shard,
            compressors=_codecs(np.dtype(packing.dtype)), dimension_names=dims, attributes=attributes,
            config={"write_empty_chunks": True},
        )  # fmt: skip


@contextmanager
def new_store(path: Path, inputs: Inputs, *, layout: Layout = "land", replace: bool = False) -> Iterator[Store]:
    """Yield a store to fill with weather; it is moved to `path` at the end of the block.

    Raises OutputError if the system refuses to write, and if the folder exists: other folders are never replaced,
    inputs only with `replace`. If the block raises an error, nothing remains.
    """
    with guarded(path):
        if path.exists() and not (path / MANIFEST).is_file() and not _is_empty(path):
            raise OutputError(f"{path} exists and is not a pasture input; choose another folder")
        if path.exists() and not replace and not _is_empty(path):
            raise OutputError(f"{path} exists already; choose another folder, or replace it with --replace")
        path.parent.mkdir(parents=True, exist_ok=True)
        part = part_path(path)
        part.mkdir()
        try:
            yield Store(part, inputs, layout)

            # Write the manifest of all files, and synchronise everything with the disk.
            files = sorted(each for each in part.rglob("*") if each.is_file())
            entries = {
                str(each.relative_to(part)): {"bytes": each.stat().st_size, "sha256": _checksum(each)} for each in files
            }
            text = json.dumps({"format": FORMAT, "files": entries}, indent=1)
            (part / MANIFEST).write_text(text, encoding="utf-8")
            for each in [*files, part / MANIFEST, *(each for each in part.rglob("*") if each.is_dir()), part]:
                sync(each)

            # Move the folder to its place.
            old = part_path(path)
            if path.exists():
                os.replace(path, old)
            os.replace(part, path)
            sync(path.parent)
            shutil.rmtree(old, ignore_errors=True)
        finally:
            shutil.rmtree(part, ignore_errors=True)


def _cells_shape(grid: LandGrid, layout: Layout) -> tuple[int, ...]:
    return (grid.cells,) if layout == "land" else grid.mask.shape


def _codecs(dtype: np.dtype[Any]) -> list[Any]:
    from zarr.codecs import BloscCodec, Crc32cCodec

    shuffle: Literal["shuffle", "noshuffle"] = "shuffle" if dtype.itemsize > 1 else "noshuffle"
    return [BloscCodec(typesize=dtype.itemsize, cname="zstd", clevel=_LEVEL, shuffle=shuffle), Crc32cCodec()]


@dataclass(frozen=True)
class StoreSize:
    """Size of a written store [bytes], and of its weather before compression."""

    path: Path
    bytes: int
    uncompressed: int


def save(
    inputs: Inputs, path: Path, *, layout: Layout = "land", replace: bool = False,
    progress: Callable[[float], None] = lambda share: None,
) -> StoreSize:  # fmt: skip
    """Write inputs to a store atomically, a year at a time; `progress` receives the completed fraction.

    Raises OutputError if the system refuses to write, DataError for weather that is missing or out of range.
    """
    calendar, cells, step = inputs.calendar, (0, inputs.grid.cells), _SHARD * CHUNK_DAYS
    with new_store(path, inputs, layout=layout, replace=replace) as store:
        for first in range(0, calendar.days, step):
            block = inputs.readable.block(first, min(step, calendar.days - first), cells)
            week = int(calendar.week([first])[0])
            for row, fields in ((first, block.daily), (week, block.weekly)):
                for name, values in fields.items():
                    store.put(name, row, values)
            progress(min((first + step) / calendar.days, 1.0))
    size = sum(int(entry["bytes"]) for entry in check_folder(path)["files"].values())
    numbers = {name: calendar.days if name in DAILY else calendar.weeks for name in inputs.names}
    each = prod(_cells_shape(inputs.grid, layout))
    return StoreSize(path, size, sum(np.dtype(PACKINGS[name].dtype).itemsize * n * each for name, n in numbers.items()))


class StoredWeather(WeatherSource):
    """Weather of a store, by blocks; see `WeatherSource`."""

    block_days = CHUNK_DAYS

    def __init__(self, path: Path, grid: LandGrid, attributes: Mapping[str, Any]) -> None:
        self.path, self.cells, self._grid = path / FIELDS, grid.cells, grid
        with _reading(path, "its attributes"):
            self.calendar = Calendar(np.datetime64(attributes["first_day"], "D"), int(attributes["days"]))
            self.names = tuple(str(name) for name in attributes["weather"])
            self._full = attributes["layout"] == "full"
        self._arrays = {name: self._open(name) for name in self.names}

    def numbers(self, first: int, days: int, cells: tuple[int, int]) -> Numbers:
        """Return the stored numbers; see `WeatherSource`."""
        self.calendar.check(first, days, str(self.path))
        last_week = int(self.calendar.week([first + days - 1])[0]) + 1
        of_days, of_weeks = (first, first + days), (int(self.calendar.week([first])[0]), last_week)
        read = {name: self._read(name, of_days if name in DAILY else of_weeks, cells) for name in self.names}
        return Numbers(self.calendar, first, days, read)

    def _open(self, name: str) -> Any:
        import zarr

        with _reading(self.path, name):
            array: Any = zarr.open_array(self.path / name, mode="r", zarr_format=3)
            expected = self.calendar.days if name in DAILY else self.calendar.weeks
            shape = (expected, *(self._grid.mask.shape if self._full else (self.cells,)))
            if array.shape != shape or array.dtype != PACKINGS[name].dtype:
                raise DataError(f"{self.path / name} is {array.dtype} {array.shape}, not {shape}; {_PREPARE}")
            return array

    def _read(self, name: str, rows: tuple[int, int], cells: tuple[int, int]) -> AnyArray:
        with _reading(self.path, f"{name}, days or weeks {rows[0]} to {rows[1] - 1}"):
            if not self._full:
                return np.asarray(self._arrays[name][slice(*rows), slice(*cells)])
            index, width = self._grid.index[slice(*cells)], len(self._grid.lon)
            south, north = int(index[0]) // width, int(index[-1]) // width + 1
            values = np.asarray(self._arrays[name][slice(*rows), south:north])
            return values.reshape(len(values), -1)[:, index - south * width]


def open_store(path: Path) -> Inputs:
    """Return the inputs in a prepared folder; the weather is read when it is requested.

    Raises DataError, with the file and advice, for missing, truncated or damaged files and other folders.
    """
    import zarr

    check_folder(path)
    with _reading(path, "fields.zarr"):
        group: Any = zarr.open_group(path / FIELDS, mode="r", zarr_format=3)
        attributes = dict(group.attrs)
        texts = {name: value for name, value in attributes.items() if isinstance(value, str) and name not in _OWN}
        states = [str(name) for name in group["initial"].attrs["names"]]
    grid = LandGrid(_array(path, group, "lat"), _array(path, group, "lon"), _array(path, group, "land") > 0)
    weather = StoredWeather(path, grid, attributes)
    tables = {}
    for name in ("soils", "pastures"):
        with _reading(path, f"{name}.json"):
            tables[name] = json.loads(note_input(path / f"{name}.json").read_text(encoding="utf-8"))
    maps = {name: _array(path, group, name) for name in MAPS if name in group}
    initial = dict(zip(states, _array(path, group, "initial"), strict=True))
    with _reading(path, "its contents"):
        return Inputs(
            grid, weather.calendar, weather.names, tables["soils"], tables["pastures"], maps, initial, texts, weather,
            str(path),
        )  # fmt: skip


def _array(path: Path, group: Any, name: str) -> AnyArray:
    with _reading(path, name):
        return np.asarray(group[name][...])


@contextmanager
def _reading(path: Path, part: str) -> Iterator[None]:
    """Convert any error while a store is read into DataError, since damage causes errors of any kind."""
    try:
        yield
    except AirshedError:
        raise
    except Exception as error:
        reason = " ".join((str(error) or type(error).__name__).split())[:160]
        raise DataError(f"{path}: {part} cannot be read ({reason}); {_PREPARE}") from error


def check_folder(path: Path) -> dict[str, Any]:
    """Return the manifest of a folder after a check of the presence and sizes of all files.

    Raises DataError with the name of a missing or truncated file, and for other folders. Contents are checked by
    :func:`check_contents`, and for each block that is read.
    """
    if not path.is_dir():
        raise DataError(f"there is no folder {path}; create it with `airshed pasture prepare`")
    try:
        manifest: dict[str, Any] = json.loads(note_input(path / MANIFEST).read_text(encoding="utf-8"))
        sizes = {str(name): int(entry["bytes"]) for name, entry in manifest["files"].items()}
        made = manifest["format"]
    except FileNotFoundError:
        raise DataError(f"{path} is not a pasture input: it has no {MANIFEST}; {_PREPARE}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path / MANIFEST} is damaged ({error}); {_PREPARE}") from None
    if made != FORMAT:
        raise DataError(f"{path} has the format {made!r}, but this version reads {FORMAT!r}; {_PREPARE}")
    for name, size in sizes.items():
        try:
            there = (path / name).stat().st_size
        except OSError:
            raise DataError(f"{path} lacks its file {name}; {_PREPARE}") from None
        if there != size:
            raise DataError(f"{path / name} has {there} bytes of {size}; {_PREPARE}")
    return manifest


def check_contents(path: Path) -> None:
    """Compare the checksums of all files with the manifest; raises DataError with the first that differs."""
    for name, entry in check_folder(path)["files"].items():
        if _checksum(path / name) != entry["sha256"]:
            raise DataError(f"{path / name} has a wrong checksum; {_PREPARE}")


def _is_empty(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
