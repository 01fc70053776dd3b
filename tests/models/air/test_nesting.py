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


def passive(area: list[float], spacing: str = "0.5 deg", **sections: Any) -> airshed.Case:
    """Return three hours of a passive tracer in a steady wind over an area [west, east, south, north]."""
    data = airshed.load_case("tracer-rotation").to_dict()
    grid = {**data["grid"], "area": {"lon": area[:2], "lat": area[2:]}, "spacing": spacing}
    wind = {"rotation": None, "eastward": "10 m/s", "northward": "-4 m/s"}
    changed = {
        "grid": grid, "emissions": {}, "time": {**data["time"], "length": "3 h", "step": "5 min"}, "output": [],
        "meteorology": {name: value for name, value in {**data["meteorology"], **wind}.items() if value is not None},
        "boundary": {"values": {"TRACER": "0.9 ppb"}},
    }  # fmt: skip
    return airshed.Case.from_dict({**data, **changed, **sections})


def smooth(case: airshed.Case) -> xr.Dataset:
    """Return a tracer that varies by a fifth over the outer area, and with height."""
    grid = case.make_grid()
    wave = 1.0 + 0.1 * np.sin(np.radians(45.0 * (grid.lon + 30.0))) * np.cos(np.radians(30.0 * (grid.lat - 38.0)))
    heights = np.array([1.0, 0.95, 0.9, 0.8])[:, None, None]
    return xr.Dataset({"TRACER": (("level", "lat", "lon"), 1e-9 * wave * heights)})


def test_a_nest_with_the_spacing_of_the_outer_run_reproduces_it(tmp_path: Path) -> None:
    """The outer run has a record at each second step; the control has another concentration at its faces."""
    outer = passive([-30.0, -20.0, 36.0, 46.0], output=[{"every": "10 min"}])
    with airshed.Simulation(outer, initial=smooth(outer), output=tmp_path / "outer") as simulation:
        simulation.run()
        expected = simulation["TRACER"].sel(lat=slice(39.0, 43.0), lon=slice(-27.0, -23.0)).to_numpy()
    run = {"run": str(tmp_path / "outer")}
    found, distances = {}, {}
    for name, boundary, spacing in (
        ("nest", run, "0.5 deg"), ("control", {"values": {"TRACER": "0.9 ppb"}}, "0.5 deg"), ("finer", run, "0.25 deg"),
    ):  # fmt: skip
        inner = passive([-27.0, -23.0, 39.0, 43.0], spacing, initial=run, boundary=boundary)
        with airshed.Simulation(inner) as simulation:
            simulation.run()
            found[name] = simulation["TRACER"].to_numpy()
    for name in ("nest", "control"):
        away = np.abs(found[name] - expected) / expected.max()
        distances[name] = float(away.max())
    assert distances["nest"] < 1e-4
    assert distances["control"] > 1e-2
    assert found["finer"].mean() == pytest.approx(expected.mean(), rel=1e-3)


def amount(simulation: airshed.Simulation, window: dict[str, slice] | None = None) -> float:
    """Return the amount of the tracer [mol], also of a part of the area."""
    volume = xr.DataArray(simulation.model.grid.cell_volume, simulation["TRACER"].coords, simulation["TRACER"].dims)
    return float((simulation["TRACER"] * simulation["air_density"] * volume).sel(window or {}).sum())


@pytest.mark.parametrize("spacing", ["0.5 deg", "0.25 deg"])
def test_a_tracer_that_crosses_the_edge_of_a_nest_keeps_its_mass(tmp_path: Path, spacing: str) -> None:
    """A cloud enters through the west and leaves through the south; the control has clean air at its faces."""
    outer = passive([-30.0, -20.0, 36.0, 46.0], output=[{"every": "5 min"}], boundary={"values": {"TRACER": "0 ppb"}})
    grid = outer.make_grid()
    cloud = np.exp(-0.5 * (((grid.lon + 27.3) / 0.8) ** 2 + ((grid.lat - 41.0) / 0.8) ** 2))
    initial = xr.Dataset({"TRACER": (("lat", "lon"), 1e-9 * cloud)})
    window = {"lat": slice(39.0, 43.0), "lon": slice(-27.0, -23.0)}
    with airshed.Simulation(outer, initial=initial, output=tmp_path / "outer") as simulation:
        simulation.run()
        expected = amount(simulation, window)
    found, run = {}, {"run": str(tmp_path / "outer")}
    clean = {"values": {"TRACER": "0 ppb"}}
    for name, boundary in (("nest", run), ("control", clean)):
        inner = passive([-27.0, -23.0, 39.0, 43.0], spacing, initial=run, boundary={**boundary, "budget": "faces"})
        with airshed.Simulation(inner) as simulation:
            simulation.run()
            found[name] = amount(simulation)
            budget = simulation.budget().sel(species="TRACER")
        assert float(budget.residual) == pytest.approx(0.0, abs=1e-12 * float(budget.throughput))
        entered = budget.inflow_faces.where(budget.face_side == "west").sum()
        assert (float(entered) > 0.3 * float(budget.inflow)) == (name == "nest")
    assert found["nest"] == pytest.approx(expected, rel=1e-6 if spacing == "0.5 deg" else 1e-2)
    assert found["control"] < 0.9 * expected


def test_uniform_air_stays_uniform_in_a_nest_of_a_nest(tmp_path: Path) -> None:
    """Outer, nest and its nest, on two projections, of ever smaller cells."""
    uniform = {"values": {"TRACER": "0.7 ppb"}}
    every = {"output": [{"every": "30 min", "strategy": "files"}]}
    outer = passive([-30.0, -20.0, 36.0, 46.0], boundary=uniform, initial=uniform, **every)
    lambert = {
        "projection": {"kind": "lambert", "lon": -25.0, "lat": 41.0}, "area": {"x": ["-180 km", "180 km"],
        "y": ["-160 km", "160 km"]}, "spacing": "40 km", "layers": outer.to_dict()["grid"]["layers"],
    }  # fmt: skip
    runs = [{"run": str(tmp_path / name)} for name in ("outer", "first")]
    given = [{"boundary": {**uniform, **each}, "initial": each} for each in runs]
    middle = passive([-27.0, -23.0, 39.0, 43.0], grid=lambert, **given[0], **every)
    inmost = passive([-25.5, -24.5, 40.5, 41.5], "0.25 deg", **given[1], **every)
    for name, case in (("outer", outer), ("first", middle), ("second", inmost)):
        with airshed.Simulation(case, output=tmp_path / name) as simulation:
            simulation.run()
            assert np.ptp(simulation["TRACER"].to_numpy()) < 1e-7 * 0.7e-9  # results are in single precision


@pytest.mark.parametrize("output", [{"strategy": "files"}, {"strategy": "zarr"}, {"strategy": "mpiio"},
                                    {"compression": "zlib"}], ids=str)  # fmt: skip
def test_any_strategy_of_the_outer_run_feeds_a_nest_with_the_same_bits(
    tmp_path: Path, outer: Path, output: dict[str, Any]
) -> None:
    other = small_case(
        tmp_path, **OUTER, time={"length": "20 min"}, output=[{"every": "5 min", "fields": "all", **output}]
    )
    run(other, tmp_path / "other")
    found, expected = (run(inner(tmp_path, each, time={"length": "20 min"})) for each in (tmp_path / "other", outer))
    assert all(np.array_equal(found[name], expected[name]) for name in SPECIES)


def test_a_nest_follows_each_record_of_the_outer_run(tmp_path: Path, outer: Path) -> None:
    """The outer run has a record every five minutes, which is also the longest interval of the boundary."""
    with airshed.Simulation(inner(tmp_path, outer)) as simulation:
        assert simulation.model.forcing.boundary.field.times[:3] == (0.0, 300.0, 600.0)


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
