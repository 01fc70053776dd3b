"""Boundary concentrations that vary in time and along the lateral faces, from datasets and functions."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from tests.laws.cases import small_case
from tests.laws.derivatives import changing_weather, uneven

import airshed
from airshed.core.errors import AirshedError
from airshed.grid import Grid
from airshed.models.air import kind
from airshed.models.air.boundary.field import face_cells
from airshed.models.air.budget import FaceBudget
from airshed.parallel.communicator import SingleRank

pytestmark = pytest.mark.standard

PROFILE = {"O3": 50.0, "NO2": 1.0, "NO": 0.2, "VOC": 8.0}
"""[ppb] as `tests.laws.cases.small_case` has it."""


def along_faces(grid: Grid, values: Callable[[xr.Dataset, float], Any], times: tuple[float, ...]) -> xr.Dataset:
    """Return a dataset whose O3 and VOC are a function of the face cells and the time [s], in ppb."""
    cells = face_cells(grid)
    field = xr.DataArray(
        [np.broadcast_to(values(cells, time), (grid.shape[0], cells.sizes["face"])) for time in times],
        {"time": list(times)}, ("time", "level", "face"), attrs={"units": "ppb"},
    )  # fmt: skip
    return cells.assign(O3=field, VOC=0.2 * field.assign_attrs(units="ppb"))


def wavy(cells: xr.Dataset, seconds: float) -> Any:
    """Return a wave around the area that grows with time, to be broadcast along levels."""
    return 40.0 + 20.0 * np.sin(3.0 * cells.lon.values + 5.0 * cells.lat.values) + 20.0 * seconds / 7200.0


def constant(**ratios: float) -> xr.Dataset:
    """Return a dataset of mixing ratios [ppb] that are the same everywhere."""
    return xr.Dataset({name: xr.DataArray(each, attrs={"units": "ppb"}) for name, each in ratios.items()})


def run(case: airshed.Case, **given: Any) -> tuple[xr.Dataset, xr.Dataset]:
    """Return the state and the budget at the end of a run."""
    with airshed.Simulation(case, **given) as simulation:
        simulation.run()
        names = [species.name for species in simulation.model.network.species]
        return xr.Dataset({name: simulation[name] for name in names}), simulation.budget()


def same_bits(one: xr.Dataset, other: xr.Dataset) -> bool:
    return all(np.array_equal(one[name], other[name]) for name in one.data_vars)


@pytest.mark.parametrize("integrator", ["imex", "strang"])
def test_a_dataset_of_the_profile_gives_the_bits_of_the_profile(tmp_path: Path, integrator: str) -> None:
    case = small_case(tmp_path, chemistry={"integrator": integrator})
    plain, data = run(case)[0], constant(**PROFILE)
    assert same_bits(plain, run(case, boundary=data)[0])
    assert not same_bits(plain, run(case, boundary=constant(**PROFILE | {"O3": 51.0}))[0])


def test_species_that_a_dataset_lacks_keep_the_profile(tmp_path: Path) -> None:
    case = small_case(tmp_path)
    assert same_bits(run(case)[0], run(case, boundary=constant(O3=50.0))[0])


def test_a_function_of_time_gives_the_bits_of_its_dataset(tmp_path: Path) -> None:
    case = small_case(tmp_path)
    times = tuple(np.arange(0.0, 7201.0, 300.0).tolist())
    data = along_faces(case.make_grid(), wavy, times)
    called: list[float] = []

    def function(seconds: float) -> xr.Dataset:
        called.append(seconds)
        return data.interp(time=seconds).drop_vars("time")

    assert same_bits(run(case, boundary=data)[0], run(case, boundary=function)[0])
    assert sorted(set(called)) == list(times)


def test_threads_give_the_same_bits(tmp_path: Path) -> None:
    case = small_case(tmp_path)
    data = along_faces(case.make_grid(), wavy, (0.0, 4000.0, 7200.0))
    assert same_bits(run(case, boundary=data)[0], run(small_case(tmp_path, run={"threads": 3}), boundary=data)[0])


def refused(case: airshed.Case, boundary: Any) -> str:
    with pytest.raises(AirshedError) as caught, airshed.Simulation(case, boundary=boundary):
        pass
    return str(caught.value)


def test_what_cannot_be_a_boundary_is_refused(tmp_path: Path) -> None:
    case = small_case(tmp_path)
    good = along_faces(case.make_grid(), wavy, (0.0, 7200.0))
    assert "has OZONE, not in the mechanism" in refused(case, good.rename(O3="OZONE"))
    assert "24 points along face, but the grid has 26 face cells" in refused(case, good.isel(face=slice(24)))
    assert "is not on the face cells of the grid: lat differs by up to" in refused(
        case, good.isel(face=slice(None, None, -1))
    )
    assert "in layer 2 at the west face at 40.25 N, -30.25 E" in refused(case, good.assign(O3=_spoilt(good.O3)))
    assert "the boundary's dataset covers 0 h to 1000 s" in refused(case, good.assign_coords(time=[0.0, 1000.0]))
    assert "the boundary's times do not increase" in refused(case, good.assign_coords(time=[7200.0, 0.0]))
    assert "the boundary is a str" in refused(case, "boundary.nc")
    assert "the boundary's function returned float" in refused(case, lambda seconds: seconds)
    assert "it may have time, level and face only" in refused(case, good.rename(face="cell"))
    assert "more than all air" in refused(case, good.assign(O3=good.O3.assign_attrs(units="1")))


def _spoilt(field: xr.DataArray) -> xr.DataArray:
    spoilt = field.copy()
    spoilt[:, 2, 0] = -1.0
    return spoilt


# ---- a nest ----------------------------------------------------------------------------------------------------------

LARGE = {"lon": [-31.0, -24.0], "lat": [38.0, 45.0]}
SMALL = {"lon": [-29.0, -26.0], "lat": [40.0, 43.0]}
CHIMNEY = {"species": "NO", "lon": -29.8, "lat": 41.6, "height": "20 m", "rate": "200 mol/s"}
"""To the west of the small area, from where the wind blows."""


def of_area(folder: Path, area: dict[str, Any]) -> airshed.Case:
    wind = {"eastward": "8 m/s", "northward": "3 m/s", "rotation": "24 h"}
    time = {"start": "2022-06-21T09:30:00Z", "length": "4 h", "step": "5 min"}
    return small_case(folder, grid={"area": area}, meteorology=wind, time=time,
                      emissions={"point": [CHIMNEY] if area is LARGE else []})  # fmt: skip


def hourly_state(case: airshed.Case) -> xr.Dataset:
    """Return the state of a run at each full hour since its start."""
    states = []
    with airshed.Simulation(case) as simulation:
        names = [species.name for species in simulation.model.network.species]
        for hour in range(5):
            if hour:
                simulation.run(until=f"{hour} h")
            states.append(xr.Dataset({name: simulation[name].drop_vars("time", errors="ignore") for name in names}))
    return xr.concat(states, xr.Variable("time", 3600.0 * np.arange(5)))


def test_a_nest_follows_the_larger_run(tmp_path: Path) -> None:
    """Fed at its faces with the hourly state of a larger run of the same resolution, far better than by a profile."""
    large, case = hourly_state(of_area(tmp_path, LARGE)), of_area(tmp_path, SMALL)
    cells, grid = face_cells(case.make_grid()), case.make_grid()
    faces = large.interp(lat=cells.lat, lon=cells.lon, assume_sorted=True)
    inside = large.sel(lat=grid.y, lon=grid.x, method="nearest", tolerance=1e-6)
    first, expected = inside.isel(time=0, drop=True), inside.isel(time=-1, drop=True)

    def errors(**given: Any) -> dict[str, float]:
        found = run(case, initial=first.drop_attrs(), **given)[0]
        apart = {name: found[name].values - expected[name].values for name in ("O3", "NO", "NO2", "HNO3")}
        return {name: float(np.sqrt(np.mean(each**2) / (expected[name] ** 2).mean())) for name, each in apart.items()}

    fed, by_profile = errors(boundary=faces.drop_attrs()), errors()
    assert {name: error for name, error in fed.items() if not error < 0.3 * by_profile[name]} == {}
    assert fed["O3"] < 0.03
    assert by_profile["O3"] > 0.3


# ---- budgets by face -------------------------------------------------------------------------------------------------


def largest_gap(budget: xr.Dataset) -> float:
    """Return how far the sums over faces are from the inflow and the outflow of any species, relative to these."""
    worst = 0.0
    for name in ("inflow", "outflow"):
        by_face = budget[f"{name}_faces"].sum(("level", "face")) + budget[f"{name}_top"].sum(("lat", "lon"))
        worst = max(worst, float(np.max(np.abs(by_face - budget[name]) / np.maximum(budget[name], 1e-300))))
    return worst


@pytest.mark.parametrize("cells", [0, 1, 2])
@pytest.mark.parametrize("integrator", ["imex", "strang", "symmetric", "concurrent"])
def test_budgets_by_face_add_up_to_the_budget(tmp_path: Path, integrator: str, cells: int) -> None:
    """The boundary is a profile, or has concentrations of one or two cells beyond each face."""
    sections = {"chemistry": {"integrator": integrator}, "boundary": {"budget": "faces"}}
    case = small_case(tmp_path, **sections, time={"spinup": "20 min"})
    data = along_faces(case.make_grid(), wavy, (0.0, 4000.0, 7200.0)) if cells else None
    if cells == 2:
        data = xr.concat([data, 1.2 * data], "cell")
    state, budget = run(case, boundary=data, meteorology=changing_weather())
    assert largest_gap(budget) < 1e-13
    assert float(budget.inflow_top.sum()) > 0.0
    assert same_bits(state, run(small_case(tmp_path, chemistry=sections["chemistry"], time={"spinup": "20 min"}),
                                boundary=data, meteorology=changing_weather())[0])  # fmt: skip


def test_the_summary_has_the_budget_by_side(tmp_path: Path) -> None:
    with airshed.Simulation(small_case(tmp_path, boundary={"budget": "faces"})) as simulation:
        simulation.run()
        budget, tables = simulation.budget(), {each.title: each for each in simulation.summary().tables}
    for term in ("inflow", "outflow"):
        table = tables[f"{term.capitalize()} by side [mol]"]
        assert table.columns == ("species", "west", "east", "south", "north", "top")
        sums = {str(row[0]): sum(map(float, row[1:])) for row in table.rows}
        assert sums == pytest.approx({name: float(budget[term].sel(species=name)) for name in sums}, rel=1e-12)
        west = budget[f"{term}_faces"].where(budget.face_side == "west").sum(("level", "face"))
        assert [row[1] for row in table.rows] == pytest.approx(west.sel(species=list(sums)).to_numpy(), rel=1e-12)


def test_a_wrong_face_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: the outflow has the mixing ratio of the wrong cell, the next one inside."""
    right = FaceBudget._lateral_flux

    def wrong(self: Any, side: Any, transport: Any, state: Any) -> Any:
        shifted = replace(state, q=np.roll(state.q, 1, axis=-1))
        return right(self, side, transport, shifted)

    monkeypatch.setattr(FaceBudget, "_lateral_flux", wrong)
    case = small_case(tmp_path, boundary={"budget": "faces"})
    assert largest_gap(run(case, initial=uneven(case))[1]) > 1e-6


def test_budgets_by_face_go_on_after_a_restart(tmp_path: Path) -> None:
    case = small_case(tmp_path, boundary={"budget": "faces"})
    whole = run(case)[1]
    with airshed.Simulation(case) as simulation:
        simulation.run(until="55 min")
        saved = simulation.snapshot()
        simulation.run(until="80 min")
        simulation.restore(saved)
        simulation.run()
        assert same_bits(whole, simulation.budget())


def test_groups_of_ranks_take_profiles_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    groups = {"chemistry": {"integrator": "strang"}, "parallel": {"groups": {"transport": 1, "chemistry": 1}}}
    with pytest.raises(AirshedError, match=r"does not work with groups of ranks: remove parallel.groups"):
        _ = small_case(tmp_path, **groups, boundary={"budget": "faces"}).has_groups
    monkeypatch.setattr(kind, "make_groups", lambda case, ranks: None)
    with pytest.raises(AirshedError, match=r"do not work with groups of ranks: remove parallel.groups"):
        kind.build(small_case(tmp_path, **groups), SingleRank(), lambda ranks: None, boundary=constant(O3=50.0))
