"""An hour of rotating wind over a few columns, with the mechanism and the processes of tests/laws/cases.py."""

from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import xarray as xr
from tests.laws.cases import join, small_case
from tests.laws.derivatives import uneven

import airshed
from airshed.inverse.function.run_function import RunFunction

__all__ = ["FASTER", "IN_TIME", "RECEPTOR", "SOURCE", "hashes", "measured", "small", "uneven"]

RECEPTOR: dict[str, Any] = {"species": "O3", "lon": 7.45, "lat": 50.45, "time": "1 h"}
IN_TIME: dict[str, Any] = {"fields": ["O3", "NO"], "every": "10 min"}
FASTER = ["R1", "R3"]
"""Reactions with rate factors as inputs of functions; the catalogue has the libraries for these two."""

SOURCE: dict[str, Any] = {"species": "NO", "lon": 7.25, "lat": 50.35, "height": "10 m", "rate": "2 mol/s"}


def small(folder: Path, **sections: Any) -> airshed.Case:
    """Return an hour over 6 x 5 columns of land with two chimneys."""
    base: dict[str, Any] = {
        "title": "A few columns",
        "grid": {"area": {"lon": [7, 8.2], "lat": [50, 51]}, "spacing": "0.2 deg",
                 "layers": ["30 m", "150 m", "500 m"]},
        "time": {"start": "2022-06-01T10:00:00Z", "length": "1 h", "maximum_step": "150 s", "step": "auto"},
        "meteorology": {"eastward": "5 m/s", "northward": "2 m/s", "rotation": "24 h", "diffusivity": "8 m2/s"},
        "initial": {"values": {}},
        "emissions": {"point": [SOURCE, {**SOURCE, "species": "VOC", "lon": 7.05, "height": "80 m", "rate": "3 mol/s"}],
                      "area": [{"lon": [7, 8], "lat": [50, 50.6], "rates": {"NO2": "1e-9 mol/m2/s"}}]},
        "boundary": {"values": {"O3": "45 ppb", "NO": "0.5 ppb", "NO2": "3 ppb", "VOC": "8 ppb"}},
        "output": [{"fields": ["O3"], "every": "30 min"}],
    }  # fmt: skip
    joined = {name: join(base.get(name, {}), given) for name, given in sections.items()}
    return small_case(folder, **(base | joined))


def measured(case: airshed.Case, initial: xr.Dataset | None = None, **place: Any) -> float:
    """Return the mixing ratio at the receptor at the end of a plain run [mol/mol]."""
    with airshed.Simulation(case, initial=initial) as simulation:
        simulation.run()
        at = {"lon": RECEPTOR["lon"], "lat": RECEPTOR["lat"], "level": 0.0, **place}
        return float(simulation["O3"].sel(at, method="nearest"))


def hashes(found: xr.Dataset) -> dict[str, str]:
    """Return hashes of the bits of all variables."""
    return {str(name): blake2b(each.values.tobytes()).hexdigest() for name, each in found.variables.items()}


def run_with_rates() -> None:
    """Run the case as a function of rates, forward and backward, so that its kernels are compiled."""
    with TemporaryDirectory() as folder, closing(changed_rates(Path(folder))) as run:
        run.vjp({}, {"O3": np.ones(run.shapes["O3"])})


def changed_rates(folder: Path) -> RunFunction:
    """Return the run as a function of rates."""
    return RunFunction(small(folder), {"O3": "1 h"}, {"rates": FASTER})
