"""The surroundings of a map: land, coasts, borders and graticule beyond its area."""

import numpy as np
import pytest
from matplotlib.path import Path

from airshed.grid.projected import MapProjection
from airshed.plot.basemap import graticule, near, surroundings
from airshed.plot.geography import Area, Line

LAMBERT = MapProjection(
    {
        "grid_mapping_name": "lambert_conformal_conic", "standard_parallel": (45.0, 55.0),
        "longitude_of_central_meridian": 7.0, "latitude_of_projection_origin": 50.0, "earth_radius": 6371000.0,
    }
)  # fmt: skip
AREAS = {
    "degrees": Area(0.0, 10.0, 45.0, 55.0),
    "lambert": Area(-400e3, 400e3, -500e3, 500e3, LAMBERT),
    "date line": Area(172.0, 184.0, -44.0, -36.0),
}
LAND = {
    "degrees": [(2.35, 48.86), (-3.7, 40.4), (30.0, 55.0), (-100.0, 45.0), (140.0, -25.0), (100.0, -80.0)],
    "lambert": [(2.35, 48.86), (-3.7, 40.4), (20.0, 50.0), (15.0, 62.0)],
    "date line": [(176.0, -38.6), (172.6, -43.3), (134.0, -25.0), (-100.0, 45.0)],
}
SEA = {
    "degrees": [(3.0, 54.0), (-20.0, 45.0), (5.0, 40.0), (-150.0, 0.0), (0.0, 68.0), (-10.0, 75.0)],
    "lambert": [(3.0, 54.0), (-10.0, 45.0), (5.0, 40.0), (0.0, 66.0)],
    "date line": [(179.0, -40.0), (-178.0, -40.0), (160.0, -40.0), (-150.0, 0.0)],
}


def is_land(area: Area, place: tuple[float, float], land: tuple[Line, ...]) -> bool:
    """Return whether an odd number of outlines contains a longitude and latitude."""
    x, y = area.mapping.from_lonlat(np.array([place[0]]), np.array([place[1]]))
    if area.mapping.unit == "degrees":
        middle = 0.5 * (area.west + area.east)
        x = middle + (x - middle + 180.0) % 360.0 - 180.0
    return sum(Path(ring).contains_point((float(x[0]), float(y[0]))) for ring in land) % 2 == 1


@pytest.mark.parametrize("name", AREAS)
def test_land_and_sea_are_distinguished_far_beyond_the_area(name: str) -> None:
    area = AREAS[name]
    land = surroundings(area).land
    assert [is_land(area, place, land) for place in LAND[name]] == [True] * len(LAND[name])
    assert [is_land(area, place, land) for place in SEA[name]] == [False] * len(SEA[name])
    assert not is_land(area, LAND[name][0], ())


@pytest.mark.parametrize("name", AREAS)
def test_outlines_are_closed_and_few(name: str) -> None:
    found = surroundings(AREAS[name])
    assert all(np.allclose(ring[0], ring[-1]) for ring in found.land)
    assert all(np.isfinite(line).all() for lines in (found.land, found.coasts, found.borders) for line in lines)
    assert sum(map(len, found.land)) < 30_000


def test_no_line_crosses_the_globe() -> None:
    for area in (AREAS["degrees"], AREAS["date line"]):
        found = surroundings(area)
        assert max(np.abs(np.diff(line[:, 0])).max() for line in (*found.coasts, *found.borders)) < 30.0
        around = [ring for ring in found.land if ring[:, 1].min() > -85.0]  # Antarctica follows the edge of the map
        assert max(np.abs(np.diff(ring[:, 0])).max() for ring in around) < 30.0
        assert len(around) < len(found.land)


def test_detail_decreases_with_the_distance() -> None:
    area = AREAS["degrees"]
    coasts = surroundings(area).coasts
    steps = np.concatenate([np.diff(line, axis=0) for line in coasts])
    starts = np.concatenate([line[:-1] for line in coasts])
    inside = (starts[:, 0] > 0) & (starts[:, 0] < 10) & (starts[:, 1] > 45) & (starts[:, 1] < 55)
    far = np.abs(starts[:, 0] - 5.0) > 60.0
    lengths = np.hypot(*steps.T)
    assert np.median(lengths[inside]) < 0.1 < 0.5 < np.median(lengths[far])


def test_the_graticule_of_a_projected_map_follows_its_degrees() -> None:
    area = AREAS["lambert"]
    found = graticule(area)
    assert {each.degrees for each in found if each.is_meridian} >= {0.0, 10.0}
    for each in found:
        lon, lat = area.mapping.to_lonlat(*each.points.T)
        values = lon if each.is_meridian else lat
        assert np.allclose(values, each.degrees, atol=1e-6)
    other = next(each for each in found if each.is_meridian)
    assert not np.allclose(area.mapping.to_lonlat(*other.points.T)[0], other.degrees + 1.0)


def test_the_surroundings_with_cities_are_larger_than_the_area() -> None:
    area = AREAS["degrees"]
    assert near(area).west < area.west - 3.0
    assert near(Area(6.9, 7.1, 50.9, 51.1)).north > 53.0
