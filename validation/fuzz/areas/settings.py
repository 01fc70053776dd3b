"""Settings: every one of the registry with values that nobody would give, and case files that are damaged."""

import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from validation.fuzz.inputs import ozone_case, toml, tracer_case, write_case
from validation.fuzz.nasty import anything, deep, number, quantity, spoil_file, text
from validation.fuzz.trial import Trial

from airshed.core.settings import Setting, settings_of
from airshed.models.air.case import Case

_VARIANTS: Final = {
    "tracer": tracer_case, "ozone": ozone_case, "strang": lambda: ozone_case("strang"),
}  # fmt: skip
_SLOW: Final = ("time.length", "time.spinup")
"""Settings of which a value in between would be honest work for hours: only what is absurd is tried."""

_ABSURD: Final = (
    "1e300 h", "1e-300 h", "-1 h", "nan h", "inf h", "1e18 s", "1e12 day", "0 s", "5e-324 s", "", "h", "10", "10 m",
    "10 min min", "1e-9 s", "1e16 s", "9e99 s",
)  # fmt: skip
_OTHER_MEANING: Final = (
    ("meteorology.eastward", "5 km/h"), ("meteorology.rotation", "24 min"), ("meteorology.diffusivity", "5 cm2/s"),
    ("emissions.point.0.rate", "1 kmol/s"), ("emissions.point.0.height", "1 km"), ("boundary.values.TRACER2", "10 ppm"),
    ("initial.values.TRACER", "1 ppm"), ("meteorology.northward", "1 m/s"), ("emissions.point.0.lon", 5.2),
)  # fmt: skip
"""Values of the tracer case that mean something else, so that the results must differ."""

_ONCE_WRONG: Final = (
    ("time.length", "1e300 h"), ("time.length", "1e-300 h"), ("time.spinup", "1e300 h"), ("time.spinup", "1e-300 h"),
    ("time.longest", "1e-300 min"), ("chemistry.sweeps", 10**18), ("restart.every", "1e-300 h"),
    ("meteorology.files", [""]), ("emissions.gridded", [""]), ("meteorology.rotation", "0 s"), ("output.0.fields", []),
    ("output.0.levels", []), ("time.courant", 1e-300), ("time.courant", 1e-9), ("emissions.year", 0),
    ("emissions.point.0.rate", "1e300 mol/s"), ("output.0.every", "1e-9 s"), ("time.step", "1e-300 s"),
    ("boundary.values", {"TRACER2": "1.9 ppm ppm"}), ("initial.values", {"TRACER": "2 mol/mol"}),
    ("run.threads", 10**9), ("parallel.tiles", [10**9, 1]), ("grid.spacing", "1e-9 deg"), ("grid.spacing", "1e300 deg"),
    ("meteorology.temperature", "1e300 K"), ("meteorology.temperature", "1e-300 K"),
    ("meteorology.pressure", "1e300 Pa"),
    ("meteorology.eastward", "1e300 m/s"), ("meteorology.diffusivity", "1e300 m2/s"), ("grid.layers", ["1e300 m"]),
    ("grid.layers", ["1e-300 m"]), ("meteorology.water_vapour", "1e300 mol/mol"), ("meteorology.every", "1e-300 s"),
    ("time.start", "9999-12-31T23:59:59Z"), ("time.start", "0001-01-01T00:00:00Z"),
    ("meteorology.mixed_layer", "1e300 m"),
    ("chemistry.absolute_tolerance", "1e300 molecules/cm3"), ("chemistry.relative_tolerance", 1e-300),
    ("emissions.point.0.height", "1e300 m"), ("deposition.velocities", {"TRACER": "1e300 m/s", "NO2": "1e300 m/s"}),
)  # fmt: skip
"""Settings that ended badly once, or lie next to those."""


def sound(variant: str, place: Path) -> Trial:
    """Return the trial of a sound case."""
    write_case(_VARIANTS[variant](), place)
    return _trial(place, "nothing", variant)


def make(rng: random.Random, place: Path) -> Trial:
    """Spoil one setting, by the file or by --set, or the case file as a text."""
    variant = rng.choices(list(_VARIANTS), weights=(5, 3, 2))[0]
    case = _VARIANTS[variant]()
    chance = rng.random()
    if chance < 0.12:
        content, words = spoil_file(rng, toml(case).encode())
        (place / "case.toml").write_bytes(content)
        return _trial(place, f"case.toml with {words}", "case file", names=("case.toml", *case))
    if chance < 0.17:
        return _absurd_file(rng, case, place)
    if chance < 0.22:
        key, value = rng.choice(_OTHER_MEANING)
        case = tracer_case()
        assign(case, key, value)
        write_case(case, place)
        return _trial(place, f"{key} = {value!r}", f"other meaning of {key}", base="settings-tracer")
    if chance < 0.34:
        key, value = rng.choice(_ONCE_WRONG)
        assign(case, key, value)
        if key == "meteorology.files":
            case["meteorology"]["kind"] = "era5"
        if key == "time.courant":
            case["time"]["step"] = "auto"
        write_case(case, place)
        return _trial(place, f"{variant}: {key} = {str(value)[:100]!r}", key, names=_names(key))
    setting = rng.choice(list(settings_of(Case)))
    key, value = setting.key.replace(".N.", ".0."), value_for(rng, setting)
    if key in _SLOW and rng.random() < 0.9:
        value = rng.choice(_ABSURD)
    if rng.random() < 0.15 and key.count("."):
        key, value = key.rpartition(".")[0], anything(rng)
    arguments: list[str] = []
    if rng.random() < 0.2:
        write_case(case, place)
        arguments = ["--set", f"{key}={value if isinstance(value, str) and rng.random() < 0.5 else json.dumps(value)}"]
        if "\x00" in arguments[1]:
            arguments = ["--set", arguments[1].replace("\x00", "")]  # no program can be given one
    else:
        assign(case, key, value)
        write_case(case, place)
    words = f"{variant}: {' '.join(arguments)[:200] or f'{key} = {str(value)[:120]!r}'}"
    names = _names(key)
    if isinstance(value, str) and value.strip():
        names += (value[:20],)  # a file or a shipped thing by its name
    return _trial(place, words, setting.key, arguments, names)


def _trial(
    place: Path, mutation: str, kind: str, arguments: Any = (), names: tuple[str, ...] = (), base: str = ""
) -> Trial:
    line = ["run", str(place / "case.toml"), "--output", str(place / "out"), *arguments]
    return Trial(place, mutation, kind, line, output=place / "out", names=names, base=base, absent=(place / "RAN",))


def _names(key: str) -> tuple[str, ...]:
    """Return what a refusal may call a setting."""
    last = key.rsplit(".", 1)[-1]
    source = f"{key.split('.')[1]} source" if key.startswith("emissions.") else key
    return (key, last, last.replace("_", " "), last.rstrip("s"), key.split(".")[0], source, "case.toml", "folder")


def value_for(rng: random.Random, setting: Setting) -> Any:
    """Return a value for a setting: mostly of its kind and absurd, sometimes of another."""
    if rng.random() < 0.2:
        return anything(rng)
    kind = setting.kind
    if kind.startswith("list of") or kind.startswith("table of"):
        item = _item(rng, kind.split(" of ", 1)[1], setting.unit)
        many = rng.choice([1, 1, 2, 2000])
        if kind.startswith("list"):
            return rng.choice([[], [item] * many, [item, item], [[item]], item])
        return rng.choice([{}, {rng.choice(["TRACER", "O3", "NO", text(rng)]): item}, {"": item}, {"O3": {"O3": item}}])
    return _item(rng, kind, setting.unit)


def _item(rng: random.Random, kind: str, unit: str) -> Any:
    if "quantit" in kind:
        return quantity(rng, unit)
    if "whole number" in kind:
        return rng.choice(
            [-1, 0, 1, 2, 3, 7, 50, 10**6, 10**9, 10**18, 2**31, 2**63 - 1, 2**63, 10**30, 1.5, "2", True]
        )
    if "number" in kind:
        return rng.choice(
            [
                0.0,
                -1.0,
                0.5,
                1e300,
                -1e300,
                1e-300,
                5e-324,
                float("nan"),
                float("inf"),
                1e18,
                90,
                180,
                360,
                10**400,
                "1",
            ]
        )
    if "true or false" in kind:
        return rng.choice([True, False, 0, 1, "true", "yes"])
    if kind == "time":
        return rng.choice([
            "0001-01-01", "9999-12-31T23:59:59Z", "2022-02-30", "2022-08-31T24:00:00", "2022-08-31T00:00:60Z",
            "1582-10-10", "now", "2022-08-31T00:00:00+99:00", 0, 1e300, "2022-08-31T00:00:00.5Z", "1800-01-01",
            "2500-01-01", "2300-01-01T00:00:00Z",
        ])  # fmt: skip
    return rng.choice(
        [text(rng), text(rng), number(rng), "no/such/file.nc", ".", "/", "/dev/null", "case.toml", "*", "**/*", "../*"]
    )


def assign(tree: Any, key: str, value: Any) -> None:
    """Set a value by its dotted key, making the tables on the way, whatever stands there."""
    steps = [int(step) if step == "0" else step for step in key.split(".")]
    for step, after in pairwise(steps):
        wanted = list if after == 0 else dict
        there = tree[step] if isinstance(step, int) else tree.get(step)
        if not isinstance(there, wanted) or not there:
            tree[step] = [{}] if wanted is list else {}
        tree = tree[step]
    tree[steps[-1]] = value


def _absurd_file(rng: random.Random, case: dict[str, Any], place: Path) -> Trial:
    """A case file that is huge, deep, or has keys that nobody knows."""
    choice = rng.randrange(7)
    if choice == 0:
        case[text(rng)] = anything(rng)
    elif choice == 1:
        case["description"] = "x" * 5_000_000
    elif choice == 2:
        case["grid"]["layers"] = [f"{10 * (number + 1)} m" for number in range(3000)]
    elif choice == 3:
        case["grid"] = deep(rng, {})
    elif choice == 4:
        case["emissions"]["point"] = case["emissions"]["point"] * 5000
    elif choice == 5:
        case["output"] = [{**case["output"][0], "name": f"o{number}"} for number in range(rng.choice([3, 100]))]
        case["output"] = case["output"] if len(case["output"]) < 10 else [*case["output"], {"name": text(rng)}]
    content = toml(case)
    if choice == 6:
        content = "x = " + "[" * 100_000 + "]" * 100_000 + "\n" + content
    (place / "case.toml").write_text(content, encoding="utf-8", errors="surrogatepass")
    what = (
        "a key of its own",
        "a huge text",
        "3000 layers",
        "a deep grid",
        "5000 sources",
        "many outputs",
        "deep lists",
    )[choice]
    return _trial(
        place, f"case.toml with {what}", f"case file with {what}", names=("case.toml", *case, "layers", "output")
    )
