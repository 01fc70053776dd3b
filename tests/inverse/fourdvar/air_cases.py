"""A case of few columns with ozone and nitrogen oxides, and controls of every kind."""

from pathlib import Path
from typing import Any

import numpy as np
from tests.laws.cases import small_case

from airshed.models.air.case import Case
from airshed.observations.observation import Observation, Observations

CONTROLS: list[dict[str, Any]] = [
    {"name": "cells", "species": ["NO"], "length": "200 km"},
    {"name": "hours", "species": ["NO", "NO2"], "resolution": "domain", "parts_of_day": 24, "time": "2 h"},
    {"name": "ozone", "target": "initial", "species": ["O3"], "length": "100 km", "height": "200 m", "sigma": 0.2},
    {
        "name": "more",
        "target": "initial",
        "species": ["O3"],
        "kind": "gaussian",
        "resolution": "domain",
        "deviation": "3 ppb",
    },
]


def case(folder: Path, **sections: Any) -> Case:
    """Return the small case of tests/laws, with its compiled libraries, other initial air, and observations."""
    (folder / "a.csv").touch()
    observed = {"stations": ["a.csv"], "species": ["NO2", "O3"]}
    small = small_case(folder)
    sea, overturning = small.to_dict()["process"]
    chosen = {
        "grid": {"area": {"lon": [0, 5], "lat": [45, 48]}, "spacing": "1 deg", "layers": ["50 m", "200 m", "600 m"]},
        "time": {"start": "2022-08-31T10:20Z", "length": "2 h", "maximum_step": "10 min"},
        "chemistry": {"sweeps": 3},
        "meteorology": {"kind": "uniform", "eastward": "6 m/s", "northward": "2 m/s", "diffusivity": "5 m2/s"},
        "deposition": {"scheme": "none", "velocities": {"O3": "0.5 cm/s", "NO2": "0.2 cm/s"}},
        "boundary": {"profiles": "zero", "values": {"O3": "40 ppb"}},
        "initial": {"values": {"O3": "35 ppb", "NO": "0.5 ppb", "NO2": "2 ppb"}},
        "emissions": {
            "area": [{"lon": [0.5, 3], "lat": [45.5, 47], "rates": {"NO": "6e11 molecules/cm2/s",
                                                                     "NO2": "1e11 molecules/cm2/s"}}],
            "point": [{"species": "NO2", "lon": 3.2, "lat": 46.4, "height": "120 m", "rate": "20 mol/s"}],
        },
        "assimilation": {"scheme": "4dvar", "observations": observed, "control": CONTROLS},
        **sections,
    }  # fmt: skip
    data = small.to_dict()
    for name, section in chosen.items():
        replaced = name in ("grid", "time", "meteorology", "emissions", "assimilation")
        data[name] = section if replaced else {**data.get(name, {}), **section}
    sea["balances"] = {"NO2": "0 ppb"}
    data["process"] = [sea, {**overturning, "production": {"NO": "1e-20 mol/m3/s"}}]
    return Case.from_dict(data, base=folder).allowing_code()


def observations(count: int = 12) -> Observations:
    random = np.random.default_rng(5)
    rows = []
    for number in range(count):
        begin = 600.0 * (number % 7)
        rows.append(Observation(
            str(number), "surface", ("NO2", "O3")[number % 2], random.uniform(0.2, 4.8), random.uniform(45.2, 47.8),
            begin, begin + 1800.0, random.uniform(2.0, 30.0), "ppb", 2.0, "by hand",
        ))  # fmt: skip
    return Observations.of(rows)
