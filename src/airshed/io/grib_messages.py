"""Messages of GRIB files, editions 1 and 2: fields that the model uses, with their level, time, interval and grid.

Values are decoded by ecCodes, an optional package. Several fields in one message, as the centres of the USA write
them, are split into messages of one field.

source  WMO Manual on Codes, WMO-No. 306, Vol. I.2, FM 92 GRIB; https://confluence.ecmwf.int/display/ECC
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from airshed.core.arrays import Array
from airshed.core.constants import GRAVITY
from airshed.core.errors import CaseError, DataError
from airshed.grid.mapping import GridMapping
from airshed.grid.projected import projection

_PROFILES: Final = {
    "u": "u", "v": "v", "t": "t", "q": "q", "r": "r", "z": "z", "gh": "gh", "cc": "cc", "tcc": "cc", "clwc": "clwc",
    "clwmr": "clwc",
}  # fmt: skip
"""Short names on pressure or model levels -> variable."""
_SURFACE: Final = {
    "sp": "sp", "z": "orog", "orog": "orog", "lsm": "lsm", "2t": "t2m", "2d": "d2m", "10u": "u10", "10v": "v10",
    "blh": "blh", "hpbl": "blh", "zust": "zust", "fricv": "zust", "tcc": "tcc", "tp": "tp", "e": "e", "ssrd": "ssrd",
    "sshf": "sshf", "sdswrf": "ssrd", "avg_sdswrf": "ssrd", "ishf": "sshf", "avg_ishf": "sshf",
}  # fmt: skip
"""Short names at the ground or of the whole column -> variable."""
_FACTORS: Final = {"ishf": -1.0, "avg_ishf": -1.0}
"""Fluxes that are positive upwards, other than those of ECMWF."""
_LOCAL: Final = {(0, 3, 196): ("hpbl", "m"), (0, 2, 197): ("fricv", "m s**-1")}
"""Discipline, category and number of parameters of NCEP's local tables -> short name and unit."""
_IRREGULAR: Final = frozenset({"sh", "reduced_gg", "reduced_ll", "unstructured_grid"})
_PRESSURE: Final = {"isobaricInhPa": 100.0, "isobaricInPa": 1.0}
"""Kinds of pressure levels -> Pa of their unit."""
_GROUND: Final = frozenset({
    "surface", "heightAboveGround", "atmosphere", "entireAtmosphere", "atmosphereSingleLayer"
})  # fmt: skip
_HEIGHTS: Final = {"2t": 2, "2d": 2, "10u": 10, "10v": 10}
_RATES: Final = frozenset({"W m**-2", "kg m**-2 s**-1"})
_L137: Final = 2 * 138
"""Number of half-level coefficients in a message of ECMWF's 137-level model."""

Piece = tuple[int, int]
"""Position and length of a part of a file."""


class Message(NamedTuple):
    """Field of a message.

    pieces    its parts in the file: the whole message, or the sections of one of several fields
    name      variable of the reader
    original  short name of ecCodes
    levels    "pressure", "model" or "" for a field without levels
    level     pressure [Pa] or number
    time      valid time
    since     start of the sum or mean; the valid time for an instant
    factor    from the value in the message to the unit; with the length of the interval for means of rates
    grid      digest of the section that describes the grid
    relative  whether winds are along the axes of the grid
    """

    pieces: tuple[Piece, ...]
    name: str
    original: str
    levels: str
    level: float
    time: np.datetime64
    since: np.datetime64
    unit: str
    factor: float
    grid: str
    relative: bool


class GribGrid(NamedTuple):
    """Points of a message: latitude and longitude (y,) and (x,) on regular grids, or (y, x), with rising x and y.

    shape          numbers of rows and columns
    columns_first  whether consecutive values of a message are along a column
    flips          whether rows and columns of the values are reversed
    mapping       projection and its coordinates x and y, for the cells of a model grid
    """

    lat: Array
    lon: Array
    shape: tuple[int, int]
    columns_first: bool
    flips: tuple[bool, bool]
    mapping: tuple[GridMapping, Array, Array] | None


def eccodes(path: Path) -> Any:
    """Return the module of ecCodes; raise DataError where it is not installed."""
    import pyproj  # noqa: F401  the PROJ of ecCodes, if it were loaded first, would hide the database of pyproj

    try:
        import eccodes as module
    except (ImportError, RuntimeError):
        raise DataError(
            f"{path} is a GRIB file, which needs the package eccodes: pip install 'airshed[grib]'; or convert it to "
            "netCDF"
        ) from None
    return module


def scan(path: Path, unused: set[str]) -> tuple[list[Message], dict[str, GribGrid]]:
    """Return the fields of a file that the model uses, and their grids; add the names of the others to ``unused``."""
    library = eccodes(path)
    messages, grids = list[Message](), dict[str, GribGrid]()
    with path.open("rb") as file:
        for pieces in _fields(path, library):
            handle = library.codes_new_from_message(message_bytes(file, pieces))
            try:
                message = _described(path, library, handle, pieces)
                digest = str(library.codes_get(handle, "md5GridSection"))
                if digest not in grids and library.codes_get(handle, "gridType") not in _IRREGULAR:
                    grids[digest] = _grid(path, library, handle)
            finally:
                library.codes_release(handle)
            if isinstance(message, str):
                unused.add(message)
            else:
                messages.append(message)
    return messages, grids


def message_bytes(file: BinaryIO, pieces: tuple[Piece, ...]) -> bytes:
    """Return a message with one field."""
    parts = []
    for start, length in pieces:
        file.seek(start)
        parts.append(file.read(length))
    if len(parts) == 1:
        return parts[0]
    size = sum(map(len, parts)) + 4
    return b"".join([parts[0][:8], size.to_bytes(8, "big"), *parts[1:], b"7777"])


def decoded(library: Any, message: bytes, grid: GribGrid, factor: float) -> NDArray[np.float32]:
    """Return the values of a message (y, x), NaN where it has none."""
    handle = library.codes_new_from_message(message)
    try:
        values = library.codes_get_values(handle)
        if library.codes_get_long(handle, "bitmapPresent"):
            values[values == library.codes_get_double(handle, "missingValue")] = np.nan
    finally:
        library.codes_release(handle)
    return _arranged(factor * values, grid).astype(np.float32)


def _arranged(values: Array, grid: GribGrid) -> Array:
    """Return values in the order of a message as (y, x) with rising x and y."""
    rows, columns = grid.shape
    field = values.reshape(columns, rows).T if grid.columns_first else values.reshape(rows, columns)
    return field[:: -1 if grid.flips[0] else 1, :: -1 if grid.flips[1] else 1]


def _fields(path: Path, library: Any) -> Iterator[tuple[Piece, ...]]:
    """Yield the parts of each field of a file."""
    with path.open("rb") as file, path.open("rb") as sections:
        while (handle := library.codes_grib_new_from_file(file, headers_only=True)) is not None:
            start = int(library.codes_get_message_offset(handle))
            length, edition = (library.codes_get_long(handle, key) for key in ("totalLength", "edition"))
            library.codes_release(handle)
            several = list(_fields_of_message(sections, start)) if edition == 2 else []
            yield from several if len(several) > 1 else [((start, length),)]


def _fields_of_message(file: BinaryIO, start: int) -> Iterator[tuple[Piece, ...]]:
    """Yield the sections of each field of a message of edition 2: a section holds until it is repeated."""
    held, place = {0: (start, 16)}, start + 16
    while True:
        file.seek(place)
        head = file.read(6)
        if len(head) < 6 or head[:4] == b"7777":
            return
        length, number = int.from_bytes(head[:4], "big"), head[4]
        if not (number == 6 and head[5] == 254):  # 254: the bitmap of the field before
            held[number] = (place, length)
        if number == 7:
            yield tuple(held[each] for each in sorted(held))
        place += length


def _described(path: Path, library: Any, handle: Any, pieces: tuple[Piece, ...]) -> Message | str:
    """Return the description of a field, or the name of one that the model does not use."""

    def key(name: str, default: Any = None) -> Any:
        return library.codes_get(handle, name) if library.codes_is_defined(handle, name) else default

    # name, unit and kind of level
    original, unit, kind = str(key("shortName")), str(key("units")), str(key("typeOfLevel"))
    if original == "unknown" and key("centre") == "kwbc":
        codes = tuple(key(name) for name in ("discipline", "parameterCategory", "parameterNumber"))
        original, unit = _LOCAL.get(codes, (original, unit))
    levels = "pressure" if kind in _PRESSURE else "model" if kind == "hybrid" else ""
    number = float(key("level", 0))
    name = (_PROFILES if levels else _SURFACE if kind in _GROUND else {}).get(original)
    if original == "lnsp":
        name, levels = "lnsp", ""
    if name is None or (kind == "heightAboveGround" and number != _HEIGHTS.get(original)):
        return f"{original} ({kind})"
    if key("gridType") in _IRREGULAR:
        raise DataError(
            f"{path}: {original} is on the grid {key('gridType')!r}; convert it to a regular grid, such as with "
            "cdo setgridtype,regular or sp2gp, or request longitude and latitude"
        )
    if levels == "model" and key("NV", 0) not in (0, _L137):
        raise DataError(
            f"{path}: {original} is on {key('NV') // 2 - 1} model levels; the 137 levels of ERA5 and pressure levels "
            "are read"
        )

    # valid time, and the interval of a sum or mean
    time = _moment(key("validityDate"), key("validityTime"))
    seconds = _interval(library, handle) if key("stepType") in ("accum", "avg") else 0
    if key("stepType") == "accum" and not seconds:
        return f"{original} (sum over no time)"

    # unit: heights instead of geopotential, sums instead of means of rates
    factor = _FACTORS.get(original, 1.0)
    if original == "z" and not levels:
        unit, factor = "m", 1.0 / GRAVITY
    since = time if name == "tcc" else time - np.timedelta64(seconds, "s")
    if unit in _RATES and since != time:
        unit, factor = ("J m**-2" if unit == "W m**-2" else "kg m**-2"), factor * seconds
    elif unit in _RATES:
        return f"{original} (rate at an instant)"
    return Message(
        pieces, name, original, levels, number * _PRESSURE.get(kind, 1.0), time, since, unit, factor,
        str(key("md5GridSection")), bool(key("uvRelativeToGrid", 0)),
    )  # fmt: skip


def _interval(library: Any, handle: Any) -> int:
    """Return the length of the interval of a sum or mean [s]; it changes the unit of the steps of the handle."""
    library.codes_set(handle, "stepUnits", "s")
    start, end = (library.codes_get_long(handle, name) for name in ("startStep", "endStep"))
    return max(int(end - start), 0)


def _moment(date: int, clock: int) -> np.datetime64:
    """Return a date as YYYYMMDD with a time as HHMM."""
    text = f"{date:08d}"
    day = np.datetime64(f"{text[:4]}-{text[4:6]}-{text[6:]}", "ns")
    return day + np.timedelta64(clock // 100 * 60 + clock % 100, "m")


def _grid(path: Path, library: Any, handle: Any) -> GribGrid:
    """Return the points of a message."""
    kind = str(library.codes_get(handle, "gridType"))
    regular = kind in ("regular_ll", "regular_gg")
    sizes = ("Nj", "Ni") if library.codes_is_defined(handle, "Ni") else ("Ny", "Nx")
    rows, columns = (int(library.codes_get_long(handle, name)) for name in sizes)
    if library.codes_get_long(handle, "alternativeRowScanning"):
        raise DataError(f"{path}: its rows alternate in direction; convert it, such as with cdo copy")
    flips = (
        not library.codes_get_long(handle, "jScansPositively"),
        bool(library.codes_get_long(handle, "iScansNegatively")),
    )
    by_columns = bool(library.codes_get_long(handle, "jPointsAreConsecutive"))
    grid = GribGrid(np.empty(0), np.empty(0), (rows, columns), by_columns, flips, None)
    lat, lon = (_arranged(library.codes_get_array(handle, name), grid) for name in ("latitudes", "longitudes"))
    if regular:
        return grid._replace(lat=lat[:, 0], lon=np.where(lon[0] > 180.0 + 1e-6, lon[0] - 360.0, lon[0]))
    return grid._replace(lat=lat, lon=lon, mapping=_mapping(library, handle, kind, lat, lon))


def _mapping(
    library: Any, handle: Any, kind: str, lat: Array, lon: Array
) -> tuple[GridMapping, Array, Array] | None:  # fmt: skip
    """Return the projection of a message and the coordinates of its points; None for an unknown or oblate one."""

    def number(*names: str) -> float:
        name = next((each for each in names if library.codes_is_defined(handle, each)), names[0])
        return float(library.codes_get_double(handle, name))

    if not library.codes_is_defined(handle, "radius") or library.codes_get_long(handle, "earthIsOblate"):
        return None
    try:
        found = _projection(kind, number)
    except CaseError:
        return None
    if found is None:
        return None
    x, y = found.from_lonlat(lon, lat)
    return found, x.mean(axis=0), y.mean(axis=1)


def _projection(kind: str, number: Callable[..., float]) -> GridMapping | None:
    """Return the projection of a grid type of ecCodes, from its keys; None for other types."""
    radius = number("radius")
    if kind == "lambert":
        parallels = number("Latin1InDegrees"), number("Latin2InDegrees")
        origin = number("LoVInDegrees"), number("LaDInDegrees", "Latin1InDegrees")
        return projection("lambert", *origin, parallels, radius)
    if kind == "polar_stereographic":
        lon, parallel = number("orientationOfTheGridInDegrees"), number("LaDInDegrees")
        return projection("polar stereographic", lon, 90.0, (parallel,), radius)
    if kind == "mercator":
        return projection("mercator", 0.0, 0.0, (number("LaDInDegrees"),), radius)
    if kind == "rotated_ll":
        lon, lat = (number(f"{each}OfSouthernPoleInDegrees") for each in ("longitude", "latitude"))
        return projection("rotated pole", lon + 180.0, -lat, (), radius)
    return None
