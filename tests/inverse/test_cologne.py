"""Receptor in Cologne with real winds: contributions of the inventory compared with runs with other emission."""

import pytest
import xarray as xr

import airshed
from airshed.inverse import sensitivity

pytestmark = [pytest.mark.thorough, pytest.mark.compiles]

SMALL = [
    "grid.area={lon=[5, 9], lat=[49.5, 52]}", 'grid.spacing="0.5 deg"', "time.length=1 h", "time.spinup=0 h",
    "emissions.biogenic=false", 'receptor.time="1 h"', "run.threads=1",
]  # fmt: skip


def measured(key: str, factor: float) -> float:
    """Return ozone in Cologne after an hour [mol/mol] with scaled emission of some sources."""
    case = airshed.load_case("west-europe", [*SMALL, f'emissions.scale={{"{key}"={factor!r}}}'])
    with airshed.Simulation(case) as simulation:
        simulation.run()
        return float(simulation["O3"].sel(lon=6.95, lat=50.933, level=0.0, method="nearest"))


@pytest.fixture(scope="module")
def found() -> xr.Dataset:
    return sensitivity(airshed.load_case("west-europe", SMALL))


@pytest.mark.parametrize("key", ["DE/F_RoadTransport/NOx", "NMVOC", "B_Industry"])
def test_other_strengths_of_a_source_confirm_its_contribution(found: xr.Dataset, key: str) -> None:
    names = set(key.split("/"))
    rows = zip(found.source_country.values, found.source_sector.values, found.source_species.values, strict=True)
    mine = [names <= {str(each) for each in row} for row in rows]
    near, far = (measured(key, 1.0 + step) - measured(key, 1.0 - step) for step in (0.02, 0.04))
    assert float(found.contribution.values[mine].sum()) == pytest.approx((8.0 * near - far) / 0.24, rel=1e-5)


def test_countries_and_sectors_add_up_to_the_total_emission(found: xr.Dataset) -> None:
    inventory = found.contribution.values[found.source.values == "inventory"]
    assert float(inventory.sum()) == pytest.approx(float(found.emission_contribution.sum()), rel=1e-9)
    assert {"DE", "BE", "NL", "FR", "LU"} >= set(found.source_country.values) - {""}
