"""Arguments of scripts: datasets of weather and of initial states, functions, times."""

import random
from pathlib import Path
from typing import Any, Final

import numpy as np
import xarray as xr
from validation.fuzz.inputs import tracer_case
from validation.fuzz.nasty import text
from validation.fuzz.trial import Trial

_FULL: Final = ("time", "level", "lat", "lon")
_OTHER_UNITS: Final = (
    ("eastward_wind", "km h-1"), ("eastward_wind", "K"), ("air_temperature", "degC"), ("air_temperature", "Pa"),
    ("air_pressure", "hPa"), ("level", "hPa"), ("level", "km"), ("lat", "m"), ("lon", "radians"),
    ("northward_wind", "km h-1"), ("level", "K"), ("air_pressure", "K"),
)  # fmt: skip

_NEVER: Final = (
    "with one twice",
    "all the same",
    "with a hole",
    "infinite",
    "as texts",
    "complex",
    "as durations",
    "huge",
)
"""Values that are invalid as an axis in space."""


def weather() -> xr.Dataset:
    """Return weather on its own points around the case, with all coordinates."""
    time = np.datetime64("2022-08-31T10:00", "ns") + np.arange(3) * np.timedelta64(10, "m")
    level, lat, lon = np.array([10.0, 500.0, 1500.0, 3000.0]), np.arange(49.5, 51.8, 0.5), np.arange(3.5, 6.1, 0.5)
    shape = (3, 4, lat.size, lon.size)
    wave = np.sin(np.arange(np.prod(shape)).reshape(shape) / 7.0)
    height = level[None, :, None, None]
    return xr.Dataset(
        {
            "eastward_wind": (_FULL, 5.0 + wave, {"units": "m s-1"}),
            "northward_wind": (_FULL, -2.0 + wave, {"units": "m s-1"}),
            "air_temperature": (_FULL, 288.0 - 0.0065 * height + wave, {"units": "K"}),
            "air_pressure": (_FULL, 101325.0 * np.exp(-height / 8000.0) + 0 * wave, {"units": "Pa"}),
            "specific_humidity": (_FULL, 0.004 * np.exp(-height / 3000.0) + 0 * wave, {"units": "kg kg-1"}),
        },
        coords={
            "time": time, "level": ("level", level, {"units": "m"}), "lat": ("lat", lat, {"units": "degrees_north"}),
            "lon": ("lon", lon, {"units": "degrees_east"}),
        },
    )  # fmt: skip


def state() -> xr.Dataset:
    """Return an initial state on the horizontal grid of the case."""
    lat, lon = np.arange(50.125, 51.2, 0.25), np.arange(4.125, 5.5, 0.25)
    field = np.linspace(1.0, 2.0, lat.size * lon.size).reshape(lat.size, lon.size)
    return xr.Dataset({"TRACER": (("lat", "lon"), field, {"units": "ppb"})}, coords={"lat": lat, "lon": lon})


def sound(variant: str, place: Path) -> Trial:
    """Return the trial of sound data."""
    return _trial(place, "nothing", variant)


def make(rng: random.Random, place: Path) -> Trial:
    """Spoil an argument."""
    action = rng.choices((_units, _coordinate, _variable, _function, _initial, _until), weights=(3, 5, 5, 3, 4, 2))[0]
    trial: Trial = action(rng, place)
    return trial


def _trial(
    place: Path, words: str, kind: str, names: tuple[str, ...] = (), base: str = "", *, data: Any = None,
    initial: Any = None, until: Any = None,
) -> Trial:  # fmt: skip
    def call() -> dict[str, Any]:
        import airshed

        case = tracer_case()
        case["meteorology"] = {}
        case["time"]["start"] = "2022-08-31T10:00:00Z"
        made = airshed.Case.from_dict(case, base=place)
        given = weather() if data is None else data
        with airshed.Simulation(made, meteorology=given, initial=state() if initial is None else initial) as simulation:
            simulation.run(*([] if until is None else [until]))
            names_of = ("TRACER", "TRACER2", "air_temperature", "air_pressure")
            return {name: simulation[name].values for name in names_of}

    return Trial(place, words, kind, call=call, names=names, base=base)


def _units(rng: random.Random, place: Path) -> Trial:
    data, (name, unit) = weather(), rng.choice(_OTHER_UNITS)
    data[name].attrs["units"] = unit
    return _trial(
        place, f"units of {name}: {unit!r}", f"units of {name}", (name, "meteorology"), "python-plain", data=data
    )


def _coordinate(rng: random.Random, place: Path) -> Trial:
    data, name = weather(), rng.choice(_FULL)
    values, at = data[name].values, rng.randrange(data[name].size)
    floats = values.astype(float)
    changes: dict[str, Any] = {
        "as texts": lambda: np.array([str(value) for value in values]),
        "as objects": lambda: values.astype(object),
        "with a hole": lambda: _holed(values, at),
        "infinite": lambda: np.where(np.arange(values.size) == at, np.inf, floats),
        "reversed": lambda: values[::-1],
        "all the same": lambda: np.full(values.shape, values[0]),
        "with one twice": lambda: np.r_[values[:1], values[:1], values[2:]],
        "negative": lambda: -floats,
        "complex": lambda: floats + 1j,
        "huge": lambda: floats * 1e300,
        "as booleans": lambda: values.astype(bool),
        "as durations": lambda: (np.arange(values.size) * 600).astype("m8[s]").astype("m8[ns]"),
        "in disorder": lambda: np.r_[values[1:2], values[:1], values[2:]],
        "of 360 more": lambda: floats + 360.0,
        "as whole numbers": lambda: np.arange(values.size) * 600,
    }
    how = rng.choice([*changes, "left out", "cut to one", "empty", "in two dimensions"])
    if how == "left out":
        data = data.drop_vars(name)
    elif how in ("cut to one", "empty"):
        data = data.isel({name: [at] if how == "cut to one" else []})
    elif how == "in two dimensions":
        data = (
            data.drop_vars(name).assign_coords(
                {name: (("lat", "lon"), np.ones((data.sizes["lat"], data.sizes["lon"])))}
            )
            if name in ("level", "time")
            else data.drop_vars(name)
        )
    else:
        with np.errstate(all="ignore"):
            data = data.assign_coords({name: (name, changes[how]())})
    trial = _trial(place, f"{name} {how}", f"coordinate {name} {how}", (name, "meteorology"), data=data)
    trial.never = name != "time" and how in _NEVER
    return trial


def _holed(values: Any, at: int) -> Any:
    holed = values.copy() if values.dtype.kind == "M" else values.astype(float)
    holed[at] = np.datetime64("NaT") if values.dtype.kind == "M" else np.nan
    return holed


def _variable(rng: random.Random, place: Path) -> Trial:
    data = weather()
    name = rng.choice(list(data.data_vars))
    field = data[name]
    value = rng.choice([np.nan, np.inf, -np.inf, 1e300, -1e300, -1.0, 0.0, 1e30, 1e6])
    one = field.copy(deep=True)
    one.values.reshape(-1)[rng.randrange(field.size)] = value
    unit = text(rng)
    changes: dict[str, Any] = {
        f"{name} has {value:g} once": one, f"{name} is {value:g}": xr.full_like(field, value),
        f"{name} is a number, {value:g}": value, f"{name} as objects": field.astype(object),
        f"{name} as texts": field.astype(str), f"{name} as booleans": field.astype(bool),
        f"{name} complex": field.astype(complex), f"{name} in half precision": field.astype("f2"),
        f"{name} as times": field.astype("M8[ns]"), f"{name} on another dimension": field.rename(lat="y"),
        f"{name} with one more": field.expand_dims("member"), f"{name} in another order": field.transpose(),
        f"{name} without time": field.isel(time=0, drop=True), f"{name} without coordinates": field.drop_vars(_FULL),
        f"{name} with a text for units": field.assign_attrs(units=unit),
        f"{name} with a number for units": field.assign_attrs(units=5), f"{name} left out": None,
        f"{name} negative": -field, f"{name} on faces": field.rename(lon="lon_face"),
        f"{name} as whole numbers": field.astype("i8"),
    }  # fmt: skip
    how = rng.choice(list(changes))
    spoilt = changes[how]
    data = data.drop_vars(name)
    if spoilt is not None:
        data = (
            data.drop_vars(_FULL, errors="ignore").assign({name: spoilt})
            if "without coordinates" in how
            else data.assign({name: spoilt})
        )
    words = f"{how} ({unit[:40]!r})" if "text for" in how else how
    return _trial(
        place, words, how.replace(name, "X").replace(f"{value:g}", "N"), (name, "meteorology", *_FULL), data=data
    )


def _function(rng: random.Random, place: Path) -> Trial:
    calm = xr.Dataset({"eastward_wind": 5.0, "northward_wind": 0.0})
    answers: dict[str, Any] = {
        "None": lambda seconds: None, "a number": lambda seconds: 5.0, "a dict": lambda seconds: {"eastward_wind": 5.0},
        "an empty Dataset": lambda seconds: xr.Dataset(),
        "values that are not finite after a while": lambda seconds: calm * (np.nan if seconds > 100 else 1.0),
        "a text": lambda seconds: "wind",
        "other dimensions after a while": lambda seconds: calm if seconds < 100 else calm.expand_dims(lat=[50.0, 52.0]),
        "a Dataset with time": lambda seconds: weather(), "growing wind": lambda seconds: calm * (1.0 + seconds),
        "a storm": lambda seconds: calm * 1e6, "complex": lambda seconds: calm * 1j,
        "the same, changed in place": lambda seconds: calm,
        "other variables after a while": lambda seconds: calm if seconds < 100 else calm.drop_vars("northward_wind"),
    }  # fmt: skip
    how = rng.choice([*answers, "no function", "raises"])
    given: Any = answers.get(how)
    if how == "no function":
        given = rng.choice([5, "era5", [], {}, np.zeros(3), Path("x.nc")])
    elif how == "raises":
        from airshed.core.errors import DataError

        def given(seconds: float) -> xr.Dataset:
            raise DataError(f"meteorology: no wind at {seconds:g} s")

    return _trial(
        place,
        f"meteorology is a function that returns {how}"
        if how in answers
        else f"meteorology: {how} {str(given)[:30] if how == 'no function' else ''}",
        f"function: {how}",
        data=given,
    )


def _initial(rng: random.Random, place: Path) -> Trial:
    data = state()
    field = data["TRACER"]
    unit = rng.choice(["K", "ppb ppb", "", "kg", text(rng), "ug m-3", "%"])
    value = rng.choice([np.nan, np.inf, -1.0, 1e300, 2e9])
    one = field.copy(deep=True)
    one.values[2, 3] = value
    changes: dict[str, Any] = {
        f"units {unit[:40]!r}": field.assign_attrs(units=unit), f"one value {value:g}": one, "texts": field.astype(str),
        "objects": field.astype(object), "complex": field.astype(complex),
        "other points": field.assign_coords(lat=field["lat"] + 0.1), "other dimensions": field.rename(lat="y"),
        "too small": field.isel(lat=[0, 1]), "turned": field.transpose(), "a number": 1e-9,
        "lat reversed": field.isel(lat=slice(None, None, -1)), "with time": field.expand_dims("time"),
        "no units": field.drop_attrs(), "texts for lat": field.assign_coords(lat=[str(x) for x in field["lat"].values]),
        "lat with a hole": field.assign_coords(lat=[np.nan, *field["lat"].values[1:]]),
    }  # fmt: skip
    how = rng.choice([*changes, "another name", "no Dataset"])
    given: Any = (
        data.rename(TRACER=f"{text(rng)}_")  # never the name of a coordinate
        if how == "another name"
        else rng.choice([5, "x", np.zeros(3), field, {}])
        if how == "no Dataset"
        else xr.Dataset({"TRACER": changes[how]})
    )
    kind = "initial: units" if how.startswith("units") else f"initial: {how}"
    return _trial(place, f"initial: {how}", kind, ("initial", "TRACER", "lat", "lon"), initial=given)


def _until(rng: random.Random, place: Path) -> Trial:
    value = rng.choice([
        "1e300 h", "-1 h", "nan h", "", "10", "10 min min", -1, float("nan"), float("inf"), 1e300, 1e-300, 0, "5 m",
        None, [], True, "now", np.timedelta64(5, "m"), "1 h", 601, 300.05, np.float32(300), 1j,
    ])  # fmt: skip
    return _trial(place, f"run(until={value!r})", "until", ("until",), until=value)
