"""Receptor in Prague in a part of its case: sensitivities to emission and air aloft compared with perturbed runs."""

import pytest
import xarray as xr

import airshed
from airshed.inverse import sensitivity

pytestmark = [pytest.mark.thorough, pytest.mark.compiles]

SMALL = [
    "grid.area={lon=[12, 17], lat=[48.5, 51.5]}", "time.length=2 h", "time.start=2026-03-28T10:00:00Z",
    'receptor.time="2 h"', "receptor.fields=[]", "emissions.biogenic=false", "run.threads=1",
]  # fmt: skip
BEFORE = [*SMALL, "time.start=2026-03-28T07:00:00Z", "time.length=3 h"]
ALOFT = 9


@pytest.fixture(scope="module")
def first() -> xr.Dataset:
    """Return the air after three hours: limiters are not differentiable for the uniform boundary profile."""
    with airshed.Simulation(airshed.load_case("prague", BEFORE)) as simulation:
        simulation.run()
        return xr.Dataset({name: simulation[name] for name in simulation.model.network.names})


def measured(initial: xr.Dataset, *settings: str) -> float:
    """Return ozone in Prague after two hours [mol/mol]."""
    with airshed.Simulation(airshed.load_case("prague", [*SMALL, *settings]), initial=initial) as simulation:
        simulation.run()
        return float(simulation["O3"].sel(lon=14.42, lat=50.088, level=0.0, method="nearest"))


def slope(near: float, far: float, size: float) -> float:
    """Return the derivative from perturbations of +- size and +- 2 size, of fourth order."""
    return (8.0 * near - far) / (12.0 * size)


@pytest.fixture(scope="module")
def found(first: xr.Dataset) -> xr.Dataset:
    return sensitivity(airshed.load_case("prague", SMALL), initial=first)


@pytest.mark.parametrize("key", ["NOx", "CZ/F_RoadTransport/NOx"])
def test_other_emission_confirms_its_contribution(first: xr.Dataset, found: xr.Dataset, key: str) -> None:
    def by(size: float) -> float:
        ends = [measured(first, f'emissions.scale={{"{key}"={1.0 + part!r}}}') for part in (size, -size)]
        return ends[0] - ends[1]

    names = set(key.split("/"))
    rows = zip(found.source_country.values, found.source_sector.values, found.source_species.values, strict=True)
    mine = [names <= {str(each) for each in row} for row in rows]
    assert float(found.contribution.values[mine].sum()) == pytest.approx(slope(by(0.02), by(0.04), 0.02), rel=1e-5)


@pytest.mark.parametrize("species", ["NO2", "O3"])
def test_other_air_aloft_confirms_its_sensitivity(first: xr.Dataset, found: xr.Dataset, species: str) -> None:
    def by(size: float) -> float:
        ends = []
        for part in (size, -size):
            changed = first.copy(deep=True)
            changed[species][ALOFT] *= 1.0 + part
            ends.append(measured(changed))
        return ends[0] - ends[1]

    worth = float((found.initial.sel(species=species)[ALOFT] * first[species][ALOFT].values).sum())
    assert worth == pytest.approx(slope(by(1e-4), by(2e-4), 1e-4), rel=1e-4)
