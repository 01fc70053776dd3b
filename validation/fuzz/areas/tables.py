"""Tables: files of the inventory, boundary profiles, emission on a grid, and an initial state."""

import csv
import io
import json
import random
from pathlib import Path
from typing import Any, Final

import numpy as np
import xarray as xr
from validation.fuzz.inputs import CHECKOUT, inventory, ozone_case, write_case
from validation.fuzz.judge import MARK
from validation.fuzz.nasty import number, spoil_bytes, spoil_file, spoil_tree, text
from validation.fuzz.trial import Trial

_PROFILE: Final = CHECKOUT / "src" / "airshed" / "models" / "air" / "data" / "boundary" / "clean-air.csv"
_CODES: Final = {
    "national_totals.csv": ("iso2", "year", "sector", "pollutant", "unit"),
    "countries.csv": ("iso2", "iso3", "time_zone", "polygon"),
    "cities.csv": ("iso2",),
    "power_plants.csv": ("iso2", "fuel"),
    "fuel_factors.csv": ("fuel",),
    "sector_proxies.csv": ("sector", "proxy"),
    "species_split.csv": ("pollutant", "species"),
    "month_profiles.csv": ("GNFR",),
    "hour_profiles.csv": ("GNFR",),
    "weekday_profiles.csv": ("GNFR",),
    "height_profiles.csv": ("GNFR",),
}
"""Columns with codes; the other files have numbers or names."""

_NUMBERS: Final = (
    "1e308",
    "-1",
    "nan",
    "inf",
    "-inf",
    "1e300",
    "-1e300",
    "0",
    "abc",
    "",
    "1,5",
    "1e-300",
    MARK,
    "١",
    "5 5",
    "--5",
    "1e400",
)


def sound(variant: str, place: Path) -> Trial:
    """Return the trial of a sound inventory."""
    inventory(place / "inv")
    return _trial(place, "nothing", variant, ())


def make(rng: random.Random, place: Path) -> Trial:
    """Spoil one of the files."""
    inventory(place / "inv")
    action = rng.choices(
        (_cell, _code, _rows, _damaged, _map, _profile, _gridded, _state), weights=(5, 4, 3, 4, 3, 4, 2, 2)
    )[0]
    trial: Trial = action(rng, place)
    return trial


def _trial(
    place: Path, mutation: str, kind: str, names: tuple[str, ...], mentions: str = "", base: str = "", **sections: Any
) -> Trial:
    case = ozone_case()
    case["emissions"] = {"inventory": "inv", "year": 2022}
    for section, values in sections.items():
        case[section] = {**case[section], **values}
    write_case(case, place)
    line = ["run", str(place / "case.toml"), "--output", str(place / "out"), "--verbose"]
    return Trial(place, mutation, kind, line, output=place / "out", names=names, mentions=mentions, base=base)


def _pick(rng: random.Random, place: Path, names: Any = ()) -> tuple[Path, list[list[str]]]:
    """Return one of the inventory's tables with its rows, the header first."""
    path = place / "inv" / rng.choice(sorted(names or _CODES))
    return path, list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"))))


def _save(path: Path, rows: list[list[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="", errors="surrogatepass") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def _cell(rng: random.Random, place: Path) -> Trial:
    path, rows = _pick(rng, place)
    row, column = rng.randrange(len(rows)), rng.randrange(len(rows[0]))
    value = rng.choice([text(rng), number(rng), *rng.sample(_NUMBERS, 4)])
    where = rows[0][column]
    rows[row][column] = value
    _save(path, rows)
    return _trial(
        place, f"{path.name}: {where} of line {row + 1} is {value[:60]!r}", f"{path.name}: {where}", (path.name, "inv/")
    )


def _code(rng: random.Random, place: Path) -> Trial:
    path, rows = _pick(rng, place)
    column = rng.choice(_CODES[path.name])
    at = rows[0].index(column)
    old = rng.choice(rows[1:])[at]
    new = rng.choice(
        [old + "X", old.lower() + "q", old[:-1] or "Q", "ZZ", f" {old}", "1999" if column == "year" else "XX"]
    )
    for row in rows[1:]:
        row[at] = new if row[at] == old else row[at]
    _save(path, rows)
    return _trial(
        place,
        f"{path.name}: {column} {old!r} is {new!r}",
        f"{path.name}: code of {column}",
        (path.name, "inv/", new),
        mentions=new.strip(),
        base="tables-plain" if new.strip() else "",  # a blank in an empty cell has no effect
    )


def _rows(rng: random.Random, place: Path) -> Trial:
    path, rows = _pick(rng, place)
    at = rng.randrange(1, len(rows))
    column = rng.randrange(len(rows[0]))
    changes = {
        "a row twice": lambda: [*rows, rows[at]],
        "a row left out": lambda: rows[:at] + rows[at + 1 :],
        "a row too short": lambda: [*rows[:at], rows[at][:-1], *rows[at + 1 :]],
        "a row too long": lambda: [*rows[:at], [*rows[at], "1"], *rows[at + 1 :]],
        "no rows": lambda: rows[:1],
        "no head": lambda: rows[1:],
        "a column left out": lambda: [row[:column] + row[column + 1 :] for row in rows],
        "a column twice": lambda: [[*row, row[column]] for row in rows],
        "columns in another order": lambda: [row[::-1] for row in rows],
        "empty rows": lambda: [*rows[:at], [], [""] * len(rows[0]), *rows[at:]],
        "all rows twice": lambda: rows + rows[1:],
        "a head twice": lambda: [rows[0], rows[0], *rows[1:]],
    }
    how = rng.choice(list(changes))
    _save(path, changes[how]())
    return _trial(
        place, f"{path.name}: {how} (line {at + 1}, column {column + 1})", f"{path.name}: {how}", (path.name, "inv")
    )


def _damaged(rng: random.Random, place: Path) -> Trial:
    path = rng.choice([each for each in sorted((place / "inv").iterdir()) if each.name != "attribution.txt"])
    if rng.random() < 0.08:
        path.unlink()
        words = "left out"
    elif rng.random() < 0.08:
        path.unlink()
        path.mkdir()
        words = "a folder"
    elif path.suffix == ".nc":
        content = path.read_bytes()
        head, words = spoil_bytes(rng, content[:3000])
        path.write_bytes(head + content[3000:])
    else:
        content, words = spoil_file(rng, path.read_bytes())
        path.write_bytes(content)
    return _trial(place, f"{path.name} {words}", f"{path.name}: file", (path.name, "inv"))


def _map(rng: random.Random, place: Path) -> Trial:
    path = place / "inv" / "countries.topo.json"
    chance = rng.random()
    tree = json.loads(path.read_text(encoding="utf-8"))
    if chance < 0.15:
        depth = rng.choice([50, 2000, 100_000])
        content, words = "[" * depth + "]" * depth, f"{depth} lists in lists"
    elif chance < 0.25:
        inner: Any = tree["objects"]["countries"]
        for _ in range(rng.choice([2, 300])):
            inner = {"type": "GeometryCollection", "geometries": [inner]}
        tree["objects"]["countries"] = inner
        content, words = json.dumps(tree), "collections in collections"
    else:
        tree, words, _ = spoil_tree(rng, tree)
        content = json.dumps(tree)
    path.write_text(content, encoding="utf-8", errors="surrogatepass")
    return _trial(
        place,
        f"{path.name}: {words}",
        f"{path.name}: {'nested' if chance < 0.25 else 'tree'}",
        (path.name, "countries.csv", "Belgium", "BE", "inv"),
    )


def _profile(rng: random.Random, place: Path) -> Trial:
    path = place / "air.csv"
    lines = _PROFILE.read_text(encoding="utf-8").splitlines()
    comments, rows = [line for line in lines if line[0] == "#"], [line.split(",") for line in lines if line[0] != "#"]
    row = rng.randrange(len(rows))
    column = rng.choice([0, 1, rng.randrange(len(rows[0]))])
    chance = rng.random()
    if chance < 0.55:
        value = rng.choice([*_NUMBERS, number(rng), "1e6", "2", "0.5"])
        rows[row][column] = value
        words, kind = (
            f"{rows[0][column]} of row {row} is {value!r}",
            f"profile: {'pressure' if column == 0 else 'value'}",
        )
    elif chance < 0.75:
        how = rng.choice(["twice", "left out", "in another order", "short", "alone"])
        body = {
            "twice": [*rows, rows[-1]], "left out": rows[:row] + rows[row + 1 :],
            "in another order": [rows[0], *rows[:0:-1]], "short": [*rows[:-1], rows[-1][:-1]], "alone": rows[:2],
        }[how]  # fmt: skip
        rows, words, kind = body, f"rows {how}", f"profile: rows {how}"
    else:
        content, words = spoil_file(rng, _PROFILE.read_bytes())
        path.write_bytes(content)
        return _trial(place, f"air.csv {words}", "profile: file", ("air.csv",), boundary={"profiles": "air.csv"})
    path.write_text("\n".join([*comments, *(",".join(each) for each in rows)]) + "\n", encoding="utf-8")
    return _trial(place, f"air.csv: {words}", kind, ("air.csv",), boundary={"profiles": "air.csv"})


def _gridded(rng: random.Random, place: Path) -> Trial:
    lat, lon = np.arange(50.05, 51.2, 0.1), np.arange(4.05, 5.5, 0.1)
    field = xr.DataArray(np.full((lat.size, lon.size), 1e-9), dims=("lat", "lon"), coords={"lat": lat, "lon": lon})
    field.attrs["units"] = "mol m-2 s-1"
    changes = {
        "units": lambda: field.attrs.update(
            units=rng.choice(["", text(rng).replace("\x00", ""), "mol", "K", "mol m-2 s-1 s-1", "kg m-2 s-1"])
        ),
        "one value": lambda: field.values.__setitem__((2, 3), rng.choice([np.nan, np.inf, -1.0, 1e300])),
        "every value": lambda: field.values.__setitem__(..., rng.choice([np.nan, np.inf, -1.0, 1e300, 1e30, 1.0])),
        "molar_mass": lambda: field.attrs.update(
            units="kg m-2 s-1", molar_mass=rng.choice(["a", "", -1.0, 0.0, np.nan, np.inf, 1e-300, 30.0])
        ),
        "lon twice": lambda: field.coords.__setitem__("lon", ("lon", np.r_[lon[:-1], lon[-2]])),
        "lat with a hole": lambda: field.coords.__setitem__("lat", ("lat", np.r_[lat[:-1], np.nan])),
        "lon as texts": lambda: field.coords.__setitem__(
            "lon", ("lon", np.array([f"a{x}" for x in lon], dtype=object))
        ),
        "lat from north": lambda: field.coords.__setitem__("lat", ("lat", lat[::-1].copy())),
        "nothing": lambda: None,
    }
    how = rng.choice(list(changes))
    changes[how]()
    name = rng.choice(["NO", "NO", "NO2", "XYZ", "time2", "A B"])
    dataset = field.to_dataset(name=name)
    if rng.random() < 0.15:
        dataset, how = dataset.expand_dims(rng.choice(["level", "time", "odd"])), f"{how} and a dimension more"
    units, mass = field.attrs["units"][:40], field.attrs.get("molar_mass", "")
    words = f"gridded emission: {how}, of {name!r}, units {units!r} molar_mass {mass!r}"
    dataset.to_netcdf(place / "grid.nc")
    return _trial(
        place,
        words,
        f"gridded: {how}",
        ("grid.nc",),
        emissions={"gridded": ["grid.nc"], "inventory": "inv", "year": 2022},
    )


def _state(rng: random.Random, place: Path) -> Trial:
    shape, coords = (
        (4, 5, 6),
        {
            "level": [50.0, 200.0, 550.0, 1400.0],
            "lat": np.arange(50.125, 51.2, 0.25),
            "lon": np.arange(4.125, 5.5, 0.25),
        },
    )
    field = xr.DataArray(np.full(shape, 1e-9), dims=("level", "lat", "lon"), coords=coords)
    value = rng.choice([np.nan, np.inf, -1.0, 1e300, 2.0, 1e-300, 1e-9])
    field.values[rng.choice([0, 3]), 2, 3] = value
    unit = rng.choice(["mol mol-1", "ppb", "K", "", "ppb ppb", MARK, "m", "kg kg-1"])
    field.attrs["units"] = unit
    name = rng.choice(["O3", "O3", "NO", "XYZ", "time2"])
    how = rng.choice(["as it is", "without level", "with another lon", "on other dims", "spoilt"])
    dataset = field.to_dataset(name=name)
    if how == "without level":
        dataset = dataset.isel(level=0, drop=True)
    elif how == "with another lon":
        dataset = dataset.assign_coords(lon=dataset["lon"] + 0.1)
    elif how == "on other dims":
        dataset = dataset.rename(lat="y", lon="x")
    dataset.to_netcdf(place / "state.nc")
    if how == "spoilt":
        content, words = spoil_bytes(rng, (place / "state.nc").read_bytes())
        (place / "state.nc").write_bytes(content)
        how = words
    words = f"initial state: {name} {how}, one value {value:g}, units {unit!r}"
    return _trial(
        place,
        words,
        f"initial file: units {unit!r}" if unit in ("K", "m", "ppb ppb") else "initial file",
        ("state.nc", "initial"),
        initial={"file": "state.nc"},
    )
