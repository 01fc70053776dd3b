"""Grids of files: WRF, I/O API, GRIDDESC and CF, and files that are refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from tests.models.air.weather.synthetic_wrf import write_wrfout

from airshed.core.errors import DataError
from airshed.grid import Grid, LonLat
from airshed.grid.projected import MapProjection, projection
from airshed.io.grid_file import read_grid

GRIDDESC = """' '
'LamCon_34S_150E'
  2       -40.000       -15.000       133.302       133.302       -27.500
'PolarN' ! north
  6  1.0D0  60.0  -98.0  -98.0  90.0
' '
'au-test_v1'
'LamCon_34S_150E'   1480000.375    314369.500     10000.000     10000.000  10  12   1
'arctic'
'PolarN', -200000.0, -100000.0, 20000.0, 20000.0, 20, 10, 1
' '
"""


@pytest.mark.parametrize("kind", ["lambert", "polar stereographic", "mercator"])
def test_the_grid_of_wrf_output(tmp_path: Path, kind: str) -> None:
    found = read_grid(write_wrfout(tmp_path / "wrfout_d01", kind))
    assert isinstance(found.mapping, MapProjection)
    assert found.mapping.radius == 6.37e6
    assert (found.x_faces.size, found.y_faces.size) == (12, 10)
    assert np.diff(found.x_faces) == pytest.approx(np.full(11, 20e3))
    inner = read_grid(tmp_path / "wrfout_d01", 2)
    assert np.array_equal(inner.x_faces, found.x_faces[2:-2])
    assert np.array_equal(inner.y_faces, found.y_faces[2:-2])


def _geographic(
    lon: np.ndarray, lat: np.ndarray, pole_lon: float, pole_lat: float, stand_lon: float
) -> list[np.ndarray]:
    """Return longitude and latitude of points of WRF's rotated frame, by spherical trigonometry.

    The geographic pole is at (pole_lon, pole_lat) of the frame; stand_lon turns the earth about its axis. Source: WPS
    user's guide, chapter 3.
    """
    phi, away, pole = np.radians(lat), np.radians(lon - pole_lon), np.radians(pole_lat)
    sine = np.sin(pole) * np.sin(phi) + np.cos(pole) * np.cos(phi) * np.cos(away)
    along = np.sin(pole) * np.cos(phi) * np.cos(away) - np.cos(pole) * np.sin(phi)
    turned = np.degrees(np.arctan2(np.cos(phi) * np.sin(away), along)) - stand_lon
    return [(turned + 180.0) % 360.0 - 180.0, np.degrees(np.arcsin(sine))]


@pytest.mark.parametrize(
    ("pole_lat", "pole_lon", "stand_lon", "place"),
    [(40.0, 180.0, -10.0, (10.0, 50.0)), (60.0, 0.0, 150.0, (30.0, -30.0)), (12.0, 180.0, 95.0, (-95.0, 78.0))],
    ids=["Europe", "Africa", "Arctic"],
)
def test_the_rotated_pole_of_wrf(
    tmp_path: Path, pole_lat: float, pole_lon: float, stand_lon: float, place: tuple[float, float]
) -> None:
    lon, lat = np.meshgrid(180.0 + 0.1 * np.arange(-6.0, 7.0), 0.1 * np.arange(-4.0, 5.0))
    longitude, latitude = _geographic(lon, lat, pole_lon, pole_lat, stand_lon)
    assert (longitude[4, 6], latitude[4, 6]) == pytest.approx(place, abs=1e-6)
    path, dims = tmp_path / "wrfout_d01", ("Time", "south_north", "west_east")
    given = {"MAP_PROJ": 6, "POLE_LAT": pole_lat, "POLE_LON": pole_lon, "STAND_LON": stand_lon, "DX": 11117.8}
    places = {"XLONG": longitude, "XLAT": latitude}
    fields = {name: (dims, values[None].astype(np.float32)) for name, values in places.items()}
    xr.Dataset(fields, attrs=given | {"DY": 11117.8, "CEN_LAT": place[1]}).to_netcdf(path)
    found = read_grid(path)
    assert np.diff(found.x_faces) == pytest.approx(0.1, rel=1e-3)
    assert np.diff(found.y_faces) == pytest.approx(0.1, rel=1e-3)
    assert 0.5 * (found.y_faces[0] + found.y_faces[-1]) == pytest.approx(0.0, abs=1e-4)
    xr.Dataset(fields, attrs=given | {"DY": 11117.8, "CEN_LAT": 50.0, "STAND_LON": stand_lon + 40.0}).to_netcdf(
        tmp_path / "wrong"
    )
    with pytest.raises(DataError, match="its cells are not uniform"):
        read_grid(tmp_path / "wrong")


def test_the_cell_centres_are_the_mass_points(tmp_path: Path) -> None:
    path = write_wrfout(tmp_path / "wrfout_d01")
    grid = Grid.mapped(*read_grid(path), (0.0, 10.0))
    with xr.open_dataset(path) as dataset:
        assert grid.lon == pytest.approx(dataset["XLONG"].values[0], abs=1e-5)
        assert grid.lat == pytest.approx(dataset["XLAT"].values[0], abs=1e-5)


def test_a_grid_of_a_griddesc_file(tmp_path: Path) -> None:
    (tmp_path / "GRIDDESC").write_text(GRIDDESC)
    found = read_grid(tmp_path / "GRIDDESC:au-test_v1")
    assert found.x_faces[[0, -1]] == pytest.approx([1480000.375, 1580000.375])
    assert found.y_faces.size == 13
    assert found.mapping.parameters["standard_parallel"] == (-40.0, -15.0)
    north = read_grid(tmp_path / "GRIDDESC:arctic")
    assert north.mapping.parameters["latitude_of_projection_origin"] == 90.0
    assert north.mapping.to_lonlat(np.array([0.0]), np.array([0.0]))[1][0] == pytest.approx(90.0)


def test_the_grid_of_an_io_api_file_is_that_of_its_description(tmp_path: Path) -> None:
    (tmp_path / "GRIDDESC").write_text(GRIDDESC)
    attributes = {
        "GDTYP": 2, "P_ALP": -40.0, "P_BET": -15.0, "P_GAM": 133.302, "XCENT": 133.302, "YCENT": -27.5,
        "XORIG": 1480000.375, "YORIG": 314369.5, "XCELL": 10000.0, "YCELL": 10000.0, "NCOLS": 10, "NROWS": 12,
    }  # fmt: skip
    xr.Dataset({"NO": (("ROW", "COL"), np.zeros((12, 10)))}, attrs=attributes).to_netcdf(tmp_path / "emis.nc")
    expected, found = read_grid(tmp_path / "GRIDDESC:au-test_v1"), read_grid(tmp_path / "emis.nc")
    assert np.array_equal(found.x_faces, expected.x_faces)
    assert np.array_equal(found.y_faces, expected.y_faces)
    assert found.mapping.parameters == expected.mapping.parameters


def cf_file(path: Path, mapping: MapProjection, unit: str = "m") -> Path:
    """Write a CF file on a grid mapping whose y falls."""
    scale = {"km": 1e-3}.get(unit, 1.0)
    of_y, of_x = mapping.attributes()
    x, y = (
        scale * np.arange(5) * (1e4 if mapping.unit == "m" else 0.1),
        scale * np.arange(4)[::-1] * (1e4 if mapping.unit == "m" else 0.1),
    )
    xr.Dataset(
        {"crs": ((), 0, dict(mapping.parameters)), "flux": (("y", "x"), np.zeros((4, 5)), {"grid_mapping": "crs"})},
        {"x": ("x", x, {**of_x, "units": unit}), "y": ("y", y, {**of_y, "units": unit})},
    ).to_netcdf(path)
    return path


@pytest.mark.parametrize(
    ("mapping", "unit", "size"),
    [
        (projection("lambert", 10.0, 50.0, (40.0, 60.0)), "m", 1e4),
        (projection("lambert", 10.0, 50.0, (40.0, 60.0)), "km", 1e4),
        (projection("rotated pole", -162.0, 39.25), "degrees", 0.1),
        (MapProjection({"grid_mapping_name": "lambert_azimuthal_equal_area", "longitude_of_projection_origin": 10.0,
                    "latitude_of_projection_origin": 52.0}), "m", 1e4),
    ],
    ids=["lambert", "km", "rotated", "laea"],
)  # fmt: skip
def test_the_grid_of_a_cf_file(tmp_path: Path, mapping: MapProjection, unit: str, size: float) -> None:
    found = read_grid(cf_file(tmp_path / "cf.nc", mapping, unit))
    assert np.diff(found.x_faces) == pytest.approx(np.full(5, size))
    assert np.diff(found.y_faces) == pytest.approx(np.full(4, size))
    places = found.mapping.to_lonlat(*np.meshgrid(found.x_faces, found.y_faces))
    for one, other in zip(places, mapping.to_lonlat(*np.meshgrid(found.x_faces, found.y_faces)), strict=True):
        assert one == pytest.approx(other, abs=1e-9)


@pytest.mark.parametrize("names", [("lon", "lat"), ("longitude", "latitude"), ("a", "b")])
def test_the_grid_of_longitudes_and_latitudes(tmp_path: Path, names: tuple[str, str]) -> None:
    units = {"a": "degrees_east", "b": "degrees_north"}
    lon, lat = names
    coords = {
        lon: (lon, 2.0 + 0.5 * np.arange(4), {"units": units.get(lon, "degrees")}),
        lat: (lat, 50.0 - 0.25 * np.arange(3), {"units": units.get(lat, "degrees")}),
    }
    xr.Dataset({"v": ((lat, lon), np.zeros((3, 4)))}, coords).to_netcdf(tmp_path / "v.nc")
    found = read_grid(tmp_path / "v.nc")
    assert isinstance(found.mapping, LonLat)
    assert found.x_faces == pytest.approx(1.75 + 0.5 * np.arange(5))
    assert found.y_faces == pytest.approx(49.375 + 0.25 * np.arange(4))


def test_results_have_the_grid_of_their_case(tmp_path: Path) -> None:
    import airshed

    data = airshed.load_case("tracer-rotation").to_dict()
    grid = {
        "projection": {"kind": "lambert", "lon": 10.0, "lat": 50.0, "parallels": [40.0, 60.0], "radius": "6370 km"},
        "area": {"x": ["-80 km", "120 km"], "y": ["-40 km", "80 km"]}, "spacing": "20 km",
        "layers": data["grid"]["layers"],
    }  # fmt: skip
    time = {**data["time"], "length": "10 min", "step": "300 s"}
    output = [{"every": "10 min", "fields": ["TRACER"]}]
    case = airshed.Case.from_dict({**data, "grid": grid, "time": time, "emissions": {}, "output": output})
    with airshed.Simulation(case, output=tmp_path / "run") as simulation:
        simulation.run()
        assert simulation.summary().facts["grid"] == (
            "10 x 6 x 4 cells (x, y, level); lambert conformal conic on a sphere of 6370 km"
        )
    found, expected = read_grid(tmp_path / "run" / "output.nc"), case.make_grid()
    assert found.x_faces == pytest.approx(expected.x_faces)
    assert found.y_faces == pytest.approx(expected.y_faces)
    assert found.mapping.parameters == expected.mapping.parameters
    with xr.open_dataset(tmp_path / "run" / "output.nc", decode_coords="all") as output:
        assert output["TRACER"].encoding["grid_mapping"] == "projection"
        assert output["lon"].values == pytest.approx(expected.lon)


def test_a_case_with_the_grid_of_a_file_can_be_written_and_read(tmp_path: Path) -> None:
    import airshed

    write_wrfout(tmp_path / "wrfout_d01")
    grid = {"from": "wrfout_d01", "margin": 1, "layers": ["100 m", "250 m", "500 m", "1000 m"]}
    data = {**airshed.load_case("tracer-rotation").to_dict(), "grid": grid, "emissions": {}}
    case = airshed.Case.from_dict(data, base=tmp_path)
    (tmp_path / "again.toml").write_text(case.to_toml())
    for again in (airshed.Case.from_dict(case.to_dict(), base=tmp_path), airshed.Case.load(tmp_path / "again.toml")):
        assert again.hash == case.hash
        assert np.array_equal(again.make_grid().lon, case.make_grid().lon)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("GRIDDESC:other", GRIDDESC, "has no grid 'other'"),
        ("GRIDDESC:au-test", GRIDDESC, "did you mean au-test_v1"),
        ("GRIDDESC:au-test_v1", "' '\n'a'\n 2 1\n' '\n'au-test_v1'\n'b' 1 2\n", "is not a GRIDDESC file"),
        ("GRIDDESC:x", None, "cannot be read"),
        ("table.nc", "a,b\n1,2\n", "is not a netCDF file"),
    ],
)
def test_what_is_no_grid_is_refused(tmp_path: Path, name: str, content: str | None, reason: str) -> None:
    if content is not None:
        (tmp_path / name.partition(":")[0]).write_text(content)
    with pytest.raises(DataError, match=reason):
        read_grid(tmp_path / name)


@pytest.mark.parametrize(
    ("lon", "reason"),
    [([0.0, 1.0, 3.0, 4.0], "its cells are not uniform"), ([0.0], "has 1 cell along one side")],
)
def test_coordinates_that_are_not_uniform_are_refused(tmp_path: Path, lon: Any, reason: str) -> None:
    coords = {"lon": ("lon", np.array(lon), {"units": "degrees_east"}), "lat": ("lat", [50.0, 51.0])}
    xr.Dataset({"v": (("lat", "lon"), np.zeros((2, len(lon))))}, coords).to_netcdf(tmp_path / "v.nc")
    with pytest.raises(DataError, match=reason):
        read_grid(tmp_path / "v.nc")


def test_a_margin_that_leaves_no_cell_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="11 x 9 cells; a margin of 5 leaves none"):
        read_grid(write_wrfout(tmp_path / "wrfout_d01"), 5)
