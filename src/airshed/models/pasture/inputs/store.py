"""Writes the inputs of the pasture model as a folder: two tables, and a Zarr group of maps, state and weather.

    soils.json, pastures.json        classes, as airshed.models.pasture.classes reads them
    fields.zarr                      attributes: title, source, license, first_day, days, layout, humidity ...
      lat, lon, land                 the grid, and which of its cells are on land
      soil_class, pasture_class      (cell), counted from 0;  tree_basal_area (cell) [m2 ha-1]
      initial                        (state, cell)
      rain                           (day, cell) int16, 0.1 mm
      pan_evaporation, radiation, vapour_pressure or vapour_pressure_deficit, min_temperature, max_temperature
                                     (week, cell) one byte, 53 weeks a year
    manifest.json                    sizes and checksums of all of these

These are the ten files of Rezny (1994), table 13. Weather is cut into chunks of days and cells, compressed one by one
with a checksum each, and collected in shards with an index, so that any day and window is read without the rest. Cells
are those on land, packed ("land"), or all of the grid as (lat, lon) ("full"). Why so: docs/decisions/0025.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import numpy.typing as npt

from airshed.core.atomic import guarded
from airshed.grid.land import LandGrid
from airshed.models.pasture.fields import STATE
from airshed.models.pasture.inputs.contents import Contents
from airshed.models.pasture.inputs.manifest import new_folder
from airshed.models.pasture.inputs.packing import DAILY, PACKINGS, WEEKLY
from airshed.models.pasture.weather.calendar import Calendar

Array = npt.NDArray[np.float64]
Layout = Literal["land", "full"]

FIELDS: Final = "fields.zarr"
"""The Zarr group in the folder."""

CHUNK_DAYS: Final = 64
CHUNK_WEEKS: Final = 16
CHUNK_CELLS: Final = 8192
"""A mebibyte of rain: a few chunks a rank, and little else is decompressed for a day of it."""

OWN: Final = ("Conventions", "first_day", "layout", "humidity")
"""Attributes that tell of the store itself."""

_SHARD: Final = 6
"""Chunks of days or weeks in a shard, about a year."""

_SHARD_CELLS: Final = 8
_LEVEL: Final = 5


class Store:
    """A store that is being written: `put` fills the weather, in any order."""

    def __init__(self, folder: Path, contents: Contents, layout: Layout) -> None:
        import zarr

        self._contents, self._folder, self._layout = contents, folder, layout
        self._group: Any = zarr.create_group(
            folder / FIELDS, zarr_format=3, attributes={**_attributes(contents), "layout": layout}
        )
        self._add_tables()
        self._add_maps()
        self._weather = {name: self._add_weather(name) for name in contents.weather}

    def put(self, name: str, first: int, values: Array) -> None:
        """Write weather (days or weeks, cells) from a day or week on; raises DataError for what cannot be stored."""
        numbers = PACKINGS[name].packed(values, name)
        if self._layout == "full":
            numbers = self._contents.grid.unpacked(numbers, 0)
        self._weather[name][first : first + len(numbers)] = numbers

    def _add_tables(self) -> None:
        for name, classes in (("soils", self._contents.soils), ("pastures", self._contents.pastures)):
            text = json.dumps(dict(classes), indent=1)
            (self._folder / f"{name}.json").write_text(text, encoding="utf-8")

    def _add_maps(self) -> None:
        grid, contents = self._contents.grid, self._contents
        degrees = {"lat": "degrees_north", "lon": "degrees_east"}
        for name, values in (("lat", grid.lat), ("lon", grid.lon)):
            self._add(name, values, (name,), {"units": degrees[name]})
        self._add("land", grid.mask.astype(np.uint8), ("lat", "lon"), {"units": "1", "long_name": "1 on land"})
        for name, values in contents.maps.items():
            units = "m2 ha-1" if name == "tree_basal_area" else "1"
            self._add(name, values, ("cell",), {"units": units})
        state = np.stack([np.asarray(contents.initial[name], np.float64) for name in contents.initial])
        units_of = {spec.name: spec.unit for spec in STATE}
        told = {"names": list(contents.initial), "units": [units_of[name] for name in contents.initial]}
        self._add("initial", state, ("state", "cell"), told)

    def _add(self, name: str, values: npt.NDArray[Any], dims: tuple[str, ...], attributes: Mapping[str, Any]) -> None:
        made: Any = self._group.create_array(
            name, shape=values.shape, dtype=values.dtype, chunks=values.shape, compressors=_codecs(values.dtype),
            dimension_names=dims, attributes=dict(attributes), config={"write_empty_chunks": True},
        )  # fmt: skip
        made[...] = values

    def _add_weather(self, name: str) -> Any:
        packing, contents = PACKINGS[name], self._contents
        rows = contents.calendar.days if name in DAILY else contents.calendar.weeks
        shape = cells_shape(contents.grid, self._layout)
        chunk = (CHUNK_DAYS if name in DAILY else CHUNK_WEEKS, *chunk_of_cells(shape))
        shard = (chunk[0] * min(_SHARD, -(-rows // chunk[0])), *_shard_of_cells(shape))
        mean = {} if name in DAILY else {"cell_methods": "time: mean (interval: 7 days)"}
        dims = ("day" if name in DAILY else "week", *(("cell",) if len(shape) == 1 else ("lat", "lon")))
        told = {"units": packing.unit, "scale_factor": packing.scale, "add_offset": packing.offset, **mean}
        return self._group.create_array(
            name, shape=(rows, *shape), dtype=packing.dtype, chunks=chunk, shards=shard,
            compressors=_codecs(np.dtype(packing.dtype)), dimension_names=dims, attributes=told,
            config={"write_empty_chunks": True},
        )  # fmt: skip


@contextmanager
def new_store(path: Path, contents: Contents, *, layout: Layout = "land", replace: bool = False) -> Iterator[Store]:
    """Yield a store to fill with weather; it appears under `path` at the end of the block, whole or not at all.

    Raises OutputError for what the system refuses, and where something else is there; see `manifest.new_folder`.
    """
    with guarded(path), new_folder(path, replace=replace) as part:
        yield Store(part, contents, layout)


def cells_shape(grid: LandGrid, layout: Layout) -> tuple[int, ...]:
    """Return the shape of the cells of a stored field."""
    return (grid.cells,) if layout == "land" else grid.mask.shape


def chunk_of_cells(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the cells of a chunk: packed ones, or rows of the grid."""
    if len(shape) == 1:
        return (min(CHUNK_CELLS, shape[0]),)
    return (min(max(CHUNK_CELLS // shape[1], 1), shape[0]), shape[1])


def _shard_of_cells(shape: tuple[int, ...]) -> tuple[int, ...]:
    first, *rest = chunk_of_cells(shape)
    return (first * min(_SHARD_CELLS, -(-shape[0] // first)), *rest)


def _codecs(dtype: np.dtype[Any]) -> list[Any]:
    from zarr.codecs import BloscCodec, Crc32cCodec

    shuffle: Literal["shuffle", "noshuffle"] = "shuffle" if dtype.itemsize > 1 else "noshuffle"
    return [BloscCodec(typesize=dtype.itemsize, cname="zstd", clevel=_LEVEL, shuffle=shuffle), Crc32cCodec()]


def _attributes(contents: Contents) -> dict[str, Any]:
    humidity = [name for name in ("vapour_pressure", "vapour_pressure_deficit") if name in contents.weather]
    return {
        "Conventions": "CF-1.11",
        **contents.attributes,
        "first_day": str(contents.calendar.first),
        "days": contents.calendar.days,
        "weather": [name for name in (*DAILY, *WEEKLY) if name in contents.weather],
        "humidity": humidity[0] if humidity else "none",
    }


def stored_bytes(grid: LandGrid, calendar: Calendar, weather: Sequence[str], layout: Layout = "land") -> int:
    """Return the bytes of weather before it is compressed."""
    cells = prod(cells_shape(grid, layout))
    rows = {name: calendar.days if name in DAILY else calendar.weeks for name in weather}
    return sum(np.dtype(PACKINGS[name].dtype).itemsize * count * cells for name, count in rows.items())
