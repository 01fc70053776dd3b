"""Shipped cases run from a clone: the winter day, ash that falls and is washed out, and a town under a thunderstorm."""

import numpy as np
import pytest

import airshed
from airshed.models.air.assembly import assemble
from airshed.models.air.case.estimate import idle_settings

ZURICH = ["grid.area.lon=[7, 9]", "grid.area.lat=[46, 48]", "time.spinup=0 h", "run.threads=1"]


@pytest.mark.standard
def test_two_hours_around_zurich() -> None:
    case = airshed.load_case("west-europe-winter", ZURICH)
    assert idle_settings(case) == []
    with airshed.Simulation(case) as simulation:
        simulation.run(until="2 h")
        nitrogen_dioxide, ozone = (simulation[name].values for name in ("NO2", "O3"))
        origin = simulation.model.parts.meteorology.provenance
    assert 5e-9 < nitrogen_dioxide[0].max() < 100e-9
    assert np.all(nitrogen_dioxide >= 0.0)
    assert 25e-9 < np.median(ozone[4:10]) < 55e-9
    assert origin["eastward wind at 10 m"].startswith("read")
    assert origin["temperature"].startswith("diagnosed")


def test_cologne_is_a_nest_within_west_europe() -> None:
    """It has the layers and the period of its outer case, and lies two outer cells within it."""
    nest, outer = (airshed.load_case(name) for name in ("cologne", "west-europe"))
    assert nest.path(nest.boundary.run).resolve() == outer.base.resolve()
    inner, around = nest.make_grid(), outer.make_grid()
    assert inner.level.tolist() == around.level.tolist()
    assert nest.start == outer.start
    assert nest.time.length.value == outer.time.length.value
    for axis in ("x_faces", "y_faces"):
        (first, *_, last), (start, *_, end) = getattr(inner, axis), getattr(around, axis)
        assert start + 0.5 <= first < last <= end - 0.5
    assert nest.emissions.inventory == "../west-europe/emissions"


@pytest.mark.standard
def test_ash_falls_by_its_size_and_is_washed_out() -> None:
    with airshed.Simulation(airshed.load_case("ash", ["grid.spacing=1 deg", "run.threads=1"])) as simulation:
        simulation.run(until="12 h")
        budget = simulation.budget()
        exchanged = simulation.model.forcing.instant(6).fields["horizontal_diffusion_west_air"]
    settled, washed, emitted = (budget[name] / budget["emitted"] for name in ("settled", "washed", "emitted"))
    fine, medium, coarse = settled.values
    assert 0.02 < coarse < 0.5
    assert fine < 1e-3 * medium < 1e-3 * coarse
    assert washed.values[2] > 0.3
    assert emitted.values.tolist() == [1.0, 1.0, 1.0]
    assert budget["deposited"].values[0] > 0.0 == budget["deposited"].values[1:].max()
    assert np.all(np.abs(budget["residual"]) < 1e-12 * budget["throughput"])
    assert exchanged.max() > 0.0


def test_a_thunderstorm_carries_air_from_below_its_base_to_its_top() -> None:
    parts = assemble(airshed.load_case("thunderstorm"))
    met = parts.meteorology.at(0.0)
    fields = parts.processes.at(met, 0.0, parts.meteorology.at)
    brought, washed = fields["convection_brought"], fields["wet_deposition_rate"]
    top = int(np.searchsorted(parts.grid.layer_faces, 10_000.0)) - 1
    to_layers = np.asarray(brought).reshape(top + 2, top + 2, *parts.grid.shape[1:])
    assert to_layers[top, 0].min() > 0.0
    assert not to_layers[top + 1].any(), "nothing rises above the top of the cloud"
    assert washed.max() > 1e-3
    still = assemble(airshed.load_case("thunderstorm", ["convection.mass_flux=false"]))
    assert "convection" not in {each.process.section for each in still.processes}


@pytest.mark.thorough
def test_a_thunderstorm_lifts_and_washes_the_air_of_a_town() -> None:
    aloft = {}
    for lifts in ("true", "false"):
        with airshed.Simulation(airshed.load_case("thunderstorm", [f"convection.mass_flux={lifts}"])) as simulation:
            simulation.run()
            budget = simulation.budget().sel(species=["HNO3", "SO2", "CO"])
            aloft[lifts] = {name: simulation[name].values[16].mean() for name in ("SO2", "CO")}
        assert np.all(budget["washed"][:2] > 0.3 * budget["throughput"][:2] / 2.0)
        assert budget["washed"][2] == 0.0
    assert aloft["true"]["SO2"] > 3.0 * aloft["false"]["SO2"]
    assert aloft["true"]["CO"] > 1.05 * aloft["false"]["CO"]
