import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from airshed.core.files import resource
from airshed.grid.coverage import SPACING, FineWindow, coverage
from airshed.models.air.emissions.countries import read_countries

WINDOW = FineWindow(west=100, south=1000, nlon=12, nlat=9)


def shapely_coverage(rings, window):
    polygon = shapely.Polygon(rings[0], rings[1:])
    west, south = np.meshgrid(window.lon_faces[:-1], window.lat_faces[:-1])
    boxes = shapely.box(west, south, west + SPACING, south + SPACING)
    return shapely.area(shapely.intersection(polygon, boxes)) / SPACING**2


def star(centre, radii):
    """Star-shaped, hence simple, closed ring around a point."""
    angles = np.linspace(0.0, 2.0 * np.pi, len(radii), endpoint=False)
    ring = np.asarray(centre) + np.asarray(radii)[:, None] * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return np.concatenate([ring, ring[:1]])


@given(
    st.tuples(st.floats(4.9, 5.7), st.floats(49.9, 50.5)),
    st.lists(st.floats(0.02, 0.5), min_size=3, max_size=12),
    st.booleans(),
)
def test_equals_exact_intersection_also_beyond_the_window(centre, radii, reverse):
    ring = star(centre, radii)
    found = coverage([[ring[::-1] if reverse else ring]], WINDOW)
    assert np.allclose(found, shapely_coverage([ring], WINDOW), atol=2e-8)


def test_a_hole_is_not_covered_and_orientation_does_not_matter():
    outer, hole = star((5.3, 50.2), [0.2] * 8), star((5.3, 50.2), [0.1] * 5)
    expected = shapely_coverage([outer, hole], WINDOW)
    for rings in ([outer, hole], [outer[::-1], hole], [outer, hole[::-1]]):
        assert np.allclose(coverage([rings], WINDOW), expected, atol=1e-9)
    assert not np.allclose(coverage([[outer]], WINDOW), expected, atol=1e-3)


def test_countries_fill_the_land_without_gap_or_overlap():
    folder = resource("cases/west-europe/emissions")
    countries = read_countries(folder / "countries.csv", folder / "countries.topo.json")
    luxembourg = countries["LU"].polygons
    window = FineWindow.around(luxembourg, 0.1)
    neighbours = [coverage(countries[iso2].polygons, window) for iso2 in ("LU", "BE", "FR", "DE")]
    assert np.allclose(sum(neighbours), 1.0, atol=1e-8)
    area = (coverage(luxembourg, window) * window.area).sum() * 1e-6
    assert area == pytest.approx(2586.0, rel=0.05)  # km2; the map is simplified


def test_window_holds_the_polygons_and_its_margin():
    window = FineWindow.around([[star((5.0, 50.0), [0.3] * 6)]], 0.1)
    assert window.lon_faces[0] <= 4.6 + 1e-9
    assert window.lon_faces[-1] >= 5.4 - 1e-9
    assert window.lat_faces.size == window.nlat + 1
    rows, columns = window.cells(np.array([5.01]), np.array([50.01]))
    assert window.lat_faces[rows[0]] <= 50.01 < window.lat_faces[rows[0] + 1]
    assert window.lon_faces[columns[0]] <= 5.01 < window.lon_faces[columns[0] + 1]
