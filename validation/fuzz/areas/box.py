"""Boxes: conditions, formulas, columns of CSV files, states of many cells."""

import random
import tomllib
from pathlib import Path
from typing import Any, Final

import numpy as np
import xarray as xr
from validation.fuzz.inputs import assign, toml
from validation.fuzz.judge import MARK
from validation.fuzz.nasty import anything, number, quantity, spoil_file, text
from validation.fuzz.trial import Trial

_CONDITIONS: Final = """
title = "small"
[time]
start = "10 h"
length = "10 min"
output_every = "5 min"
[environment]
temperature = "270 K"
pressure = "300 Pa"
humidity = "10 %"
location = { lat = 50, lon = 5, date = "2022-08-31" }
[initial]
O3 = "5e11 molecules/cm3"
NO = "1 ppb"
[fixed]
O2 = "1.7e16 molecules/cm3"
[rates]
SUN = "0.5 + 0.1*sin(t/3600)"
[emission]
NO = "1e5 molecules/cm3/s"
[deposition]
O3 = "1e-6 1/s"
[solver]
relative_tolerance = 1e-4
most_steps = 500
"""
_FORMULAS: Final = (
    "1/0", "t/0", "0/0", "log(t - 1e9)", "sqrt(-t)", "exp(t)", "exp(exp(t))", "t**t**t", "9**9**9**9", "10**400",
    "1e400", "-1", "nan", "inf", "", " ", "(", ")", "(" * 500 + "t" + ")" * 500, "-" * 2000 + "t", "t" + "+t" * 3000,
    "__import__('os').system('touch RAN')", "t.__class__", "[t]", "{}", "'a'", "lambda: t", "t if t else 1", "T", "p",
    "humidity", "O3", "SUN", "unknown", "sin()", "sin(1, 2)", "t % 0", "t > 1 and 2", "not t", "True", "1 < t < 2",
    "t; t", "import os", "t // 2", "t & 1", "t ** 0.5", "-1e300", "1e300", "1e-300", "0 * t", "t - 36000", MARK, "\x00",
    "t\nt", "1_0", "0x1", "1j", "π", "t²",
)  # fmt: skip
_OTHER_MEANING: Final = (
    ("environment.temperature", "270 degC"), ("environment.temperature", "1e6 K"), ("environment.pressure", "1e9 hPa"),
    ("initial.NO", "1 ppm"), ("environment.pressure", "300 hPa"), ("initial.O3", "2 mol/mol"),
    ("fixed.O2", "1.7e30 molecules/cm3"),
)  # fmt: skip


def sound(variant: str, place: Path) -> Trial:
    """Return the trial of a sound box."""
    return _trial(place, tomllib.loads(_CONDITIONS), "nothing", variant)


def make(rng: random.Random, place: Path) -> Trial:
    """Spoil the conditions or their files."""
    tree = tomllib.loads(_CONDITIONS)
    action = rng.choices((_formula, _text, _csv, _states, _quantity, _meaning), weights=(5, 2, 3, 3, 2, 1))[0]
    trial: Trial = action(rng, place, tree)
    return trial


def _trial(
    place: Path,
    tree: dict[str, Any],
    words: str,
    kind: str,
    names: tuple[str, ...] = (),
    base: str = "",
    arguments: Any = (),
    content: bytes = b"",
) -> Trial:
    path = place / "conditions.toml"
    path.write_bytes(content or toml(tree).encode("utf-8", "surrogatepass"))
    output = place / "box.nc"
    line = ["box", "small_strato", "--conditions", str(path), "--output", str(output), *arguments]
    return Trial(
        place, words, kind, line, output=output, names=names or ("conditions.toml",), base=base, absent=(place / "RAN",)
    )


def _formula(rng: random.Random, place: Path, tree: dict[str, Any]) -> Trial:
    key = rng.choice(
        [
            "environment.temperature",
            "environment.pressure",
            "environment.humidity",
            "initial.O3",
            "fixed.O2",
            "fixed.M",
            "rates.SUN",
            "emission.NO",
            "deposition.O3",
        ]
    )
    value = rng.choice(_FORMULAS)
    assign(tree, key, value)
    return _trial(
        place, tree, f"{key} = {value[:80]!r}", f"formula of {key}", (key, key.split(".")[-1], "conditions.toml")
    )


def _quantity(rng: random.Random, place: Path, tree: dict[str, Any]) -> Trial:
    section, unit = rng.choice(
        [
            ("initial", "ppb"),
            ("fixed", "molecules/cm3"),
            ("emission", "molecules/cm3/s"),
            ("deposition", "1/s"),
            ("rates", "1/s"),
        ]
    )
    key, value = (
        rng.choice(["O3", "NO", "M", "SUN", text(rng)]),
        rng.choice([quantity(rng, unit), number(rng), anything(rng)]),
    )
    tree[section][key] = value
    return _trial(
        place,
        tree,
        f"{section}.{key[:40]} = {str(value)[:80]!r}",
        f"{section}: quantity",
        (section, key, "conditions.toml"),
    )


def _text(rng: random.Random, place: Path, tree: dict[str, Any]) -> Trial:
    content, words = spoil_file(rng, _CONDITIONS.encode())
    return _trial(
        place,
        tree,
        f"conditions.toml with {words}",
        "conditions file",
        ("conditions.toml", *tree),
        content=content or b"\n",
    )


def _meaning(rng: random.Random, place: Path, tree: dict[str, Any]) -> Trial:
    key, value = rng.choice(_OTHER_MEANING)
    assign(tree, key, value)
    return _trial(place, tree, f"{key} = {value!r}", f"other meaning of {key}", base="box-plain")


def _csv(rng: random.Random, place: Path, tree: dict[str, Any]) -> Trial:
    rows = [["time [s]", "T [K]"], ["0", "270"], ["36000", "271"], ["40000", "272"], ["90000", "270"]]
    row, column = rng.randrange(len(rows)), rng.randrange(2)
    value = rng.choice(
        [
            text(rng),
            number(rng),
            "T [hPa]",
            "T [" + MARK + "]",
            "time [h]",
            "T [",
            "T",
            "time",
            "-1",
            "1e300",
            "",
            "T [K K]",
        ]
    )
    rows[row][column] = value
    how = rng.choice(["", "", "twice", "reversed", "short"])
    body = {"": rows, "twice": [*rows, rows[-1]], "reversed": [rows[0], *rows[:0:-1]], "short": rows[:2]}[how]
    content = "\n".join(",".join(each) for each in body).encode("utf-8", "surrogatepass")
    if rng.random() < 0.3:
        content, how = spoil_file(rng, "\n".join(",".join(each) for each in body).encode("utf-8", "surrogatepass"))
    (place / "T.csv").write_bytes(content)
    tree["environment"]["temperature"] = rng.choice(
        [
            {"csv": "T.csv", "column": "T"},
            {"csv": "T.csv", "column": "T"},
            {"csv": text(rng), "column": "T"},
            {"csv": "T.csv"},
        ]
    )
    words = f"T.csv, row {row}, column {column}: {value[:60]!r} {how}"
    return _trial(
        place, tree, words, "csv of a column", ("T.csv", "temperature", "csv", "conditions.toml", "there is no file")
    )


def _states(rng: random.Random, place: Path, tree: dict[str, Any]) -> Trial:
    form = rng.choice(["csv", "nc"])
    path = place / f"states.{form}"
    if form == "csv":
        rows = [["O3 [ppb]", "NO [ppb]", "temperature [K]"], ["30", "1", "270"], ["40", "2", "271"]]
        row, column, value = (
            rng.randrange(3),
            rng.randrange(3),
            rng.choice([text(rng), number(rng), "O3 [K]", "O3", "XYZ", "-1", "1e300", "1e6 [ppb]"]),
        )
        rows[row][column] = value
        words = f"states.csv, row {row}, column {column}: {value[:60]!r}"
        path.write_text("\n".join(",".join(each) for each in rows), encoding="utf-8", errors="surrogatepass")
    else:
        name, unit = (
            rng.choice(["O3", "temperature", "NO", "XYZ", "pressure", "M"]),
            rng.choice(["ppb", "K", "", MARK, "hPa", "molecules/cm3", "1", "ppb ppb"]),
        )
        values: Any = rng.choice([
            [30.0, 40.0], [np.nan, 1.0], [np.inf, 1.0], [-1.0, 1.0], [1e300, 1.0], ["a", "b"], [1, 2], [], [1e12, 1e12],
            [0.0, 0.0],
        ])  # fmt: skip
        dims = rng.choice(["cell", "cell", "time", "lat"])
        words = f"states.nc: {name} = {values} {unit!r} on {dims}"
        xr.Dataset({name: (dims, np.asarray(values), {"units": unit})}).to_netcdf(path)
    return _trial(
        place, tree, words, f"states.{form}", ("states", "conditions.toml"), arguments=["--states", str(path)]
    )
