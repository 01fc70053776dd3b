"""Spellings of units in files, and their conversion to the model's units."""

import pytest

from airshed.core.data import conversion
from airshed.core.errors import DataError


@pytest.mark.parametrize(
    ("given", "unit"),
    [
        ("m s**-1", "m s-1"), ("m/s", "m s-1"), ("K", "K"), ("kg kg**-1", "kg kg-1"), ("(0 - 1)", "1"), ("~", "1"),
        ("m**2 s**-2", "m2 s-2"), ("J m**-2", "J m-2"), ("m of water equivalent", "m"), ("degrees_north", "deg"),
        ("Numeric", "1"), ("Pa", "Pa"),
    ],
)  # fmt: skip
def test_the_spellings_of_the_archive_change_nothing(given: str, unit: str) -> None:
    found = conversion({"units": given}, unit, "x")
    assert not found.changes
    assert not found.missing


@pytest.mark.parametrize(
    ("given", "unit", "factor", "offset"),
    [
        ("km h**-1", "m s-1", 1 / 3.6, 0.0), ("millibars", "Pa", 100.0, 0.0), ("degC", "K", 1.0, 273.15),
        ("%", "1", 0.01, 0.0), ("g kg-1", "kg kg-1", 1e-3, 0.0), ("rad", "deg", 57.29577951308232, 0.0),
        ("radians", "deg", 57.29577951308232, 0.0), ("kJ m-2", "J m-2", 1e3, 0.0),
    ],
)  # fmt: skip
def test_units_of_the_same_kind_are_converted(given: str, unit: str, factor: float, offset: float) -> None:
    found = conversion({"units": given}, unit, "x")
    assert (found.factor, found.offset) == pytest.approx((factor, offset), rel=1e-12)
    assert found.changes


def test_other_kinds_are_refused_and_none_is_told() -> None:
    for given, unit in (
        ("K", "1"),
        ("hPa", "m"),
        ("M", "m"),
        ("m", "m s-1"),
        ("furlong", "m"),
        (3, "m"),
        ("W m-2", "J m-2"),
    ):
        with pytest.raises(DataError, match=rf"x is in '{given}'; give it in {unit}"):
            conversion({"units": given}, unit, "x")
    assert conversion({}, "m", "x").missing
    assert conversion({"units": " "}, "m", "x").missing
    assert conversion({"units": "kg m**-2"}, "m", "x", also={"kg/m2": 1e-3}).factor == pytest.approx(1e-3)
