"""Weather files in the form of ERA5: attributes, coordinates, values, and bytes."""

import random
from pathlib import Path
from typing import Any, Final

import netCDF4
import numpy as np
import xarray as xr
from validation.fuzz.inputs import tracer_case, weather, write_case
from validation.fuzz.nasty import spoil_bytes, text
from validation.fuzz.trial import Trial

_OTHER_UNITS: Final = (
    ("u", "km h-1"), ("u", "knots"), ("v", "cm s-1"), ("t", "degC"), ("t", "degF"), ("sp", "hPa"), ("q", "g kg-1"),
    ("q", "K"), ("u", "K"), ("sp", "K"), ("t", "Pa"), ("v", "kg"), ("blh", "km"), ("level", "Pa"),
    ("latitude", "radians"), ("longitude", "m"),
)  # fmt: skip
"""Wrong units of the values: their meaning changes, so that the results must change."""

_OTHER_TIMES: Final = (
    ("units", "days since 2022-08-31"), ("units", "minutes since 2022-08-31"), ("units", "hours since 1900-01-01"),
    ("units", "fortnights since then"), ("calendar", "noleap"), ("calendar", "360_day"), ("calendar", "mayan"),
    ("units", "hours"), ("units", "months since 2022-08-01"),
)  # fmt: skip
_ATTRIBUTES: Final = (
    "units", "scale_factor", "add_offset", "missing_value", "valid_min", "valid_range", "calendar", "coordinates",
    "standard_name", "dtype", "bounds", "positive", "axis", "grid_mapping", "long_name", "_Unsigned", "cell_methods",
)  # fmt: skip
_NEVER: Final = {
    f"{name} {how}"
    for name in ("level", "latitude", "longitude")
    for how in ("with one twice", "all the same", "with a hole", "infinite", "beyond all bounds")
}
"""Coordinates without a valid meaning."""

_VALUES: Final = (np.nan, np.inf, -np.inf, 1e30, -1e30, 1e300, 0.0, -1.0, 9.96921e36)


def sound(variant: str, place: Path) -> Trial:
    """Return the trial of sound weather."""
    _write_nc(weather(), place)
    return _trial(place, "nothing", variant)


def make(rng: random.Random, place: Path) -> Trial:
    """Spoil the weather file."""
    action = rng.choices(
        (_other_units, _other_times, _attribute, _coordinate, _values, _structure, _bytes, _encoding, _strange_file),
        weights=(3, 2, 4, 5, 3, 4, 4, 2, 1),
    )[0]
    words, kind, base = action(rng, place)
    trial = _trial(place, words, kind, base=base)
    trial.never = kind in _NEVER
    return trial


def _trial(place: Path, mutation: str, kind: str, base: str = "") -> Trial:
    case = tracer_case()
    case["meteorology"] = {"kind": "era5", "files": ["w*.nc"]}
    write_case(case, place)
    line = ["run", str(place / "case.toml"), "--output", str(place / "out")]
    return Trial(
        place,
        mutation,
        kind,
        line,
        output=place / "out",
        names=("w.nc", "meteorology", "the data ", "the wind"),
        base=base,
    )


def _write_nc(dataset: xr.Dataset, place: Path, **options: Any) -> None:
    dataset.to_netcdf(place / "w.nc", **options)


def _other_units(rng: random.Random, place: Path) -> tuple[str, str, str]:
    data, (name, unit) = weather(), rng.choice(_OTHER_UNITS)
    data[name].attrs["units"] = unit
    _write_nc(data, place)
    return f"units of {name}: {unit!r}", f"units of {name}", "era5-plain"


def _other_times(rng: random.Random, place: Path) -> tuple[str, str, str]:
    _write_nc(weather(), place)
    name, value = rng.choice(_OTHER_TIMES)
    with netCDF4.Dataset(place / "w.nc", "a") as file:
        file["time"].setncattr(name, value)
    return f"time:{name} = {value!r}", f"time:{name}", ""


def _attribute(rng: random.Random, place: Path) -> tuple[str, str, str]:
    _write_nc(weather(), place, encoding=_packing(rng) if rng.random() < 0.4 else {})
    with netCDF4.Dataset(place / "w.nc", "a") as file:
        name = rng.choice([*file.variables, "u", "t", "level", "time"])
        attribute = rng.choice([*_ATTRIBUTES, "scale_factor", "units", "add_offset"])
        value = rng.choice([
            text(rng).replace("\x00", "") or "?", "a", 0, 0.0, np.nan, np.inf, 1e300, -1, np.array([1.0, 2.0]),
            np.array([1, 2, 3]), np.float32(2), np.int8(1), "1.0", ["a", "b"],
        ])  # fmt: skip
        file[name].setncattr(attribute, value)
    return f"{name}:{attribute} = {str(value)[:60]!r} ({type(value).__name__})", f"{attribute} of a variable", ""


def _packing(rng: random.Random) -> dict[str, Any]:
    return {
        name: {"dtype": "int16", "scale_factor": 0.01, "add_offset": 1.0, "_FillValue": -32767} for name in ("u", "v")
    }


def _coordinate(rng: random.Random, place: Path) -> tuple[str, str, str]:
    data = weather()
    name = rng.choice(["time", "level", "latitude", "longitude"])
    values = data[name].values
    at = rng.randrange(values.size)
    changes = {
        "reversed": lambda: values[::-1],
        "with one twice": lambda: np.r_[values[:1], values[:1], values[2:]],
        "all the same": lambda: np.full(values.shape, values[0]),
        "in disorder": lambda: np.array(rng.sample(list(values), values.size)),
        "not uniform": lambda: (
            values + (np.arange(values.size) ** 2).astype(values.dtype if name != "time" else "m8[m]")
        ),
        "with a hole": lambda: _holed(values, at),
        "beyond all bounds": lambda: values.astype(float) * 1e30,
        "infinite": lambda: np.where(np.arange(values.size) == at, np.inf, values.astype(float)),
        "as texts": lambda: np.array([str(value) for value in values], dtype=object),
        "negative": lambda: -values.astype(float),
        "of 360 more": lambda: values.astype(float) + 360.0,
        "in single precision": lambda: values.astype("f4"),
        "as whole numbers": lambda: values.astype("i4") if name != "time" else values.astype("i8"),
    }
    how = rng.choice(list(changes))
    if rng.random() < 0.15:
        how, data = "left out", data.drop_vars(name)
    elif rng.random() < 0.15:
        how, data = "cut to one", data.isel({name: [at]})
    elif rng.random() < 0.1:
        how, data = "empty", data.isel({name: []})
    else:
        attributes = data[name].attrs
        data = data.assign_coords({name: (name, changes[how]())})
        data[name].attrs.update(attributes if data[name].dtype.kind != "M" else {})
    words = f"{name} {how}"
    try:
        _write_nc(data, place)
    except Exception:  # the file does not exist
        _write_nc(weather().drop_vars("level"), place)
        words = "level left out"
    if how == "reversed":
        return words, words, ""
    return words, f"{name} {how}", ""


def _holed(values: Any, at: int) -> Any:
    holed = values.astype("M8[ns]" if values.dtype.kind == "M" else float).copy()
    holed[at] = np.datetime64("NaT") if values.dtype.kind == "M" else np.nan
    return holed


def _values(rng: random.Random, place: Path) -> tuple[str, str, str]:
    data = weather()
    name, value = rng.choice(list(data.data_vars)), rng.choice(_VALUES)
    array = data[name].values.copy()
    if rng.random() < 0.5:
        array.reshape(-1)[rng.randrange(array.size)] = value
        words = f"one value of {name} is {value:g}"
    elif rng.random() < 0.5:
        array[...] = value
        words = f"{name} is {value:g} everywhere"
    else:
        factor = rng.choice([-1.0, 1e3, 1e-3, 1e6, 20.0])
        array *= factor
        words = f"{name} times {factor:g}"
    data[name].values = array
    _write_nc(data, place)
    return words, f"values of {name}", ""


def _structure(rng: random.Random, place: Path) -> tuple[str, str, str]:
    data = weather()
    name = rng.choice(list(data.data_vars))
    dimension = rng.choice(list(data[name].dims))
    new = (text(rng).replace("\x00", "").replace("/", "_").strip() or "x")[:200]
    changes = {
        f"{name} left out": lambda: data.drop_vars(name),
        f"{name} without {dimension}": lambda: data.assign({name: data[name].isel({dimension: 0}, drop=True)}),
        f"{name} with {dimension} last": lambda: data.assign({name: data[name].transpose(..., dimension)}),
        f"{dimension} is called {new!r}": lambda: data.rename({dimension: new}),
        f"{name} is called {new!r}": lambda: data.rename({name: new}),
        f"{name} as texts": lambda: data.assign({name: data[name].astype(str)}),
        f"{name} as bytes": lambda: data.assign({name: data[name].astype("i1")}),
        f"{name} in single precision": lambda: data.assign({name: data[name].astype("f4")}),
        f"{name} with a dimension more": lambda: data.assign({name: data[name].expand_dims("member", -1)}),
        f"{name} with two more": lambda: data.assign({name: data[name].expand_dims(expver=2)}),
        f"{name} twice by another name": lambda: data.assign(
            {{"u": "var131", "t": "temperature"}.get(name, "var132"): data[name]}
        ),
        "one level alone": lambda: data.isel(level=[rng.randrange(5)]),
        "one point alone": lambda: data.isel(latitude=[0], longitude=[0]),
        f"{name} as a number alone": lambda: data.assign({name: 1.0}),
    }
    words = rng.choice(list(changes))
    try:
        _write_nc(changes[words](), place)
    except Exception:
        _write_nc(data.drop_vars("u"), place)
        words = "u left out"
    return words, words.replace(repr(new), "otherwise").replace(name, "X", 1), ""


def _bytes(rng: random.Random, place: Path) -> tuple[str, str, str]:
    form = rng.choice(["NETCDF4", "NETCDF4", "NETCDF3_64BIT", "NETCDF3_CLASSIC"])
    options: dict[str, Any] = {"format": form}
    if form == "NETCDF4" and rng.random() < 0.4:
        options["encoding"] = {name: {"zlib": True} for name in ("u", "v", "t", "q")}
    _write_nc(weather(), place, **options)
    path = place / "w.nc"
    content = path.read_bytes()
    if rng.random() < 0.6:  # the header
        head, words = spoil_bytes(rng, content[:4096])
        content = head + content[4096:]
    else:
        content, words = spoil_bytes(rng, content)
    path.write_bytes(content)
    return f"{form} with {words}", f"{form} with bytes spoilt", ""


def _encoding(rng: random.Random, place: Path) -> tuple[str, str, str]:
    name = rng.choice(["u", "t", "sp"])
    pack = {
        "dtype": rng.choice(["int16", "int32", "uint8"]), "scale_factor": rng.choice([0.01, 1e-300, 1e300, -0.01]),
        "add_offset": rng.choice([0.0, 1e300, 280.0]), "_FillValue": rng.choice([0, 1, -1]),
    }  # fmt: skip
    if pack["dtype"] == "uint8":
        pack["_FillValue"] = 255
    with np.errstate(all="ignore"):
        _write_nc(weather(), place, encoding={name: pack})
    return f"{name} packed as {pack}", "packing", ""


def _strange_file(rng: random.Random, place: Path) -> tuple[str, str, str]:
    path = place / "w.nc"
    choice = rng.randrange(6)
    if choice == 0:
        path.write_text("<!DOCTYPE html><html>not found</html>")
    elif choice == 1:
        path.mkdir()
    elif choice == 2:
        path.symlink_to("w.nc")
    elif choice == 3:
        path.write_bytes(b"GRIB" + bytes(1000))
    elif choice == 4:
        _write_nc(weather(), place)
        (place / "w2.nc").write_bytes(path.read_bytes())
        with netCDF4.Dataset(place / "w2.nc", "a") as file:
            file["u"][:] = 7.0
    else:
        _write_nc(weather().drop_vars(["u", "v"]), place)
    return (
        ("a page of the web", "a folder", "a link to itself", "a GRIB file", "two files that differ", "no wind")[
            choice
        ],
        "strange file",
        "",
    )
