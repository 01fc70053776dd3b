"""The maximum of a run in words."""

import re
from pathlib import Path

import pytest
import xarray as xr

from airshed.plot.geography import Area
from airshed.plot.maximum import location_in_words, maximum_in_words


@pytest.mark.parametrize(
    ("longitude", "latitude", "words"),
    [
        (2.35, 48.86, "near Paris"),
        (2.35, 49.4, "60 km north of Paris"),
        (0.5, 54.95, "140 km east of Newcastle upon Tyne"),
    ],
)
def test_a_location_is_named_by_the_nearest_city(longitude: float, latitude: float, words: str) -> None:
    assert location_in_words(Area(-5.0, 12.0, 45.0, 56.0), longitude, latitude) == words


def test_the_maximum_has_value_unit_location_and_time(small_run: Path, small: xr.Dataset) -> None:
    words = maximum_in_words(small_run)
    where = r"at the ground (near|\d+ km .* of) [A-Z].*"
    assert re.fullmatch(rf"Ozone \(O₃\) 1\d\d(\.\d)? µg/m³ {where}, 31 August 2022, 1\d:00 UTC", words)
    with_peak = small.copy(deep=True)
    with_peak["O3"][2, 0, 3, 2] = 3e-7
    with_peak.to_netcdf(small_run.with_name("peak.nc"))
    words = maximum_in_words(small_run.with_name("peak.nc"))
    assert words.endswith("06:00 UTC")
    assert "at the ground 40 km south of Paris" in words


def test_a_location_without_cities_is_in_degrees() -> None:
    assert location_in_words(Area(-40.0, -30.0, 40.0, 50.0), -35.0, 45.0) == "at 45°N, 35°W"
