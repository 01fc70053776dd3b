"""A session on a Lambert grid: its description, places, coasts, cities, painting, and files with their projection."""

import json
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from PIL import Image
from tests.serve.conftest import serving

import airshed
from airshed.grid.projected import projection
from airshed.serve.client import Remote, ServerError
from airshed.serve.fields.maps import places_frame
from airshed.serve.protocol.frames import frames
from airshed.serve.records.finished import finished_session

LAMBERT = projection("lambert", 8.0, 50.0, (40.0, 60.0))
CASE = {
    "grid": {
        "projection": {"kind": "lambert", "lon": 8, "lat": 50, "parallels": [40, 60]},
        "area": {"x": ["-300 km", "240 km"], "y": ["-200 km", "220 km"]}, "spacing": "60 km",
        "layers": ["500 m", "1000 m"],
    },
    "time": {"start": "2022-06-01T00:00:00Z", "length": "1 h", "step": "250 s"},
    "chemistry": {"mechanism": "tracer"}, "transport": {"diffusion": False}, "deposition": {"scheme": "none"},
    "meteorology": {"kind": "uniform", "eastward": "5 m/s", "northward": "0 m/s"},
    "initial": {"values": {"TRACER": "1 ppb"}},
}  # fmt: skip
X, Y = 6e4 * (np.arange(9) - 4.5), 6e4 * np.arange(7) - 1.7e5


@pytest.fixture(scope="module")
def lambert() -> Iterator[Remote]:
    with serving(airshed.Case.from_dict(CASE)) as server, airshed.connect(server.url) as client:
        yield client


def test_fields_are_on_rows_and_columns_of_the_projection(lambert: Remote) -> None:
    grid = lambert.info().grid
    assert (grid.kind, grid.rows, grid.columns) == ("projected", 7, 9)
    assert grid.projection["grid_mapping_name"] == "lambert_conformal_conic"
    assert {each.name for each in grid.coordinates} == {"level", "y", "x"}
    assert lambert["TRACER"].dims == ("level", "y", "x")
    assert lambert["TRACER"].shape == (2, 7, 9)


def test_each_cell_has_its_place(lambert: Remote) -> None:
    (found,) = frames(lambert._ask("GET", "/geography/places"))
    lon, lat, angle = found.values
    expected = LAMBERT.to_lonlat(*np.meshgrid(X, Y))
    np.testing.assert_allclose([lon, lat], expected, atol=1e-4)
    east = np.degrees(np.arctan2(lat[:, 1:] - lat[:, :-1], np.cos(np.radians(lat[:, 1:])) * np.diff(lon, axis=1)))
    np.testing.assert_allclose(0.5 * (angle[:, 1:] + angle[:, :-1]), east, atol=0.1)


def test_coasts_and_cities_are_in_the_coordinates_of_the_map(lambert: Remote) -> None:
    (coast,) = frames(lambert._ask("GET", "/geography/coast"))
    assert coast.header.dims == ["point", "xy"]
    assert coast.header.unit == "m"
    lon, lat = LAMBERT.to_lonlat(*coast.values[np.isfinite(coast.values[:, 0])].T.astype(float))
    assert lon.min() < 0.0 < 14.0 < lon.max()  # coasts continue beyond the map
    assert lat.min() < 46.0 < 54.5 < lat.max()
    (land,) = frames(lambert._ask("GET", "/geography/land"))
    assert len(land.values) > len(coast.values) / 2
    graticule = json.loads(lambert._ask("GET", "/geography/graticule"))
    assert {each["kind"] for each in graticule} == {"meridian", "parallel"}
    cities = {each["name"]: each for each in json.loads(lambert._ask("GET", "/geography/cities"))}
    cologne = cities["Cologne"]
    assert LAMBERT.from_lonlat(cologne["lon"], cologne["lat"]) == pytest.approx((cologne["x"], cologne["y"]))
    assert {"Berlin", "Moscow"} & set(cities) == {"Berlin"}  # cities of the map and of its surroundings


def test_a_polygon_of_degrees_paints_the_cells_inside(lambert: Remote) -> None:
    ring = [[float(each[0]) for each in LAMBERT.to_lonlat(np.array([x]), np.array([y]))]
            for x, y in ((-1.3e5, -1.9e5), (6e4, -1.9e5), (6e4, -3e4), (-1.3e5, -3e4))]  # fmt: skip
    lambert.paint("TRACER", 5e-9, polygon=ring)
    painted = lambert.values("TRACER", level=0) > 2e-9
    inside = ((X > -1.3e5) & (X < 6e4)) & ((Y > -1.9e5) & (Y < -3e4))[:, None]
    np.testing.assert_array_equal(painted, inside)
    assert 0 < inside.sum() < inside.size


def test_files_carry_the_projection(lambert: Remote) -> None:
    with xr.open_dataset(BytesIO(lambert.netcdf("TRACER")), engine="scipy") as file:
        assert file["TRACER"].attrs["grid_mapping"] == "projection"
        assert file["projection"].attrs["standard_parallel"].tolist() == [40.0, 60.0]
        assert file["lon"].dims == ("y", "x")
        np.testing.assert_allclose(file["x"], X)
        assert file["x"].attrs["standard_name"] == "projection_x_coordinate"
    with lambert.open() as opened:
        np.testing.assert_allclose(opened["lat"], LAMBERT.to_lonlat(*np.meshgrid(X, Y))[1])
        assert opened["projection"].attrs["grid_mapping_name"] == "lambert_conformal_conic"
        assert np.array_equal(opened["TRACER"].values, lambert["TRACER"].values)


def test_a_picture_is_drawn_and_a_map_of_degrees_has_no_places(lambert: Remote, remote: Remote) -> None:
    with Image.open(BytesIO(lambert.picture("TRACER"))) as picture:
        assert min(picture.size) > 300
    with pytest.raises(ServerError, match="rows and columns of this map have a latitude"):
        remote._ask("GET", "/geography/places")
    with pytest.raises(ServerError, match="straight lines"):
        remote._ask("GET", "/geography/graticule")


def test_a_finished_run_is_shown_on_its_projection(tmp_path: Path) -> None:
    case = airshed.Case.from_dict({**CASE, "time": {**CASE["time"], "length": "250 s"}})
    with airshed.Simulation(case, output=tmp_path / "run") as simulation:
        simulation.run()
    session = finished_session(tmp_path / "run")
    assert session.shape.grid.kind == "projected"
    (found,) = frames(places_frame(session))
    np.testing.assert_allclose(found.values[0], LAMBERT.to_lonlat(*np.meshgrid(X, Y))[0], atol=1e-4)
