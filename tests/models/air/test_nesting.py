"""One-way nesting: an inner run with the boundary and the initial state of an outer run."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
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


def largest_distance(found: dict[str, Any], outer: Path) -> float:
    """Return the largest difference from the outer run two cells inside of the edge, relative to the maximum."""
    with airshed.open_run(outer) as results:
        last = results.isel(time=-1).sel(lat=slice(39.5, 42.5), lon=slice(-29.5, -24.0))
        inside = (slice(None), slice(2, -2), slice(2, -2))
        return max(
            float(np.abs(found[name] - last[name].to_numpy())[inside].max() / float(last[name].max()))
            for name in ("O3", "NO2", "NO")
        )


def test_a_nest_with_the_spacing_of_the_outer_run_reproduces_it(tmp_path: Path, outer: Path) -> None:
    """The edge of the area has one boundary value per face, where the outer run has two cells: 5e-3 at a front of 20 %."""
    assert largest_distance(run(inner(tmp_path, outer)), outer) < 1e-2


def test_a_nest_without_its_boundary_is_seen(tmp_path: Path, outer: Path) -> None:
    """Negative control: only the initial state is that of the outer run."""
    assert largest_distance(run(inner(tmp_path, outer, boundary={"run": None})), outer) > 5e-2


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
