"""Small GRIB files as weather centres write them, made with ecCodes."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyproj  # noqa: F401  before ecCodes, which brings a PROJ of its own
import pytest

LAT, LON = np.arange(52.0, 47.0, -1.0), np.arange(-1.0, 5.0)
"""Points in the order of a file: rows from the north."""
PRESSURES = (1000, 925, 850, 700, 500, 300)
LAMBERT = {"LoVInDegrees": 10.0, "LaDInDegrees": 50.0, "Latin1InDegrees": 45.0, "Latin2InDegrees": 55.0}


def library() -> Any:
    """Return ecCodes, or skip the test."""
    return pytest.importorskip("eccodes", reason="eccodes is not installed")


def message(name: str, values: np.ndarray, *, level: int | None = None, edition: int = 2, **keys: Any) -> bytes:
    """Return a message at 2022-08-31 00 UTC on LAT and LON, or on other points by the keys of ecCodes."""
    ec = library()
    surface = level is None
    handle = ec.codes_grib_new_from_samples(f"regular_ll_{'sfc' if surface else 'pl'}_grib{edition}")
    grid = {
        "Ni": LON.size, "Nj": LAT.size, "latitudeOfFirstGridPointInDegrees": LAT[0],
        "longitudeOfFirstGridPointInDegrees": LON[0] % 360.0, "latitudeOfLastGridPointInDegrees": LAT[-1],
        "longitudeOfLastGridPointInDegrees": LON[-1], "iDirectionIncrementInDegrees": 1.0,
        "jDirectionIncrementInDegrees": 1.0,
    }  # fmt: skip
    for key, value in ({"gridType": keys.pop("gridType")} if "gridType" in keys else grid).items():
        ec.codes_set(handle, key, value)
    keys = {"dataDate": 20220831, "dataTime": 0, **keys}
    first = {key: keys.pop(key) for key in ("stepType", "typeOfLevel") if key in keys}
    for key, value in {**first, "shortName": name, **({} if surface else {"level": level}), **keys}.items():
        ec.codes_set(handle, key, value)
    ec.codes_set(handle, "bitsPerValue", 24)
    ec.codes_set_values(handle, np.asarray(values, np.float64).ravel())
    content = ec.codes_get_message(handle)
    ec.codes_release(handle)
    return bytes(content)


def profile(name: str, of_level: Callable[[float], float], levels: Sequence[int] = PRESSURES, **keys: Any) -> bytes:
    """Return messages of a field that is uniform on each pressure level [hPa]."""
    return b"".join(message(name, _uniform(of_level(level), keys), level=level, **keys) for level in levels)


def _uniform(value: float, keys: dict[str, Any]) -> np.ndarray:
    size = (keys["Ny"], keys["Nx"]) if "Ny" in keys else (LAT.size, LON.size)
    return np.full(size, value)


def surface(name: str, value: float, **keys: Any) -> bytes:
    """Return a message of a uniform field at the ground."""
    return message(name, _uniform(value, keys), **keys)


def weather(hours: int = 2, wind: Sequence[float] = (8.0, 2.0), **keys: Any) -> bytes:
    """Return hourly messages of wind, temperature, humidity, height and surface pressure of uniform air."""
    parts = []
    for hour in range(hours):
        at = {"dataTime": 100 * hour, **keys}
        parts += [
            profile("u", lambda level: wind[0], **at), profile("v", lambda level: wind[1], **at),
            profile("t", lambda level: 288.0 * (level / 1013.0) ** 0.19, **at), profile("r", lambda level: 60.0, **at),
            surface("sp", 1.01e5, **at),
        ]  # fmt: skip
    return b"".join(parts)


def several_fields(first: bytes, second: bytes) -> bytes:
    """Return one message of edition 2 with the fields of two messages, as the centres of the USA write winds."""
    sections = {each: list(_sections(each)) for each in (first, second)}
    repeated = [part for part in sections[second] if part[4] >= 4]
    body = b"".join([*sections[first], *repeated]) + b"7777"
    return first[:8] + (16 + len(body)).to_bytes(8, "big") + body


def _sections(content: bytes) -> list[bytes]:
    found, place = [], 16
    while content[place : place + 4] != b"7777":
        length = int.from_bytes(content[place : place + 4], "big")
        found.append(content[place : place + length])
        place += length
    return found


def write(path: Path, *messages: bytes) -> Path:
    """Write messages to a file."""
    path.write_bytes(b"".join(messages))
    return path
