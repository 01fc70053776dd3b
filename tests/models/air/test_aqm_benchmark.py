"""Synthetic benchmark: its size, emission and mixing, and the settings of area sources in a case file."""

from typing import Any

import numpy as np
import pytest

from airshed.core.constants import AVOGADRO
from airshed.core.errors import CaseError
from airshed.models.air.assembly import assemble
from airshed.models.air.case import Case
from airshed.runtime.simulation import Simulation

COARSE = ['grid.spacing="2 deg"', 'grid.layers=["50 m", "200 m", "600 m", "1500 m", "3000 m"]', 'time.length="1 h"']


def small(**emissions: Any) -> dict[str, Any]:
    return {
        "grid": {"area": {"lon": [0, 4], "lat": [45, 49]}, "spacing": "1 deg", "layers": ["100 m", "500 m"]},
        "time": {"start": "2022-06-21T12:00:00Z", "length": "1 h"},
        "chemistry": {"mechanism": "emep"},
        "meteorology": {"kind": "uniform"},
        "emissions": emissions,
        "deposition": {"scheme": "none"},
    }


def test_the_benchmark_has_the_size_of_the_report() -> None:
    case = Case.load("aqm-benchmark")
    parts = assemble(case)
    assert (parts.grid.shape, len(parts.network.species)) == ((32, 32, 32), 66)
    assert Case.load("aqm-benchmark", ['grid.spacing="0.25 deg"']).make_grid().shape == (32, 64, 64)


def test_the_town_emits_what_the_test_problem_does_on_top_of_a_tenth_of_it_everywhere() -> None:
    parts = assemble(Case.load("aqm-benchmark"))
    (source,) = parts.sources
    flux = source.rate(0.0)[source.species.index("NO"), 0] / parts.grid.cell_area * AVOGADRO / 1e4
    np.testing.assert_allclose(flux[0, 0], 2.5e10, rtol=1e-9)
    np.testing.assert_allclose(flux[10, 20], 2.75e11, rtol=1e-9)  # 10.25 E, 47.25 N
    np.testing.assert_allclose(flux.max(), 2.75e11, rtol=1e-9)


def test_the_sun_mixes_the_air_by_day() -> None:
    parts = assemble(Case.load("aqm-benchmark", [*COARSE, 'time.start="2022-07-01T11:00:00Z"']))
    assert parts.meteorology.at(0.0).diffusivity.max() > 20.0


@pytest.mark.thorough
@pytest.mark.compiles
def test_it_runs_by_day_with_mixing_from_the_sun_and_a_dirty_town() -> None:
    with Simulation(Case.load("aqm-benchmark", [*COARSE, 'time.start="2022-07-01T11:00:00Z"'])) as simulation:
        simulation.run()
        dirty, hydroxyl = simulation.model.value("NO2")[0], simulation.model.value("OH")[0]
        diffusivity = simulation.model.parts.meteorology.at(0.0).diffusivity
    assert diffusivity.max() > 20.0
    assert dirty[2, 5] > 4.0 * np.median(dirty)  # 47 N, 11 E
    assert hydroxyl.min() > 1e-16


def test_a_mass_flux_becomes_an_amount_by_the_species_mass() -> None:
    box = {"lon": [0, 4], "lat": [45, 49], "rates": {"SO2": "64.06 g/m2/s"}}
    (source,) = assemble(Case.from_dict(small(area=[box]))).sources
    grid = Case.from_dict(small()).make_grid()
    np.testing.assert_allclose(source.rate(0.0)[0, 0] / grid.cell_area, 1.0, rtol=1e-3)


@pytest.mark.parametrize(
    ("box", "said"),
    [
        ({"lon": [10, 12], "lat": [45, 49], "rates": {"NO": "1 mol/m2/s"}}, "emissions.area.0 lies outside grid.area"),
        ({"lon": [0, 2], "lat": [45, 49], "rates": {"NOO": "1 mol/m2/s"}}, "did you mean NO"),
        ({"lon": [0, 2], "lat": [45, 49], "rates": {"NO": "1 mol/s"}}, "wrong kind of unit"),
        ({"lon": [0, 2], "lat": [45, 49], "rates": {"NO": "-1 mol/m2/s"}}, "must not be less than 0"),
        ({"lon": [2, 0], "lat": [45, 49], "rates": {"NO": "1 mol/m2/s"}}, "from the smaller to the larger"),
    ],
)
def test_an_area_that_cannot_be_is_refused(box: dict[str, Any], said: str) -> None:
    with pytest.raises(CaseError, match=said):
        assemble(Case.from_dict(small(area=[box])))
