"""Pasture against published outputs of APSIM-GRASP: bare soil, cover, growth, trees, 43 years.

Their licence does not allow Airshed to ship them. The environment variable AIRSHED_GRASP_REFERENCE is their folder,
with grasp_refset, tree and site67; without it there are no such figures.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from airshed.core.arrays import Array
from airshed.core.errors import DataError
from airshed.core.files import read_text
from airshed.kernels.cells.formulas import Precision
from airshed.models.pasture.fields import LAYERS
from airshed.models.pasture.point import PointCase, Series, simulate
from airshed.models.pasture.weather.met import read_met
from airshed.verify.figure import Figure

VARIABLE: Final = "AIRSHED_GRASP_REFERENCE"
NEEDED: Final = (
    "grasp_refset/narayen.met", "grasp_refset/step1.out", "grasp_refset/step3.out", "grasp_refset/step6.out",
    "tree/narayen.met", "tree/step2.out", "site67/Site67.met", "site67/site67_daily.out",
)  # fmt: skip

LACKING: Final = (
    f"comparison with GRASP: it needs published outputs of APSIM-GRASP; set {VARIABLE} to their folder, with "
    f"{', '.join(NEEDED)}"
)
"""Note for missing outputs."""

_WATER: Final[Mapping[Precision, float]] = {"double": 0.002, "single": 0.02}
_DIGIT: Final = 0.05
"""Half of the last printed digit of growth [kg/ha]."""

_PRINTED: Final = "half a printed digit"

_SOIL: Final = {"soil": {"set": "regression"}, "humidity": {"given": "deficit"}}
_NO_GROWTH: Final = {"tussock_growth": 0.0, "transpiration_efficiency": 0.0}
_STEPS: Final[Mapping[str, Mapping[str, Any]]] = {
    "step1": {"pasture": {"set": "regression", **_NO_GROWTH}, "initial": {"basal_area": 0.0}},
    "step3": {
        "pasture": {"set": "regression", **_NO_GROWTH},
        "initial": {"basal_area": 0.0, "dead_leaf": 5000.0, "dead_stem": 5000.0},
    },
    "step6": {"pasture": {"set": "regression"}},
}
_UNDER_TREES: Final[Mapping[str, Any]] = {
    **_SOIL,
    "soil": {"set": "regression", "runoff_depth": 450.0},
    "pasture": {"set": "regression", **_NO_GROWTH, "dry_detachment": 0.0, "wet_detachment": 0.0},
    "land": {"tree_basal_area": 3.0, "trees": {"root_depth": 1250.0, "root_uptake": [0.5, 0.5, 0.5, 0.0]}},
    # The reference has a cover of 0.15, made of dead matter here, and a soil late in its second stage.
    "initial": {
        "basal_area": 0.0, "dead_leaf": 750.0, "dead_stem": 750.0, "stage_1": 6.0, "stage_2": 25.0,
        "water_1": 5.0, "water_2": 40.0, "water_3": 50.0, "water_4": 50.0,
    },
    "soil_evaporation": {"method": "ritchie"},
}  # fmt: skip
_SITE67: Final[Mapping[str, Any]] = {
    "soil": {"set": "site67"},
    "pasture": {"set": "site67"},
    "humidity": {"given": "deficit"},
    "soil_evaporation": {"method": "ritchie", "potential": "priestley_taylor"},
    "nitrogen": {"limited": False},
    "fire": {"litter_burns": False},
    "resets": {"nitrogen": "coded"},
    "initial": {"wetness": 1.0, "litter": 1000.0, "basal_area": 0.0},
    "events": {
        "fire": [{"date": "09-01"}],
        # Values from the station's record of mowing and sampling, at the end of the day before.
        "set": [
            {"date": "1957-02-01", "basal_area": 4.4},
            {"date": "1991-10-12", "green_leaf": 351.0, "green_stem": 351.0, "dead_leaf": 0.0, "dead_stem": 0.0},
            {"date": "1991-10-16", "water_1": 5.0, "water_2": 39.5, "water_3": 42.4, "water_4": 3.0},
            {"date": "1992-11-11", "green_leaf": 40.0, "green_stem": 40.0, "dead_leaf": 0.0, "dead_stem": 0.0},
            {"date": "1993-10-30", "green_leaf": 0.0, "green_stem": 0.0},
        ],
    },
}


def reference_folder() -> Path | None:
    """Return the folder of the reference outputs, None without the variable; raises DataError if it lacks a file."""
    if not (named := os.environ.get(VARIABLE, "")):
        return None
    lacking = [name for name in NEEDED if not (Path(named) / name).is_file()]
    if lacking:
        raise DataError(f"{VARIABLE} = {named}: the folder lacks {lacking[0]}; name one that has {', '.join(NEEDED)}")
    return Path(named)


def check(folder: Path, precision: Precision = "double") -> list[Figure]:
    """Return the figures of all comparisons."""
    steps = [figure for step in _STEPS for figure in check_step(folder, step, precision)]
    return [*steps, *check_trees(folder, precision), *check_site67(folder, precision)]


def check_both(folder: Path) -> list[Figure]:
    """Return the figures of both precisions."""
    return [*check(folder, "double"), *check(folder, "single")]


def check_step(folder: Path, step: str, precision: Precision = "double", **other: Any) -> list[Figure]:
    """Return the figures of a step of the regression set; `other` settings replace its own."""
    published = read_out(folder / "grasp_refset" / f"{step}.out")
    days = len(published["sw_index"])
    station = read_met(folder / "grasp_refset" / "narayen.met")
    station = station.between(station.dates[0], station.dates[days - 1])
    case = PointCase.from_dict({**_SOIL, **_STEPS[step], "precision": precision, **other})
    found = simulate(case, station, published["surfaceom_wt"])
    name, limit = f"pasture {step}, {precision}", _WATER[precision]
    water = max(_largest_difference(found[f"water_{layer}"], published[f"sw_dep({layer})"]) for layer in LAYERS)
    figures = [Figure(name, "water of layers, largest difference [mm]", water, limit, reference=_PRINTED)]
    if step == "step6":
        figures += [
            _figure(
                name,
                "transpiration, largest difference [mm]",
                found["transpiration"],
                published["transpiration"],
                limit,
            ),
            _figure(
                name,
                "growth by light, largest difference [kg/ha]",
                found["light_growth"],
                published["growth_photo"],
                _DIGIT,
            ),
        ]
    return figures


def check_trees(folder: Path, precision: Precision = "double", **other: Any) -> list[Figure]:
    """Return the figures of the water use of trees."""
    published = read_out(folder / "tree" / "step2.out")
    station = read_met(folder / "tree" / "narayen.met")
    station = station.between(station.dates[0], station.dates[len(published["total_swi"]) - 1])
    found = simulate(PointCase.from_dict({**_UNDER_TREES, "precision": precision, **other}), station)
    water = np.sum([found[f"water_{layer}"] for layer in LAYERS], axis=0)
    name, limit = f"pasture under trees, {precision}", _WATER[precision]
    return [
        _figure(name, "water of the soil, largest difference [mm]", water, published["sw_dep()"], limit),
        _figure(name, "water use, largest difference [mm]", found["tree_water_use"], published["transpiration"], limit),
    ]


def check_site67(folder: Path, precision: Precision = "double", **other: Any) -> list[Figure]:
    """Return the figures of 43 years at Site 67, Brigalow: standing dry matter and cover at the end of each day."""
    published = read_out(folder / "site67" / "site67_daily.out")
    station = read_met(folder / "site67" / "Site67.met")
    station = station.between(station.dates[0], station.dates[len(published["tsdm"]) - 1])
    found = simulate(PointCase.from_dict({**_SITE67, "precision": precision, **other}), station)
    standing, name = found["standing_dry_matter"], f"pasture Site 67, {precision}"
    return [
        Figure(name, "r2 of dry matter", _agreement(standing, published["tsdm"]), 0.995, True, "1"),
        Figure(name, "RMSE of dry matter [kg/ha]", _rms(standing - published["tsdm"]), 160.0, False, "mean 3765"),
        Figure(name, "r2 of cover", _agreement(_cover(found), published["cover_tot"]), 0.995, True, "1"),
    ]


def _cover(found: Series) -> Array:
    """Return the cover at the end of the day; the model has the cover at its start."""
    green = np.where(found["green"] > 1.0, 1.0 - 0.5 ** (found["green"] / 1600.0), 0.0)
    return np.asarray(1.0 - (1.0 - green) * (1.0 - np.minimum(1e-4 * found["dead"], 1.0)))


def read_out(path: Path) -> dict[str, Array]:
    """Return the columns of an output file of APSIM by name; of two with the same name the first."""
    lines = [line.split() for line in read_text(path).splitlines()]
    head = next((words for words in lines if words and words[0].lower() == "date"), None)
    if head is None:
        raise DataError(f"{path} has no line with the names of columns")
    rows = [words[1:] for words in lines if len(words) == len(head) and words[0][:1].isdigit()]
    table = np.array([[np.nan if word == "?" else float(word) for word in row] for row in rows])
    found: dict[str, Array] = {}
    for number, name in enumerate(head[1:]):
        found.setdefault(name, table[:, number])
    return found


def _figure(name: str, what: str, found: Array, published: Array, limit: float) -> Figure:
    return Figure(name, what, _largest_difference(found, published), limit, reference=_PRINTED)


def _largest_difference(one: Array, other: Array) -> float:
    return float(np.abs(one - other).max())


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _agreement(one: Array, other: Array) -> float:
    return float(np.corrcoef(one, other)[0, 1] ** 2)
