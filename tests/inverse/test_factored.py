"""Factors on parts of an inventory, by sector, country and cell: each scales its part exactly."""

import numpy as np
import pytest
import xarray as xr

from airshed.core.errors import CaseError
from airshed.core.files import resource
from airshed.grid import Grid
from airshed.inverse.function.inputs import Factors, factored
from airshed.models.air.case.inverse import ControlSection
from airshed.models.air.emissions import (
    FieldSettings,
    GriddedContext,
    Inventory,
    InventorySettings,
    build_inventory,
    read_gridded,
)
from airshed.models.air.emissions.targets import Targets
from airshed.models.air.species_map import EmissionMap
from airshed.parallel.domain import Subdomain
from airshed.process.context import Source

START = np.datetime64("2022-08-31T00:00:00")
GRID = Grid.regular((4.0, 8.0), (49.0, 52.0), 1.0, [50.0, 200.0, 1000.0])
FOLDER = resource("cases/west-europe/emissions")
ALONE = Subdomain.of(*GRID.shape[1:], 4)
SPLIT = FOLDER / "species_split.csv"
ROAD = "F_RoadTransport"


def inventory(scale: dict[str, float] | None = None, *, apart: bool = True) -> Inventory:
    settings = InventorySettings(FOLDER, pollutants=("NOx", "CO"), scale=scale or {})
    return build_inventory(
        settings, GRID, START, ("NO", "NO2", "CO"), EmissionMap.same(("NO", "NO2", "CO")), apart=apart
    )


@pytest.fixture(scope="module")
def whole() -> Inventory:
    return inventory()


def control(**given: object) -> ControlSection:
    return ControlSection.model_validate({"name": "nox", "species": ["NO", "NO2"], **given})


def scaled(source: Source, controls: list[ControlSection], values: dict[str, object]) -> Source:
    factors = Factors(START, ALONE)
    factors.controls = {name: np.array(value, float) for name, value in values.items()}
    return factored([source], controls, factors)[0]


def test_separate_countries_have_the_same_total_emission(whole: Inventory) -> None:
    np.testing.assert_allclose(whole.rate(0.0), inventory(apart=False).rate(0.0), rtol=1e-13)
    assert {"DE", "BE", "NL", "LU", "FR"} <= set(whole.countries)
    with pytest.raises(ValueError, match="separately"):
        inventory(apart=False).selected(whole.sectors, ["DE"])


def test_factors_of_regions_and_sectors_are_those_of_a_scaled_inventory(whole: Inventory) -> None:
    regions = control(name="regions", resolution="region", regions=["DE", "BE"])
    road = control(name="road", species=["NO", "NO2", "CO"], resolution="domain", sectors=[ROAD], regions=["BE", "FR"])
    source = scaled(whole, [regions, road], {"regions": [[0.7, 1.5]], "road": [2.0]})
    scale = {"NOx/DE": 0.7, "NOx/BE": 1.5, f"BE/{ROAD}": 2.0, f"FR/{ROAD}": 2.0}
    expected = inventory(scale)
    assert source.species == expected.species
    for seconds in (0.0, 40000.0):
        np.testing.assert_allclose(source.rate(seconds), expected.rate(seconds), rtol=1e-12)


def test_a_factor_acts_in_its_part_of_the_day_and_its_cell(whole: Inventory) -> None:
    values = np.ones((4, *GRID.shape[1:]))
    values[1, 2, 3] = 3.0
    source, rows = scaled(whole, [control(parts_of_day=4)], {"nox": values}), [whole.species.index("NO")]
    for hour, factor in ((5, 1.0), (6, 3.0), (11, 3.0), (12, 1.0), (30, 3.0)):
        ratio = source.rate(hour * 3600.0 + 10.0)[rows] / np.maximum(whole.rate(hour * 3600.0)[rows], 1e-300)
        assert ratio[0, 0, 2, 3] == pytest.approx(factor)
        assert ratio[0, 0, 1, 3] == pytest.approx(1.0)


def test_the_gradient_is_that_of_the_rate(whole: Inventory) -> None:
    """The rate is linear in each factor, so differences of any size are exact."""
    cells, regions = (
        control(name="cells"),
        control(name="regions", resolution="region", regions=["DE", "BE"], parts_of_day=2),
    )
    random = np.random.default_rng(1)
    values = {"cells": random.uniform(0.5, 2.0, (1, 3, 4)), "regions": random.uniform(0.5, 2.0, (2, 2))}
    source, late = scaled(whole, [cells, regions], values), 50000.0
    weights = {name: random.standard_normal((3, 3, 4)) for name in whole.species}

    def weighed(given: dict[str, np.ndarray]) -> float:
        rate = scaled(whole, [cells, regions], given).rate(late)
        return sum(float(np.sum(weights[n][: rate.shape[1]] * rate[k])) for k, n in enumerate(whole.species))

    found = {name: np.zeros_like(value) for name, value in values.items()}
    source.add_gradient(late, weights, found)
    for name, place in (("cells", (0, 1, 2)), ("cells", (0, 2, 1)), ("regions", (1, 0)), ("regions", (1, 1))):
        more = {key: value.copy() for key, value in values.items()}
        more[name][place] += 1.0
        assert found[name][place] == pytest.approx(weighed(more) - weighed(values), rel=1e-9)
    assert not found["regions"][0].any()


def test_factors_act_on_the_sectors_of_gridded_files() -> None:
    data = xr.Dataset({name: (("lat", "lon"), np.ones((3, 4)), {"units": "kg m-2 s-1"}) for name in ("ene", "tro")},
                      {"lat": GRID.lat[:, 0], "lon": GRID.lon[0]})  # fmt: skip
    settings = FieldSettings(species={"*": "NO"}, sectors={"ene": "A", "tro": "F"}, profiles=False)
    context = GriddedContext(Targets(("NO",)))
    sources = read_gridded([data], GRID, START, settings, context)
    factors = Factors(START, ALONE)
    factors.controls = {"road": np.array([3.0])}
    road = control(name="road", resolution="domain", sectors=[ROAD])
    ratios = [
        own.rate(0.0).sum() / each.rate(0.0).sum()
        for own, each in zip(factored(sources, [road], factors), sources, strict=True)
    ]
    assert [each.sector for each in sources] == ["A_PublicPower", ROAD]
    assert ratios == pytest.approx([1.0, 3.0])
    with pytest.raises(CaseError, match="did you mean F_RoadTransport"):
        factored(sources, [control(sectors=["F_RoadTransprt"])], factors)


def test_names_without_emission_are_refused_with_the_nearest(whole: Inventory) -> None:
    for given, message in (
        ({"sectors": ["F_RoadTransprt"]}, "did you mean F_RoadTransport"),
        ({"regions": ["ES"]}, "'ES' in regions has no emission here"),
    ):
        with pytest.raises(CaseError, match=message):
            factored([whole], [control(**given)], Factors(START, ALONE))
