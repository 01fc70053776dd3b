"""Nesting in one direction: an inner run with the boundary and the initial state of an outer run."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from tests.laws.cases import small_case

import airshed
from airshed.core.errors import AirshedError

SPECIES = ("O3", "NO2", "NO", "VOC")
WIND = {"rotation": None, "eastward": "6 m/s", "northward": "-2 m/s"}
VALUES = {"O3": "40 ppb", "NO2": "2 ppb", "VOC": "0 ppb"}
OUTER: dict[str, Any] = {
    "meteorology": WIND, "grid": {"area": {"lon": [-30.0, -22.0], "lat": [38.0, 44.0]}}, "initial": {"values": VALUES},
    "boundary": {"values": {**VALUES, "O3": "50 ppb"}},
}  # fmt: skip
INNER: dict[str, Any] = {"meteorology": WIND, "grid": {"area": {"lon": [-29.5, -24.0], "lat": [39.5, 42.5]}}}
"""The chimney and the front of the outer boundary are in both areas."""


@pytest.fixture(scope="module")
def outer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the outer case with a record of all species every five minutes, and return its folder."""
    folder = tmp_path_factory.mktemp("outer")
    output = [{"every": "5 min", "fields": "all"}]
    run(small_case(folder, **OUTER, time={"length": "2 h"}, output=output), folder / "run")
    return folder / "run"


def run(case: airshed.Case, folder: Path | None = None) -> dict[str, Any]:
    with airshed.Simulation(case, output=folder) as simulation:
        simulation.run()
        return {name: simulation[name].to_numpy() for name in SPECIES}


def inner(folder: Path, outer: Path, **sections: Any) -> airshed.Case:
    nested = {"boundary": {"run": str(outer)}, "initial": {"run": str(outer)}} | INNER
    joined = {name: {**nested.get(name, {}), **sections.get(name, {})} for name in {*nested, *sections} - {"output"}}
    return small_case(folder, **{"time": {"length": "2 h"}, "output": [], **joined})


def smooth(case: airshed.Case) -> xr.Dataset:
    """Return a tracer that varies by a fifth over the outer area, and with height."""
    grid = case.make_grid()
    wave = 1.0 + 0.1 * np.sin(np.radians(45.0 * (grid.lon + 30.0))) * np.cos(np.radians(30.0 * (grid.lat - 38.0)))
    return xr.Dataset({"TRACER": (("level", "lat", "lon"), 1e-9 * wave * np.array([1.0, 0.9, 0.8])[:, None, None])})


@pytest.mark.compiles
def test_a_nest_with_the_spacing_of_the_outer_run_reproduces_it(tmp_path: Path) -> None:
    """Three cells from the edge; the control has another concentration at its faces."""
    common: dict[str, Any] = {
        "time": {"start": "2022-06-21T09:30:00Z", "length": "3 h", "step": "5 min"},
        "chemistry": {"mechanism": "tracer"}, "boundary": {"values": {"TRACER": "0.9 ppb"}},
        "meteorology": {"kind": "uniform", "eastward": "10 m/s", "northward": "-4 m/s", "diffusivity": "5 m2/s"},
        "deposition": {"scheme": "none"},
    }  # fmt: skip
    layers = {"spacing": "0.5 deg", "layers": ["50 m", "200 m", "1000 m"]}
    large = {"area": {"lon": [-30.0, -20.0], "lat": [36.0, 46.0]}, **layers}
    small = {"area": {"lon": [-27.0, -23.0], "lat": [39.0, 43.0]}, **layers}
    outer = airshed.Case.from_dict({**common, "grid": large, "output": [{"every": "30 min"}]})
    with airshed.Simulation(outer, initial=smooth(outer), output=tmp_path / "outer") as simulation:
        simulation.run()
        expected = simulation["TRACER"].sel(lat=slice(39.0, 43.0), lon=slice(-27.0, -23.0)).to_numpy()
    distances = {}
    for name, boundary in (("nest", {"run": str(tmp_path / "outer")}), ("control", {"values": {"TRACER": "0.9 ppb"}})):
        nest = {
            **common,
            "grid": small,
            "output": [],
            "initial": {"run": str(tmp_path / "outer")},
            "boundary": boundary,
        }
        with airshed.Simulation(airshed.Case.from_dict(nest)) as simulation:
            simulation.run()
            away = np.abs(simulation["TRACER"].to_numpy() - expected) / expected.max()
            distances[name] = float(away[:, 3:-3, 3:-3].max()), float(away.max())
    assert distances["nest"][0] < 1e-3
    assert distances["nest"][1] < 5e-3  # at the faces transport is of first order
    assert distances["control"][0] > 1e-2


@pytest.mark.compiles
def test_a_finer_nest_keeps_a_uniform_species(tmp_path: Path) -> None:
    uniform = {"values": {"O3": "40 ppb", "VOC": "0 ppb"}}
    quiet: dict[str, Any] = {
        "chemistry": {"mechanism": "small.kpp"}, "emissions": {"point": []}, "deposition": {"velocities": {}},
        "boundary": uniform, "initial": uniform, "process": [],
    }  # fmt: skip
    coarse = small_case(tmp_path, **quiet, time={"length": "1 h"}, output=[{"every": "10 min", "fields": "all"}])
    run(coarse, tmp_path / "coarse")
    nested = {"run": str(tmp_path / "coarse")}
    fine = small_case(
        tmp_path, **{**quiet, "boundary": nested, "initial": nested}, time={"length": "30 min"}, output=[],
        grid={"area": {"lon": [-29.5, -26.0], "lat": [40.5, 41.5]}, "spacing": "0.25 deg"},
    )  # fmt: skip
    found, expected = run(fine), run(coarse)
    assert found["O3"].max() <= expected["O3"].max() * (1.0 + 1e-3)
    assert found["O3"].min() >= expected["O3"].min() * (1.0 - 1e-3)


def test_a_nest_on_a_map_projection_lies_between_the_values_around_it(tmp_path: Path, outer: Path) -> None:
    grid = {
        "projection": {"kind": "lambert", "lon": -27.75, "lat": 41.0}, "area": {"x": ["-80 km", "80 km"],
        "y": ["-40 km", "40 km"]}, "spacing": "20 km", "layers": ["50 m", "200 m", "1000 m"],
    }  # fmt: skip
    case = inner(tmp_path, outer).to_dict()
    case = airshed.Case.from_dict({**case, "grid": grid, "emissions": {}}, base=tmp_path).allowing_code()
    with airshed.Simulation(case) as simulation, airshed.open_run(outer) as results:
        start = results["O3"].isel(time=0)
        assert (
            float(start.min()) <= float(simulation["O3"].min()) <= float(simulation["O3"].max()) <= float(start.max())
        )


@pytest.mark.parametrize(
    ("sections", "reason"),
    [
        ({"time": {"length": "4 h"}}, "boundary.run = .* has output from 2022-06-21T09:30:00 to .*the case needs"),
        ({"grid": {"area": {"lon": [-30.0, -26.0], "lat": [39.5, 42.5]}}}, "lies outside the outer grid"),
        ({"boundary": {"run": "nowhere"}}, "there is no run or file"),
        ({"parallel": {"groups": {"transport": 1, "chemistry": 1}}, "chemistry": {"integrator": "strang"}}, "groups"),
    ],
)
def test_an_impossible_nest_is_refused(tmp_path: Path, outer: Path, sections: dict[str, Any], reason: str) -> None:
    with pytest.raises(AirshedError, match=reason):
        airshed.Simulation(inner(tmp_path, outer, **sections))


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ({"fields": ["air_temperature"]}, "its output has no species of the mechanism"),
        ({"fields": "all", "levels": "ground"}, "lacks layers"),
        ({"fields": "all", "statistic": "mean"}, "is a mean over time"),
    ],
)
def test_an_output_that_cannot_feed_a_nest_is_refused(tmp_path: Path, output: dict[str, Any], reason: str) -> None:
    case = small_case(tmp_path, time={"length": "10 min"}, output=[{"every": "5 min", **output}])
    run(case, tmp_path / "run")
    with pytest.raises(AirshedError, match=reason):
        airshed.Simulation(inner(tmp_path, tmp_path / "run", time={"length": "5 min"}))
