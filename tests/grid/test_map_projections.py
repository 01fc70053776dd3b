"""Map projections: formulas of textbooks, metrics, and the settings of a case."""

from typing import Any

import numpy as np
import pytest

import airshed
from airshed.core.errors import AirshedError
from airshed.grid import Grid
from airshed.grid.projected import MapProjection, projection

KINDS = {
    "lambert": projection("lambert", 10.0, 50.0, (40.0, 60.0)),
    "polar stereographic": projection("polar stereographic", -60.0, 76.0),
    "mercator": projection("mercator", -2.0, 16.0),
    "rotated pole": projection("rotated pole", -162.0, 39.25),
}
LIMITS = {"lambert": 6e5, "polar stereographic": 6e5, "mercator": 6e5, "rotated pole": 6.0}


def test_lambert_has_the_formula_of_the_textbook() -> None:
    """Source: Snyder 1987, Map projections: a working manual, USGS Professional Paper 1395, p. 106."""
    lon, lat = np.array([3.0, 17.0]), np.array([45.0, 58.0])
    phi, first, second, origin = (np.radians(each) for each in (lat, 40.0, 60.0, 50.0))

    def tangent(angle: Any) -> Any:
        return np.tan(np.pi / 4 + angle / 2)

    n = np.log(np.cos(first) / np.cos(second)) / np.log(tangent(second) / tangent(first))
    scale = np.cos(first) * tangent(first) ** n / n
    radius, at_origin = (6.371e6 * scale / tangent(each) ** n for each in (phi, origin))
    x, y = KINDS["lambert"].from_lonlat(lon, lat)
    assert x == pytest.approx(radius * np.sin(n * np.radians(lon - 10.0)), rel=1e-9)
    assert y == pytest.approx(at_origin - radius * np.cos(n * np.radians(lon - 10.0)), rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_places_come_back(kind: str) -> None:
    x, y = np.meshgrid(*2 * [LIMITS[kind] * np.linspace(-1.0, 1.0, 7)])
    lon, lat = KINDS[kind].to_lonlat(x, y)
    found = KINDS[kind].from_lonlat(lon, lat)
    turns = KINDS[kind].period if np.isfinite(KINDS[kind].period) else 1e30
    assert (found[0] - x + 0.5 * turns) % turns - 0.5 * turns == pytest.approx(0.0 * x, abs=1e-6)
    assert found[1] == pytest.approx(y, abs=1e-6)


@pytest.mark.parametrize("kind", ["lambert", "polar stereographic", "mercator"])
def test_conformal_maps_stretch_alike_in_both_directions(kind: str) -> None:
    faces = LIMITS[kind] * np.linspace(-1.0, 1.0, 31)
    grid = Grid.mapped(KINDS[kind], faces, faces + (2e6 if kind == "mercator" else 0.0), (0.0, 100.0))
    assert grid.x_width == pytest.approx(grid.y_width, rel=2e-3)
    assert grid.cell_area == pytest.approx(grid.x_width * grid.y_width, rel=1e-3)


def test_the_axes_are_turned_by_the_convergence_of_meridians() -> None:
    """On a Lambert grid the angle from east to x is n (lon0 - lon), counterclockwise."""
    faces = 6e5 * np.linspace(-1.0, 1.0, 25)
    grid = Grid.mapped(KINDS["lambert"], faces, faces, (0.0, 100.0))
    first, second = np.radians(40.0), np.radians(60.0)
    tangents = [np.tan(np.pi / 4 + each / 2) for each in (first, second)]
    n = np.log(np.cos(first) / np.cos(second)) / np.log(tangents[1] / tangents[0])
    assert grid.rotation == pytest.approx(n * np.radians(10.0 - grid.lon), abs=1e-4)


def test_a_grid_over_the_pole_and_one_over_the_date_line_have_whole_cells() -> None:
    faces = 6e5 * np.linspace(-1.0, 1.0, 13)
    pole = Grid.mapped(projection("polar stereographic", 0.0, 90.0), faces, faces, (0.0, 100.0))
    assert pole.cell_area.sum() == pytest.approx(1.44e12, rel=0.01)
    line = Grid.mapped(projection("mercator", 180.0, 0.0), faces, faces, (0.0, 100.0))
    assert np.ptp(line.lon) < 12.0
    assert line.contains(-179.0, 0.0)


def settings(**grid: Any) -> dict[str, Any]:
    return {
        "grid": {"layers": ["100 m"], **grid}, "chemistry": {"mechanism": "tracer"},
        "time": {"start": "2022-06-01T00:00:00Z", "length": "1 h"},
    }  # fmt: skip


LAMBERT = {"kind": "lambert", "lon": 10.0, "lat": 50.0, "parallels": [40.0, 60.0]}
SQUARE = {"lon": [0, 1], "lat": [0, 1]}
AREA = {"x": ["-80 km", "80 km"], "y": ["-40 km", "40 km"]}


def test_a_case_states_its_projection() -> None:
    case = airshed.Case.from_dict(settings(projection=LAMBERT, area=AREA, spacing="20 km"))
    grid = case.make_grid()
    assert isinstance(grid.mapping, MapProjection)
    assert grid.shape == (1, 4, 8)
    assert grid.middle == pytest.approx((10.0, 50.0))
    again = airshed.Case.from_dict(
        airshed.Case.from_dict(settings(projection=LAMBERT, area=AREA, spacing="20 km")).to_dict()
    )
    assert np.array_equal(again.make_grid().lon, grid.lon)


@pytest.mark.parametrize(
    ("grid", "reason"),
    [
        ({"projection": LAMBERT, "area": SQUARE, "spacing": "20 km"}, "grid.area.x is missing"),
        ({"projection": LAMBERT, "area": {**AREA, "lon": [0, 1]}, "spacing": "20 km"}, "lon is no edge of a lambert"),
        ({"projection": LAMBERT, "area": AREA, "spacing": "0.25 deg"}, "must be a length on a lambert grid"),
        ({"projection": LAMBERT, "area": AREA, "spacing": "30 km"}, "does not divide the 160000 m of grid.area.x"),
        ({"projection": LAMBERT, "area": AREA}, "grid.spacing.lon is missing"),
        ({"projection": {**LAMBERT, "kind": "albers"}, "area": AREA, "spacing": "20 km"}, "expected .*lambert"),
        ({"area": SQUARE, "spacing": "20 km"}, "must be an angle"),
        ({"area": {"lon": [0, 1]}, "spacing": "1 deg"}, "grid.area.lat is missing"),
        ({"from": "wrfout_d01", "spacing": "20 km"}, "grid.from gives the grid of .wrfout_d01.; remove grid.spacing"),
        ({"area": SQUARE, "spacing": "1 deg", "margin": 2}, "grid.margin = 2 removes cells of a file"),
        ({"from": "nowhere.nc"}, "nowhere.nc"),
        ({"projection": {**LAMBERT, "parallels": [-40, 40]}, "area": AREA, "spacing": "20 km"}, "projection lambert"),
    ],
)  # fmt: skip
def test_an_impossible_grid_is_refused(grid: dict[str, Any], reason: str) -> None:
    with pytest.raises(AirshedError, match=reason):
        airshed.Case.from_dict(settings(**grid)).make_grid()
