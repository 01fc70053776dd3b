"""Gradients by the boundary of a nest, and through it by the emission of the outer run."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from tests.inverse.small import SOURCE, small

import airshed
from airshed.core.arrays import Array
from airshed.inverse.cost import CostOfFunction
from airshed.inverse.gradient import gradient
from airshed.inverse.nest import NestCost, gradient_through_nest
from airshed.models.air.boundary.outer import points_beyond
from airshed.models.air.nesting import outer_grid

OUTER = {"grid": {"area": {"lon": [6.4, 8.8], "lat": [49.4, 51.6]}}}
INNER = {"emissions": {"point": [], "area": []}}
SPECIES = "NO2"


def mean_of(values: Array) -> float:
    return float(values[0, 1:4, 2:5].mean())


def cost_at(seconds: float) -> CostOfFunction:
    """Return the mean of a species over some cells of the nest."""

    def function(fields: Mapping[str, Array]) -> tuple[float, Mapping[str, Array]]:
        weight = np.zeros_like(fields[SPECIES])
        weight[0, 1:4, 2:5] = 1.0 / 9.0
        return mean_of(fields[SPECIES]), {SPECIES: weight}

    return CostOfFunction(seconds, [SPECIES], function)


def outer_case(folder: Path, rate: float) -> airshed.Case:
    """Return an outer case with a source of NO west of the nest, and a record of all species at each ten minutes."""
    (folder / "a").mkdir(exist_ok=True)
    emissions = {"point": [{**SOURCE, "lon": 6.9, "lat": 50.3, "rate": f"{rate!r} mol/s"}], "area": []}
    output = [{"every": "10 min", "fields": "all"}]
    return small(folder / "a", **OUTER, emissions=emissions, output=output)


def nest_case(folder: Path) -> airshed.Case:
    (folder / "b").mkdir(exist_ok=True)
    run = {"run": str(folder / "outer")}
    return small(folder / "b", **INNER, boundary=run, initial=run, output=[])


def value_of(folder: Path, rate: float) -> float:
    """Run the outer case and the nest; return the cost of the nest."""
    with airshed.Simulation(outer_case(folder, rate), output=folder / "outer", overwrite=True) as simulation:
        simulation.run()
    with airshed.Simulation(nest_case(folder)) as simulation:
        simulation.run()
        return mean_of(simulation[SPECIES].to_numpy())


def test_the_transpose_of_the_interpolation_has_equal_dot_products(tmp_path: Path) -> None:
    random, outer, inner = np.random.default_rng(1), outer_case(tmp_path, 1.0).make_grid(), small(tmp_path).make_grid()
    grid, (lon, lat) = outer_grid(outer, "here"), points_beyond(inner)
    field, heights = random.normal(size=(2, *outer.shape)), np.array([2.0, 40.0, 200.0, 3000.0])
    there = grid.to(lon, lat, heights)(field)
    adjoint = random.normal(size=there.shape)
    back = grid.transposed(lon, lat, heights)(adjoint)
    assert there.shape == (2, 4, 2, lon.shape[1])
    assert float(np.sum(there * adjoint)) == pytest.approx(float(np.sum(field * back)), rel=1e-12)
    assert float(np.sum(there * adjoint)) != pytest.approx(float(np.sum(field * back[..., ::-1])), rel=1e-3)


@pytest.mark.standard
def test_the_gradient_by_the_emission_of_the_outer_run_is_that_of_finite_differences(tmp_path: Path) -> None:
    """The results of the outer run are in single precision, which limits the differences."""
    rate, step = 2.0, 0.02
    high, low, value = (value_of(tmp_path, each) for each in (rate + step, rate - step, rate))
    outer = outer_case(tmp_path, rate)
    by_nest, by_outer = gradient_through_nest(nest_case(tmp_path), outer, cost_at(3600.0))
    assert by_nest.value == pytest.approx(value, rel=1e-9)
    grid = outer.make_grid()
    row, column = int(np.argmin(abs(grid.y - 50.3))), int(np.argmin(abs(grid.x - 6.9)))
    with airshed.Simulation(outer) as simulation:
        number = simulation.model.network.names.index("NO")
    found = sum(float(each[number, 0, row, column]) for each in by_outer.adjoints.sources.values())
    assert abs(found) > 0.0
    assert found == pytest.approx((high - low) / (2.0 * step), rel=5e-3)


def test_the_cost_of_the_outer_run_is_linear() -> None:
    cost = NestCost({60.0: {"A": np.array([[[2.0]]])}, 0.0: {"A": np.array([[[3.0]]])}})
    assert list(cost.times) == [0.0, 60.0]
    for seconds in cost.times:
        cost.observe(seconds, lambda name: np.array([[[0.5]]]))
    assert cost.value == 2.5
    assert float(cost.gradient(60.0)["A"][0, 0, 0]) == 2.0


@pytest.mark.parametrize("cells", [1, 2])
def test_the_gradient_by_boundary_values_is_that_of_finite_differences(tmp_path: Path, cells: int) -> None:
    """Checks it for each time, level and face cell, with one or two cells beyond each face."""
    case = small(tmp_path)
    shape = (2, cells, case.make_grid().shape[0], airshed.face_cells(case).sizes["face"])
    values = 3e-9 * (1.0 + 0.3 * np.random.default_rng(3).uniform(size=shape))

    def boundary(given: Array) -> xr.Dataset:
        data = xr.Dataset({SPECIES: (("time", "cell", "level", "face"), given)}, {"time": [0.0, 3600.0]})
        return data if cells == 2 else data.isel(cell=0)

    found = gradient(case, cost_at(3600.0), boundary=boundary(values)).adjoints.boundary
    direction, costs = np.random.default_rng(4).uniform(size=shape) * values, []
    for size in (1e-4, -1e-4):
        with airshed.Simulation(case, boundary=boundary(values + size * direction)) as simulation:
            simulation.run()
            costs.append(mean_of(simulation[SPECIES].to_numpy()))
            number, count = simulation.model.network.names.index(SPECIES), len(simulation.model.network.names)
    adjoint = np.stack([found[0.0], found[3600.0]])[:, number::count]  # (time, cell, level, face)
    assert adjoint.shape == shape
    assert float(np.sum(adjoint * direction)) == pytest.approx((costs[0] - costs[1]) / 2e-4, rel=1e-3)
    assert np.count_nonzero(adjoint[:, -1]) > 4
