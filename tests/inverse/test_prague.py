"""The semi-synthetic weather of cases/prague has the documented balance, and its receptor is that of the paper."""

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import xarray as xr

import airshed
from airshed.inverse.receptors.receptor import Receptor

CASE = Path(__file__).parents[2] / "cases" / "prague"


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_meteorology", CASE / "make_meteorology.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_wind_is_balanced_aloft_and_a_surface_wind_below(maker: ModuleType) -> None:
    lat, lon = np.arange(40.0, 60.0), np.arange(0.0, 20.0)
    msl = xr.DataArray(101300.0 - 100.0 * (lat - 50.0), dims="lat", coords={"lat": lat}).expand_dims(lon=lon)
    surface = xr.Dataset({"msl": msl, "t2m": 285.0 + 0.0 * msl, "u10": 1.0 + 0.0 * msl, "v10": 2.0 + 0.0 * msl})
    made = maker.balanced(surface).sel(lat=50.0, lon=10.0)
    f, density = 2.0 * 7.2921e-5 * np.sin(np.radians(50.0)), 101300.0 / (287.05 * 285.0)
    colder = (500.0 / 1013.0) ** (287.05 * 6.5e-3 / 9.80665)  # a part of the air there, and so a smaller slope
    expected = colder * 100.0 / (6.371e6 * np.radians(1.0)) / (density * f)
    assert float(made.u.sel(pressure_level=500)) == pytest.approx(expected, rel=1e-3)
    assert float(made.v.sel(pressure_level=500)) == pytest.approx(0.0, abs=0.02)
    under = made.sel(pressure_level=1020)
    assert (float(under.u), float(under.v)) == pytest.approx((1.0, 2.0), rel=0.01)


def test_the_receptor_is_ozone_in_prague_with_fields_of_the_tenth_layer_18_hours_before() -> None:
    case = airshed.Case.load(CASE)
    receptor = Receptor.of(case.receptor.to_mapping(), case.time.length.value)
    assert (receptor.title, receptor.times) == ("O3 in Prague", (36 * 3600.0,))
    assert receptor.weights(case.make_grid()).sum() == pytest.approx(1.0)
    assert (case.receptor.map_layer, case.receptor.fields) == (9, ("NO2", "O3"))
    assert (receptor.times[0] - 18 * 3600.0) % case.receptor.every.value == 0.0
    assert "semi-synthetic" in f"{case.title} {case.description}"
