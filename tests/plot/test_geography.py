"""Coasts, borders and cities where they are."""

import numpy as np
import pytest

from airshed.plot.geography import Area, cities, coasts_and_borders

EUROPE = Area(0, 10, 45, 55)


def nearest(lines: tuple[np.ndarray, ...], longitude: float, latitude: float) -> float:
    """Return the distance [degrees] from a point to the nearest point of some lines."""
    points = np.concatenate(lines)
    return float(np.min(np.hypot(points[:, 0] - longitude, points[:, 1] - latitude)))


def test_known_places_lie_on_coasts_and_borders() -> None:
    coasts, borders = coasts_and_borders(EUROPE)
    assert nearest(coasts, 1.58, 50.87) < 0.1  # Cap Gris-Nez
    assert nearest(borders, 6.02, 50.755) < 0.1  # Vaalserberg, where three countries meet
    assert nearest(coasts, 6.02, 50.755) > 0.5  # and no sea


@pytest.mark.parametrize("turn", [0, 360, -360])
def test_an_area_is_found_in_any_turn_of_longitude(turn: int) -> None:
    fiji = Area(176 + turn, 182 + turn, -20, -15)
    coasts, _ = coasts_and_borders(fiji)
    assert nearest(coasts, 178.4 + turn, -18.15) < 0.2  # Suva
    europe = Area(turn, 10 + turn, 45, 55)
    assert cities(europe)[0].longitude == pytest.approx(2.35 + turn, abs=0.01)


def test_no_line_crosses_the_world() -> None:
    for lines in coasts_and_borders(Area(-180, 180, -90, 90)):
        assert max(float(np.abs(np.diff(line[:, 0])).max()) for line in lines) < 20


def test_wide_areas_come_with_less_detail() -> None:
    world, _ = coasts_and_borders(Area(-180, 180, -90, 90))
    coasts, _ = coasts_and_borders(EUROPE)
    assert 3000 < sum(map(len, world)) < 40000
    near = [line for line in world if line[:, 0].min() < 1.6 and line[:, 0].max() > 1.6]
    assert nearest(tuple(near), 1.58, 50.87) < 0.4
    assert np.median([np.abs(np.diff(line, axis=0)).max() for line in coasts]) < 0.3


def test_the_largest_cities_come_first() -> None:
    found = cities(EUROPE)
    assert found[0].name == "Paris"
    assert [c.population for c in found] == sorted((c.population for c in found), reverse=True)
    assert all(0 < c.longitude < 10 and 45 < c.latitude < 55 for c in found)


def test_a_city_beyond_the_date_line_keeps_to_the_area() -> None:
    names = {c.name: c.longitude for c in cities(Area(170, 210, -25, 25))}
    assert names["Honolulu"] == pytest.approx(202.14, abs=0.1)


def test_an_ocean_has_no_city() -> None:
    assert cities(Area(-40, -30, 30, 35)) == ()
