"""Sound inputs, small and quick: cases, weather, an inventory of two countries."""

import json
import shutil
from collections.abc import Mapping
from datetime import date, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import xarray as xr

CHECKOUT: Final = Path(__file__).parents[2]
EMISSIONS: Final = CHECKOUT / "cases" / "west-europe" / "emissions"
MECHANISMS: Final = CHECKOUT / "mechanisms"
START: Final = "2022-08-31T00:00:00"
COUNTRIES: Final = ("BE", "LU")
POLYGONS: Final = ("Belgium", "Luxembourg")


def tracer_case() -> dict[str, Any]:
    """Return a case of two tracers in rotating air: 6 x 5 x 4 cells, two steps."""
    return {
        "title": "small",
        "grid": {
            "area": {"lon": [4, 5.5], "lat": [50.0, 51.25]}, "spacing": "0.25 deg",
            "layers": ["100 m", "300 m", "800 m", "2000 m"],
        },
        "time": {"start": datetime(2022, 8, 31, 10), "length": "10 min", "step": "300 s"},
        "chemistry": {"mechanism": "tracer"},
        "meteorology": {"kind": "uniform", "eastward": "5 m/s", "rotation": "24 h", "diffusivity": "5 m2/s"},
        "emissions": {"point": [{"species": "TRACER", "lon": 4.7, "lat": 50.6, "height": "50 m", "rate": "1 mol/s"}]},
        "boundary": {"values": {"TRACER2": "10 ppb"}},
        "initial": {"values": {"TRACER": "1 ppb"}},
        "deposition": {"scheme": "none"},
        "output": [{"fields": "all", "every": "5 min"}],
        "restart": {"every": "5 min"},
        "run": {"threads": 1},
    }  # fmt: skip


def ozone_case(integrator: str = "imex") -> dict[str, Any]:
    """Return a case with chemistry of five species, emission, deposition, profiles and photolysis."""
    case = tracer_case()
    case["chemistry"] = {"mechanism": "small_strato", "integrator": integrator}
    case["emissions"] = {
        "point": [{"species": "NO", "lon": 4.7, "lat": 50.6, "height": "50 m", "rate": "1 mol/s"}],
        "area": [{"lon": [4, 5], "lat": [50, 51], "rates": {"NO2": "1e11 molecules/cm2/s"}}],
    }
    case["boundary"] = {"profiles": "clean-air", "scale": {"O3": 1.1}}
    case["initial"] = {"values": {"NO": "1 ppb"}}
    case["deposition"] = {"scheme": "resistance", "velocities": {"NO2": "0.2 cm/s"}}
    return case


def write_case(case: Mapping[str, Any], folder: Path) -> Path:
    """Write a case file into a folder, and return the path."""
    path = folder / "case.toml"
    path.write_text(toml(case), encoding="utf-8", errors="surrogatepass")
    return path


def toml(tree: Mapping[str, Any]) -> str:
    """Return tables, lists and values of any kind as TOML."""
    return "".join(f"{_key(key)} = {_value(value)}\n" for key, value in tree.items())


def _key(key: str) -> str:
    return key if key.isascii() and key.replace("_", "").replace("-", "").isalnum() else _text(key)


def _text(value: str) -> str:
    return json.dumps(value).replace("\x7f", "\\u007f") if value.isascii() else json.dumps(value, ensure_ascii=False)


def _value(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return _text(value)
        case float():
            return repr(value).replace("1e308", "1e308")
        case datetime() | date():
            return value.isoformat()
        case Mapping():
            return "{ " + ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items()) + " }"
        case list() | tuple():
            return "[" + ", ".join(map(_value, value)) + "]"
    return str(value)


def weather(hours: int = 3) -> xr.Dataset:
    """Return hourly fields in the form of ERA5 on pressure levels, over a larger area than that of the cases."""
    time = np.datetime64("2022-08-31T09:00", "ns") + np.arange(hours) * np.timedelta64(1, "h")
    level, lat, lon = np.array([300, 500, 700, 850, 1000]), np.arange(52.0, 49.4, -0.5), np.arange(3.5, 6.1, 0.5)
    shape = (hours, level.size, lat.size, lon.size)
    wave = np.sin(np.arange(np.prod(shape)).reshape(shape) / 7.0)
    height = 7500.0 * np.log(1013.25 / level)[None, :, None, None]
    full, flat = ("time", "level", "latitude", "longitude"), ("time", "latitude", "longitude")
    return xr.Dataset(
        {
            "u": (full, 5.0 + wave, {"units": "m s**-1"}),
            "v": (full, -2.0 + wave, {"units": "m s**-1"}),
            "t": (full, 288.0 - 0.0065 * height + wave, {"units": "K"}),
            "q": (full, 0.004 * np.exp(-height / 3000.0) + 0 * wave, {"units": "kg kg**-1"}),
            "sp": (flat, 1.0e5 + 100.0 * wave[:, 0], {"units": "Pa"}),
            "tp": (flat, 1e-4 * (1.0 + wave[:, 0]), {"units": "m"}),
            "tcc": (flat, 0.5 + 0.4 * wave[:, 0], {"units": "(0 - 1)"}),
            "blh": (flat, 700.0 + 100.0 * wave[:, 0], {"units": "m"}),
        },
        coords={
            "time": time,
            "level": ("level", level, {"units": "millibars"}),
            "latitude": ("latitude", lat, {"units": "degrees_north"}),
            "longitude": ("longitude", lon, {"units": "degrees_east"}),
        },
    )


def inventory(folder: Path) -> Path:
    """Write the shipped inventory, reduced to two countries, into a folder."""
    folder.mkdir()
    for source in EMISSIONS.iterdir():
        target = folder / source.name
        if source.name in ("cities.csv", "power_plants.csv", "national_totals.csv", "countries.csv"):
            head, *lines = source.read_text(encoding="utf-8").splitlines()
            rows = [line for line in lines if line.split(",")[0] in COUNTRIES]
            target.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
        elif source.name.endswith(".topo.json"):
            target.write_text(json.dumps(_cut(json.loads(source.read_text(encoding="utf-8")))), encoding="utf-8")
        elif source.suffix != ".gz":  # totals of other years
            shutil.copy(source, target)
    return folder


def _cut(topology: dict[str, Any]) -> dict[str, Any]:
    """Return a topology with two countries and their arcs, which are renumbered."""
    countries = topology["objects"]["countries"]
    countries["geometries"] = [each for each in countries["geometries"] if each["properties"]["name"] in POLYGONS]
    numbers: dict[int, int] = {}

    def renumbered(arcs: Any) -> Any:
        if isinstance(arcs, list):
            return [renumbered(each) for each in arcs]
        old = arcs if arcs >= 0 else ~arcs
        new = numbers.setdefault(old, len(numbers))
        return new if arcs >= 0 else ~new

    for each in countries["geometries"]:
        each["arcs"] = renumbered(each["arcs"])
    topology["arcs"] = [topology["arcs"][old] for old in numbers]
    return topology


def assign(tree: Any, key: str, value: Any) -> None:
    """Set a value by its dotted key, with missing tables created and other values replaced."""
    steps = [int(step) if step == "0" else step for step in key.split(".")]
    for step, after in pairwise(steps):
        kind = list if after == 0 else dict
        there = tree[step] if isinstance(step, int) else tree.get(step)
        if not isinstance(there, kind) or not there:
            tree[step] = [{}] if kind is list else {}
        tree = tree[step]
    tree[steps[-1]] = value
