"""The schemes whose derivatives are verified, and recorded runs of a few steps by each of them."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import xarray as xr
from tests.laws.cases import small_case

import airshed
from airshed.inverse import Direction
from airshed.inverse.reverse.direction import BOUNDARY, EMISSION, FIELD, INITIAL, NUMBER, RATES, TOP
from airshed.inverse.verify.derivative_tests import Taylor, dot_products, remainders
from airshed.inverse.verify.recording import RecordedRun, random_cost, random_direction, record_case
from airshed.inverse.verify.replay import Replay
from airshed.models.air.boundary.field import face_cells

Sections = Mapping[str, Mapping[str, Any]]

STRANG = {"integrator": "strang"}
APART = {"vertical": "with chemistry"}
CONCURRENT: dict[str, Any] = {"integrator": "concurrent"}
SINGLE = {"precision": "single"}

SCHEMES: Mapping[str, Sections] = {
    "imex": {},
    "ros2": {"chemistry": {**STRANG, "solver": "ros2"}},
    "ros3": {"chemistry": {**STRANG, "solver": "ros3"}},
    "rodas3": {"chemistry": {**STRANG, "solver": "rodas3"}},
    "rodas4": {"chemistry": {**STRANG, "solver": "rodas4"}},
    "concurrent": {"chemistry": CONCURRENT},
    "lie": {"chemistry": {"integrator": "lie"}},
    "symmetric": {"chemistry": {"integrator": "symmetric"}},
}
"""Settings of schemes in double precision that share the libraries of the catalogue."""

OTHER_SCHEMES: Mapping[str, Sections] = {
    "split columns": {"chemistry": STRANG, "transport": APART},
    "concurrent, split columns": {"chemistry": CONCURRENT, "transport": APART},
    "symmetric, split columns": {"chemistry": {"integrator": "symmetric"}, "transport": APART},
    "imex, single": {"chemistry": SINGLE},
    "strang, single": {"chemistry": {**STRANG, **SINGLE}},
    "split columns, single": {"chemistry": {**STRANG, **SINGLE}, "transport": APART},
}
"""Settings of schemes with libraries of their own."""

STEPS = 5
TIME = {"start": "2022-06-21T09:45:00Z", "length": "1 h", "step": "5 min"}
"""The emission changes after three steps, at the full hour, and the weather too."""

REMAINDERS = (1e-2, 1e-3, 1e-4)
"""Sizes of changes in Taylor tests."""

DIFFERENCES = (1e-3, 1e-4, 1e-5)
"""Sizes of changes in central differences."""

TYPICAL = {"O3": 40e-9, "NO": 1e-9, "NO2": 3e-9, "VOC": 8e-9, "RO2": 1e-11, "HNO3": 1e-9}
"""Mixing ratios of the species [mol/mol]."""


def uneven(case: airshed.Case) -> xr.Dataset:
    """Return irregular mixing ratios, since uniform ones lie where limiters are not differentiable."""
    random, shape = np.random.default_rng(3), case.make_grid().shape
    axes = "level", "lat", "lon"
    return xr.Dataset({name: (axes, each * random.uniform(0.5, 1.5, shape)) for name, each in TYPICAL.items()})


def uneven_boundary(case: airshed.Case, times: Sequence[float]) -> xr.Dataset:
    """Return irregular boundary concentrations that differ from face cell to face cell and in time [s]."""
    random, grid = np.random.default_rng(4), case.make_grid()
    axes, cells = ("time", "level", "face"), face_cells(grid)
    shape = len(times), grid.shape[0], cells.sizes["face"]
    ratios = {name: (axes, each * random.uniform(0.5, 1.5, shape)) for name, each in TYPICAL.items()}
    return cells.assign(ratios).assign_coords(time=list(times))


def changing_weather() -> xr.Dataset:
    """Return a wind that diverges, so that air sinks, with a change after a quarter of an hour."""
    time = {"time": [0.0, 900.0, 7200.0]}
    wind = xr.DataArray([[2.0, 8.0], [3.0, 12.0], [3.0, 9.0]], {**time, "lon": [-30.0, -25.5]}, ("time", "lon"))
    return xr.Dataset({
        "eastward_wind": wind, "northward_wind": xr.DataArray([2.0, 3.0, 3.0], time, ("time",)),
        "air_temperature": xr.DataArray([285.0, 282.0, 284.0], time, ("time",)),
        "atmosphere_heat_diffusivity": xr.DataArray([5.0, 20.0, 10.0], time, ("time",)),
        "precipitation_flux": xr.DataArray(1.0 / 3600.0),
    })  # fmt: skip


def record(
    folder: Path, sections: Sections = SCHEMES["imex"], *, steps: int = STEPS, weather: xr.Dataset | None = None,
    **more: Any,
) -> RecordedRun:  # fmt: skip
    """Return the first steps of the small case by a scheme.

    sections, more  of the case
    weather         the changing one without it
    """
    weather = changing_weather() if weather is None else weather
    case = small_case(folder, **{"time": TIME, **sections, **more})
    return record_case(case, steps=steps, meteorology=weather, initial=uneven(case))[0]


def replay_of(run: RecordedRun) -> Replay:
    """Return a replay of a run, with a cost to which all species at the end contribute."""
    return Replay(run, random_cost(run, 1))


def direction_of(run: RecordedRun, seed: int = 0) -> Direction:
    """Return changes of all inputs; those of rates are the same for all runs, since each compiles a kernel."""
    direction = random_direction(run, seed)
    return replace(direction, rates=np.linspace(-1.0, 1.0, len(run.network.reactions)))


def kinds_of(run: RecordedRun) -> set[str]:
    """Return all kinds of inputs of a run."""
    plain = {INITIAL, EMISSION, BOUNDARY, TOP, RATES}
    return plain | {(NUMBER if each.shape is None else FIELD) + name for name, each in run.members.items()}


def remainders_in_some_direction(replay: Replay, kind: str, sizes: Sequence[float]) -> Taylor:
    """Return remainders of second order in one of three directions, which crosses few limiters, or the last ones.

    A wrong derivative leaves remainders of first order in each direction.
    """
    for seed in range(3):
        found = remainders(replay, kind, direction_of(replay.recording, seed).only(kind), sizes)
        if found.ok and found.order > 1.9:
            break
    return found


def wrong_kinds(run: RecordedRun) -> set[str]:
    """Return the kinds of inputs whose dot products fail."""
    found = dot_products(run)
    return {kind for kind, error in found.errors.items() if not error <= found.limit}


def run_all(scheme: str) -> None:
    """Make steps of a scheme by each of its kernels, so that they are compiled."""
    with TemporaryDirectory() as folder:
        run = record(Path(folder), SCHEMES[scheme], steps=1)
        dot_products(run)
        with closing(replay_of(run)) as replay:
            replay.value(direction_of(run).only(RATES), 1e-3)
