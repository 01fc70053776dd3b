"""Processes of the package in whole runs: hand-computed results, conservation, budgets, and bitwise reproducibility."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from tests.models.air.processes.together import together, write_files

import airshed
from airshed.core.errors import CaseError, DataError
from airshed.models.air.fields_document import fields_document
from airshed.models.air.processes.settling import settling_velocity

ROWS, COLUMNS = 5, 9
HOUR = 3600.0
TOPS = (100.0, 300.0, 800.0, 2000.0)
BASE: dict[str, Any] = {
    "grid": {"area": {"lon": [5.0, 9.5], "lat": [49.0, 51.5]}, "spacing": "0.5 deg",
             "layers": [f"{top:g} m" for top in TOPS]},
    "time": {"start": "2022-06-21T06:00:00Z", "length": "1 h", "step": "2 min"},
    "chemistry": {"mechanism": "tracer"},
    "meteorology": {"kind": "uniform", "pressure": "1000 hPa", "temperature": "288 K"},
    "deposition": {"scheme": "none"},
    "boundary": {"values": {"TRACER": "1 ppb", "TRACER2": "1 ppb"}},
    "initial": {"values": {"TRACER": "1 ppb", "TRACER2": "1 ppb"}},
    "run": {"threads": 1},
}  # fmt: skip
GRID = {"area": BASE["grid"]["area"]}
"""Changes of the grid of `together`, whose layers are three."""

EVERYTHING = {
    "particles": {"diameters": {"TRACER": "20 um"}},
    "wet_deposition": {"coefficients": {"TRACER": "1e-4 1/s", "TRACER2": "1e-5 1/s"}},
    "horizontal_diffusion": {"diffusivity": "smagorinsky"},
    "meteorology": {"precipitation": "1 mm/h", "eastward": "5 m/s", "rotation": "20 h", "diffusivity": "5 m2/s"},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_files(tmp_path)
    return tmp_path


def case(**sections: Any) -> airshed.Case:
    return airshed.Case.from_dict({key: {**BASE.get(key, {}), **sections.get(key, {})} for key in {**BASE, **sections}})


def plume(*names: str) -> xr.Dataset:
    """Return mixing ratios that are 0 outside one column, for the named species or for TRACER and TRACER2."""
    values = np.zeros((3 if names else len(TOPS), ROWS, COLUMNS))
    values[:, 2, 4] = 1e-9
    return xr.Dataset(dict.fromkeys(names or ("TRACER", "TRACER2"), (("level", "lat", "lon"), values)))


def closes(simulation: airshed.Simulation, *terms: str) -> None:
    budget = simulation.budget()
    assert (np.abs(budget["residual"]) <= 1e-13 * budget["throughput"]).all()
    for term in terms:
        assert (budget[term].sel(species="TRACER") > 0.0).all(), term


@pytest.mark.thorough
@pytest.mark.compiles
@pytest.mark.parametrize("integrator", ["imex", "strang"])
def test_all_of_them_together_close_their_budgets(integrator: str) -> None:
    with airshed.Simulation(case(**EVERYTHING, chemistry={"integrator": integrator})) as simulation:
        simulation.run()
        closes(simulation, "settled", "washed")
        assert (simulation.budget()["clipped"] == 0.0).all()
        assert float(simulation.budget()["settled"].sel(species="TRACER2")) == 0.0


@pytest.mark.thorough
@pytest.mark.compiles
def test_a_coefficient_is_the_rate_of_an_exponential() -> None:
    rain = {"precipitation": "1 mm/h"}
    deposition = {"coefficients": {"TRACER": "1e-4 1/s"}, "precipitation_top": "30 km"}
    with airshed.Simulation(case(meteorology=rain, wet_deposition=deposition)) as simulation:
        simulation.run()
        np.testing.assert_allclose(simulation["TRACER"].values, 1e-9 * np.exp(-0.36), rtol=3e-4)
        np.testing.assert_allclose(simulation["TRACER2"].values, 1e-9, rtol=1e-13)


@pytest.mark.thorough
@pytest.mark.compiles
def test_what_settles_leaves_the_highest_layer_at_its_speed() -> None:
    """The highest layer has no inflow from above and loses v/dz; material that reaches the ground leaves the air."""
    with airshed.Simulation(case(particles={"diameters": {"TRACER": "30 um"}})) as simulation:
        met = simulation.model.weather()
        size, weight = np.array(30e-6), np.array(1000.0)
        speed = settling_velocity(size, weight, met.temperature[-1], met.pressure[-1])
        before = simulation.model.amounts()[0]
        simulation.run()
        expected = 1e-9 * np.exp(-HOUR * speed / (TOPS[-1] - TOPS[-2]))
        np.testing.assert_allclose(simulation["TRACER"].values[-1], expected, rtol=1e-4)
        settled = float(simulation.budget()["settled"].sel(species="TRACER"))
        assert settled == pytest.approx(before - simulation.model.amounts()[0], rel=1e-12)
        assert settled > 0.0


@pytest.mark.compiles
def test_diffusion_spreads_and_conserves(folder: Path) -> None:
    """Variance grows by 2 K t in each direction, and no amount is lost."""
    with airshed.Simulation(together(folder, grid=GRID), initial=plume("HD")) as simulation:
        before = simulation.model.amounts()[-1]
        simulation.run()
        q, grid = simulation["HD"].values[0], simulation.model.grid
        x = np.radians(grid.x - grid.x[4]) * 6.371e6 * np.cos(np.radians(grid.y[2]))
        assert simulation.model.amounts()[-1] == pytest.approx(before, rel=1e-13)
        row = q[2] / q[2].sum()
        assert row @ x**2 == pytest.approx(2.0 * 1e5 * HOUR, rel=0.05)


def mass_flux(seconds: float = 0.0) -> xr.Dataset:
    faces = np.array([0.0, 0.02, 0.03, 0.02, 0.0])
    return xr.Dataset({
        "eastward_wind": ("level", np.zeros(len(TOPS))), "northward_wind": ("level", np.zeros(len(TOPS))),
        "air_temperature": ("level", np.full(len(TOPS), 288.0)),
        "air_pressure": ("level", np.array([9.9e4, 9.7e4, 9.3e4, 8.5e4])),
        "specific_humidity": ("level", np.zeros(len(TOPS))),
        "atmosphere_heat_diffusivity": ("level", np.zeros(len(TOPS))),
        "atmosphere_updraft_convective_mass_flux": ("level_face", faces),
    })  # fmt: skip


@pytest.mark.compiles
def test_convection_lifts_and_conserves() -> None:
    ground = plume() * np.array([1.0, 0.0, 0.0, 0.0])[:, None, None]
    waiting = case(convection={"mass_flux": True}, meteorology={"kind": "given"})
    with airshed.Simulation(waiting, meteorology=mass_flux, initial=ground) as simulation:
        before = simulation.model.amounts()[0]
        simulation.run()
        assert simulation.model.amounts()[0] == pytest.approx(before, rel=1e-13)
        column = simulation["TRACER"].values[:, 2, 4]
        assert column[-1] > column[1] > 0.0, "the highest layer has more than the layers that the updraught passes"


@pytest.mark.compiles
def test_convection_without_its_fluxes_is_told() -> None:
    with pytest.raises(DataError, match=r"convection.mass_flux needs updraught_mass_flux \[kg m-2 s-1\]"):
        airshed.Simulation(case(convection={"mass_flux": True}))


@pytest.mark.compiles
def test_a_uniform_mixing_ratio_stays_under_what_conserves(folder: Path) -> None:
    chosen = {"horizontal_diffusion": {"diffusivity": "smagorinsky"},
              "meteorology": {"eastward": "8 m/s", "rotation": "15 h", "diffusivity": "5 m2/s"}}  # fmt: skip
    with airshed.Simulation(together(folder, grid=GRID, **chosen)) as simulation:
        simulation.run()
        np.testing.assert_allclose(simulation["HD"].values, 1e-9, rtol=1e-13)


@pytest.mark.compiles
def test_the_strongest_diffusion_shortens_the_step(folder: Path) -> None:
    chosen = {"time": {"step": "auto"}, "horizontal_diffusion": {"diffusivity": "1e6 m2/s"}}
    with airshed.Simulation(together(folder, grid=GRID, **chosen), initial=plume("HD")) as simulation:
        simulation.run()
        closes(simulation)
        assert simulation.model.steps > 12, "five minutes are the longest step of a case without"
        assert simulation["HD"].values.min() >= 0.0


def test_a_species_that_is_not_there_is_refused() -> None:
    with pytest.raises(CaseError, match=r"particles.diameters: 'DUST' is not a species of tracer"):
        airshed.Simulation(case(particles={"diameters": {"DUST": "10 um"}}))


def test_the_page_of_fields_is_made_of_the_declarations() -> None:
    page = Path(__file__).parents[4] / "docs" / "reference" / "fields.md"
    assert fields_document() == page.read_text(encoding="utf-8")
    assert "| wet_deposition | `washed` | `loss` | all | washed |" in fields_document()


def test_a_density_without_a_diameter_is_refused() -> None:
    some = {"diameters": {"TRACER": "20 um"}, "densities": {"TRACER2": "2000 kg/m3"}}
    with pytest.raises(CaseError, match=r"particles.diameters has no value for TRACER2, which other tables name"):
        airshed.Simulation(airshed.Case.from_dict(BASE | {"particles": some}))
