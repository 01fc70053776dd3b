"""Model runs on a grid with two-dimensional metrics: only the grid package may assume separable axes."""

import ast
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from tests.grid.rotated import RotatedPole, rotated_grid
from tests.inverse.small import small
from tests.laws.derivatives import TYPICAL
from tests.models.air.emissions.gridded_files import gridded

import airshed
from airshed.bmi.grids import grid_of
from airshed.core.errors import CaseError
from airshed.core.fields import FieldSpec
from airshed.grid import Grid, GridMapping, LonLat, Metrics
from airshed.grid.coverage import box_shares, outline_shares
from airshed.grid.projected import projection
from airshed.grid.regrid import Regridder
from airshed.inverse.receptors.receptor import Receptor
from airshed.inverse.verify.derivative_tests import dot_products
from airshed.inverse.verify.recording import record_case
from airshed.models.air.case import Case
from airshed.models.air.emissions import AreaEmissions, AreaSource, PointEmissions, PointSource
from airshed.models.air.landcover import land_fraction
from airshed.models.air.weather.dataset import DatasetMeteorology
from airshed.observations.selection import bilinear
from airshed.plot.maps import draw_maps, map_scale
from airshed.plot.results import Results
from airshed.serve.fields.published import Shape

pytestmark = pytest.mark.standard
GRID = rotated_grid(7, 9, 0.3, (100.0, 400.0))
SOURCE = Path(airshed.__file__).parent


@pytest.fixture
def on_rotated(monkeypatch: pytest.MonkeyPatch) -> Grid:
    """Use the rotated grid, with its own layers, for every case of this test."""

    def make_grid(case: Case) -> Grid:
        return rotated_grid(7, 9, 0.3, tuple(top.value for top in case.grid.layers))

    monkeypatch.setattr(Case, "make_grid", make_grid)
    return GRID


class Numerical(LonLat):
    """Longitude and latitude with metrics from the general formulas."""

    separable = False
    metrics = GridMapping.metrics


def test_metrics_from_corners_are_those_of_longitude_and_latitude() -> None:
    faces = 7.0 + 0.1 * np.arange(6), 50.0 + 0.1 * np.arange(5), [0.0, 20.0]
    exact, found = Grid.lonlat(*faces), Grid.mapped(Numerical(), *faces)
    for each in fields(Metrics):
        expected = getattr(exact, each.name)
        assert getattr(found, each.name) == pytest.approx(expected, rel=2e-5, abs=1e-3), each.name


def test_the_turned_grid_has_the_metrics_of_its_own_frame() -> None:
    own = Grid.lonlat(GRID.x_faces, GRID.y_faces, GRID.layer_faces)
    for name in ("cell_area", "x_face_length", "y_face_length", "x_width", "y_width"):
        assert getattr(GRID, name) == pytest.approx(getattr(own, name), rel=1e-4), name
    assert np.degrees(GRID.rotation[3, 4]) == pytest.approx(30.0, abs=1e-6)
    assert np.ptp(GRID.lon, axis=0).min() > 0.1  # neither axis is a meridian or a parallel
    x, y = GRID.locate(GRID.lon, GRID.lat)
    assert x == pytest.approx(np.broadcast_to(GRID.x, x.shape), abs=1e-9)
    assert y == pytest.approx(np.broadcast_to(GRID.y[:, None], y.shape), abs=1e-9)


def simulation(length: str = "30 min", output: Any = (), folder: Path | None = None) -> airshed.Simulation:
    """Return a finished simulation of tracers of 1 ppb in a wind over the rotated grid."""
    values = {"values": {"TRACER": "1 ppb", "TRACER2": "1 ppb"}}
    case = airshed.Case.from_dict({
        "grid": {"area": {"lon": [0, 1], "lat": [0, 1]}, "spacing": "1 deg", "layers": ["500 m", "1000 m"]},
        "time": {"start": "2022-06-01T00:00:00Z", "length": length, "step": "250 s"},
        "chemistry": {"mechanism": "tracer"}, "transport": {"diffusion": False}, "deposition": {"scheme": "none"},
        "boundary": values, "initial": values, "output": output,
    })  # fmt: skip
    wind = xr.Dataset({"eastward_wind": 7.0, "northward_wind": -3.0})
    run = airshed.Simulation(case, wind, output=folder)
    run.run()
    return run


def test_a_uniform_mixing_ratio_stays_uniform_and_mass_closes(on_rotated: Grid) -> None:
    with simulation() as run:
        assert run["TRACER"].dims == ("level", "y", "x")
        assert run["TRACER"].coords["lon"].dims == ("y", "x")
        np.testing.assert_allclose(run["TRACER"], 1e-9, rtol=1e-12)
        budget = run.budget()
        assert np.abs(budget["residual"]).max() < 1e-12 * budget["throughput"].max()


def test_the_wind_is_turned_to_the_axes_and_back(on_rotated: Grid) -> None:
    with simulation("5 min") as run:
        assert run["eastward_wind"].values == pytest.approx(7.0, rel=3e-3)
        assert run["northward_wind"].values == pytest.approx(-3.0, rel=1e-2)
        along_x = run.model.parts.meteorology.at(0.0).eastward_air_flux[0, 3, 4]
        per_wind = run["air_density"].values[0, 3, 4] * GRID.x_face_length[3, 4] * run.model.grid.thickness[0]
        assert along_x == pytest.approx(per_wind * (7.0 * np.cos(np.pi / 6) - 3.0 * np.sin(np.pi / 6)), rel=1e-2)


def test_weather_on_latitudes_and_longitudes_reaches_the_cells(on_rotated: Grid) -> None:
    lat, lon = np.linspace(48.0, 53.0, 11), np.linspace(4.0, 12.0, 17)
    plane = 280.0 + lon + 2.0 * lat[:, None]
    data = xr.Dataset({
        "eastward_wind": 1.0, "northward_wind": 0.0, "air_temperature": (("lat", "lon"), plane),
    }, {"lat": lat, "lon": lon})  # fmt: skip
    state = DatasetMeteorology(data, GRID, np.datetime64("2022-06-01")).at(0.0)
    assert state.temperature[0] == pytest.approx(280.0 + GRID.lon + 2.0 * GRID.lat, abs=1e-9)


def test_the_dot_products_hold_with_chemistry_and_emission(on_rotated: Grid, tmp_path: Path) -> None:
    case = small(tmp_path, emissions={"area": []}, boundary={"values": dict.fromkeys(TYPICAL, "1 ppb")})
    random = np.random.default_rng(5)
    given = {name: (("level", "y", "x"), each * random.uniform(0.5, 1.5, (3, 7, 9))) for name, each in TYPICAL.items()}
    run, _ = record_case(case, steps=3, initial=xr.Dataset(given))
    assert run.derivatives.constants.density_factor.shape == (3, 7, 9)  # each cell has its own value
    found = dot_products(run)
    assert found.ok
    assert found.worst < 1e-12


def test_emission_on_longitude_and_latitude_is_conserved() -> None:
    lon, lat = 3.0 + 0.17 * np.arange(60), 47.0 + 0.13 * np.arange(60)
    amount = np.random.default_rng(2).random((lat.size - 1, lon.size - 1))
    amount[(lat[1:] < 49.9) | (lat[:-1] > 51.1)] = 0.0
    amount[:, (lon[1:] < 6.7) | (lon[:-1] > 8.4)] = 0.0
    moved = Regridder(lon, lat, GRID)(amount)
    assert moved.sum() == pytest.approx(amount.sum(), rel=1e-12)
    # a flux that is uniform over the source is uniform over the cells
    areas, move = np.outer(np.diff(np.sin(np.radians(lat))), np.diff(lon)), Regridder(lon, lat, GRID)
    shares = move(areas) / move.target_area
    assert shares == pytest.approx(np.full(shares.shape, shares.mean()), rel=1e-9)
    assert move.target_area == pytest.approx(GRID.cell_area, rel=1e-4)


def test_regridding_onto_cells_of_any_outline_agrees_with_the_separable_way() -> None:
    faces = 6.0 + 0.3 * np.arange(8), 49.0 + 0.2 * np.arange(9), [0.0, 20.0]
    lon, lat = 5.5 + 0.11 * np.arange(40) - 360.0, 48.7 + 0.07 * np.arange(50)
    amount = np.random.default_rng(3).random((2, lat.size - 1, lon.size - 1))
    found, expected = (
        Regridder(lon, lat, each)(amount) for each in (Grid.mapped(Numerical(), *faces), Grid.lonlat(*faces))
    )
    assert found == pytest.approx(expected, rel=1e-10)
    # a source with two-dimensional axes: the same cells by another code path
    back = Regridder(lon + 360.0, lat, Grid.lonlat(*faces), RotatedPole(0.0, 0.0, 0.0))(amount)
    assert back.sum() == pytest.approx(expected.sum(), rel=1e-3)


def test_a_cell_around_a_pole_is_refused() -> None:
    faces = 0.3 * (np.arange(6) - 2.5)
    polar = Grid.mapped(RotatedPole(0.0, 90.0, 0.0), faces, faces, [0.0, 20.0])
    with pytest.raises(CaseError, match="contains a pole"):
        Regridder(np.arange(0.0, 361.0), np.arange(80.0, 91.0), polar)


def test_sources_stations_and_receptors_find_their_cells() -> None:
    lon, lat = float(GRID.lon[5, 2]), float(GRID.lat[5, 2])
    chimney = PointEmissions([PointSource("NO", lon, lat, 150.0, 3.0)], GRID).rate(0.0)
    assert np.argwhere(chimney)[0].tolist() == [0, 1, 5, 2]
    field = AreaEmissions([AreaSource((7.3, 7.9), (50.3, 50.7), {"NO": 1e-9})], GRID).rate(0.0)
    assert field.sum() == pytest.approx(1e-9 * AreaSource((7.3, 7.9), (50.3, 50.7), {}).area, rel=1e-9)
    columns, weights = bilinear(GRID, np.array([lon]), np.array([lat]))
    assert columns[0, weights[0].argmax()] == 5 * 9 + 2
    assert weights.max() == pytest.approx(1.0, abs=1e-6)
    shares = box_shares((7.3, 7.9), (50.3, 50.7), GRID, "receptor")
    assert (shares * GRID.cell_area).sum() == pytest.approx(AreaSource((7.3, 7.9), (50.3, 50.7), {}).area, rel=1e-3)
    ring = np.array([[7.3, 50.3], [7.9, 50.3], [7.9, 50.7], [7.3, 50.7], [7.3, 50.3]])
    assert outline_shares([[ring]], GRID) == pytest.approx(shares, abs=1e-3)
    asked = Receptor.of({"species": "NO", "place": "Germany", "time": "1 h"}, 3600.0)
    assert asked.weights(GRID).sum() == pytest.approx(1.0)


def test_land_and_gridded_emission_are_those_of_the_places() -> None:
    assert land_fraction(GRID) == pytest.approx(1.0, abs=0.05)
    data = xr.Dataset({"NO": (("lat", "lon"), np.ones((40, 60)), {"units": "mol m-2 s-1"})},
                      {"lat": 47.0 + 0.2 * np.arange(40), "lon": 1.0 + 0.2 * np.arange(60)})  # fmt: skip
    found = gridded(data, GRID, np.datetime64("2022-06-01"), ["NO"])
    assert found.rate(0.0).sum() == pytest.approx(GRID.cell_area.sum(), rel=1e-4)
    assert not found.notices()


def test_output_has_places_of_cells_and_maps_are_drawn(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    grid = Grid.mapped(projection("lambert", 7.6, 50.5), *(3e4 * np.arange(n) for n in (10, 8)), (0.0, 100.0, 400.0))
    monkeypatch.setattr(Case, "make_grid", lambda case: grid)
    due = [{"fields": ["TRACER"], "every": "5 min"}]
    with simulation("5 min", due, tmp_path / "run"):
        pass
    with xr.open_dataset(next((tmp_path / "run").glob("output*.nc"))) as dataset:
        assert dataset["TRACER"].dims == ("time", "level", "y", "x")
        assert dataset["TRACER"].encoding["coordinates"] == "lat lon"
        assert dataset["lat"].dims == ("y", "x")
        assert dataset["lon"].values == pytest.approx(grid.lon)
        assert dataset["TRACER"].attrs["grid_mapping"] == "projection"
        results = Results(dataset.load(), tmp_path)
    shown = results.ground("TRACER")[0]
    assert shown == pytest.approx(np.ones((7, 9)), rel=1e-6)  # ppb
    assert (results.area.east, results.area.north) == pytest.approx((2.7e5, 2.1e5))
    draw_maps(results, "TRACER", [0], map_scale(results, "TRACER", [0])).canvas.draw()


def test_the_view_of_a_live_model_and_frameworks_see_the_cells(on_rotated: Grid) -> None:
    axes = GRID.axes
    grid = grid_of(axes, ("y", "x"))
    assert (grid.type, grid.shape) == ("structured_quadrilateral", (7, 9))
    assert grid.nodes["x"] == pytest.approx(GRID.lon.ravel())
    lambert = Grid.mapped(projection("lambert", 7.6, 50.5), 3e4 * np.arange(10), 3e4 * np.arange(8), (0.0, 100.0))
    field = FieldSpec("TRACER", ("level", "y", "x"), "mol mol-1", "a tracer")
    shape = Shape.of({"TRACER": field}, lambert.axes, {}, {})
    variable = shape.variable("TRACER")
    assert (shape.grid.kind, variable.dims, variable.shape) == ("projected", ["level", "y", "x"], [1, 7, 9])
    assert shape.on_map(variable, lambert.lon[None]) == pytest.approx(lambert.lon[None])
    assert [each.name for each in shape.places] == ["y", "x", "lat", "lon"]


def test_a_grid_that_is_taken_for_a_separable_one_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: code that uses one latitude for each row misses the locations."""
    lon, lat = 3.0 + 0.17 * np.arange(60), 47.0 + 0.13 * np.arange(60)
    amount = np.ones((lat.size - 1, lon.size - 1))
    assert Regridder(lon, lat, GRID)(amount).sum() > 100.0
    monkeypatch.setattr(RotatedPole, "separable", True)
    assert Regridder(lon, lat, GRID)(amount).sum() == 0.0
    assert land_fraction(GRID).max() < 0.5  # at 7.6 E, 50.5 N the cells are land; in the Gulf of Guinea none is


def test_winds_that_are_not_turned_are_noticed(on_rotated: Grid, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control of the winds."""
    monkeypatch.setattr(
        Grid, "wind_rotation", property(lambda grid: (0.0 * grid.x_face_length, 0.0 * grid.y_face_length))
    )
    with simulation("5 min") as run:
        assert abs(float(run["eastward_wind"].mean()) - 7.0) > 0.5


NAMES = frozenset({"lon_faces", "lat_faces"})


def named(source: str) -> set[str]:
    """Return the names of separable axes that a module uses."""
    tree = ast.walk(ast.parse(source)) if any(name in source for name in NAMES) else ()
    return NAMES & {each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "") for each in tree}


def test_nothing_outside_the_grid_names_separable_faces() -> None:
    outside = (path for path in SOURCE.rglob("*.py") if path.parent != SOURCE / "grid")
    assert not {path: found for path in outside if (found := named(path.read_text(encoding="utf-8")))}
    assert named("width = grid.lon_faces[1] - lat_faces") == NAMES  # the test can fail


def test_emission_around_a_pole_at_a_corner_of_cells_is_conserved() -> None:
    faces = np.linspace(-3e5, 3e5, 7)
    for latitude in (90.0, -90.0):
        plane = projection("polar stereographic", 0.0, latitude, (np.sign(latitude) * 70.0,))
        grid = Grid.mapped(plane, faces, faces, (0.0, 100.0))
        lon = np.arange(-180.0, 180.1, 1.0)
        lat = np.sort(np.sign(latitude) * np.arange(86.0, 90.01, 0.5))
        area = np.outer(np.diff(np.sin(np.radians(lat))), np.radians(np.diff(lon)))
        cap = np.where(np.abs(0.5 * (lat[1:] + lat[:-1]))[:, None] > 89.0, area, 0.0)
        move = Regridder(lon, lat, grid)
        assert move(cap).sum() == pytest.approx(cap.sum(), rel=1e-12)
        sector = np.where((lon[:-1] >= 10.0) & (lon[:-1] < 12.0), cap, 0.0)
        assert move(sector).sum() == pytest.approx(sector.sum(), rel=1e-12)
        assert (move(cap) >= 0.0).all()
        assert (move.target_area > 0.0).all()
