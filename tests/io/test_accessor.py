"""Unit conversion of arrays by their accessor."""

import numpy as np
import pytest
import xarray as xr

from airshed.core.errors import CaseError
from airshed.io.accessor import AirshedAccessor

OZONE = xr.DataArray(
    [[40e-9, 80e-9]], dims=("lat", "lon"), coords={"lat": [50.0], "lon": [5.0, 6.0]}, name="O3",
    attrs={"units": "mol mol-1", "long_name": "Mixing ratio of ozone", "molar_mass": 0.048, "standard_name": "o3"},
)  # fmt: skip
AIR = xr.DataArray(40.0, attrs={"units": "mol m-3"}, name="air_density")


@pytest.mark.parametrize(("unit", "factor"), [("ppb", 1e9), ("ppt", 1e12), ("ppm", 1e6), ("mol/mol", 1.0), ("%", 1e2)])
def test_mixing_ratios_are_converted(unit: str, factor: float) -> None:
    found = OZONE.airshed.to(unit)
    assert np.allclose(found, factor * OZONE, rtol=1e-14)
    assert found.attrs == {**OZONE.attrs, "units": unit}
    assert found.name == "O3"
    assert list(found.coords) == ["lat", "lon"]
    assert OZONE.attrs["units"] == "mol mol-1"  # the array itself is unchanged


def test_a_mass_concentration_takes_the_density_of_the_air() -> None:
    found = OZONE.airshed.to("ug/m3", air=AIR)
    assert np.allclose(found, 40e-9 * 40.0 * 0.048 * 1e9 * np.array([1.0, 2.0]))
    assert found.attrs == {"units": "ug/m3", "long_name": "Mass concentration of ozone", "molar_mass": 0.048}
    back = found.airshed.to("mol mol-1", air=AIR)
    assert np.allclose(back, OZONE, rtol=1e-14)
    assert back.attrs["long_name"] == "Mixing ratio of ozone"


def test_a_density_in_kilograms_and_the_reference_state() -> None:
    kilograms = xr.DataArray(40.0 * 28.9647e-3, attrs={"units": "kg m-3"})
    assert np.allclose(OZONE.airshed.to("ug/m3", air=kilograms), OZONE.airshed.to("ug/m3", air=AIR))
    assert OZONE.airshed.to("ug/m3", air="reference").values[0, 0] == pytest.approx(40.0 * 1.9957, rel=1e-3)


def test_a_given_molar_mass_is_used() -> None:
    bare = OZONE.drop_attrs(deep=False).assign_attrs(units="ppb") * 1e9
    bare.attrs["units"] = "ppb"
    found = bare.airshed.to("ug/m3", air=AIR, molar_mass=0.048)
    assert np.allclose(found, OZONE.airshed.to("ug/m3", air=AIR))


def test_temperatures_and_speeds_are_converted() -> None:
    kelvin = xr.DataArray([273.15, 300.0], attrs={"units": "K"})
    assert np.allclose(kelvin.airshed.to("degC"), [0.0, 26.85])
    assert np.allclose(kelvin.airshed.to("degC").airshed.to("K"), kelvin)
    assert np.allclose(xr.DataArray(10.0, attrs={"units": "m s-1"}).airshed.to("km/h"), 36.0)


REFUSED = {
    "a missing density": (OZONE, "ug/m3", {}, "O3 in mol mol-1 to ug/m3 requires the density of the air: pass air="),
    "a density of no unit": (OZONE, "ug/m3", {"air": xr.DataArray(40.0)}, "the array has no unit"),
    "a density in words": (OZONE, "ug/m3", {"air": "standard"}, "requires the density of the air"),
    "a missing molar mass": (
        OZONE.assign_attrs(molar_mass=None), "ug/m3", {"air": AIR}, "the molar mass of O3 is not known"
    ),
    "another quantity": (OZONE, "m/s", {}, "O3 is in mol mol-1, which cannot be converted to m/s"),
    "an unknown unit": (OZONE, "ppbb", {}, "did you mean ppb"),
    "a ratio of masses": (
        xr.DataArray(0.01, attrs={"units": "kg kg-1"}, name="q"), "ppb", {}, "q is in kg kg-1, which cannot be"
    ),
    "no unit": (xr.DataArray(1.0, name="O3"), "ppb", {}, "O3 has no unit"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_a_conversion_without_meaning_is_refused(case: tuple[xr.DataArray, str, dict[str, object], str]) -> None:
    array, unit, options, message = case
    with pytest.raises(CaseError, match=message):
        AirshedAccessor(array).to(unit, **options)
