from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels.conftest import toy_of_all_kinds

from airshed.core.errors import KernelError
from airshed.kernels.backends.cpu.kernel import compile_mechanism
from airshed.kernels.layout import Layout
from airshed.mechanism import load_mechanism
from airshed.models.air.light import (
    Light,
    PackedLight,
    cloud_factor,
    cos_zenith,
    daylight,
    effective_secant,
    global_radiation,
    photon_flux,
)

cosines = st.floats(-1.0, 1.0)
covers = st.floats(0.0, 1.0)


def rate(cos_zenith: np.ndarray, a: float = 0.0353, b: float = 0.081) -> np.ndarray:
    """NO3 photolysis of the EMEP mechanism: the rate that falls off last towards the horizon."""
    return np.asarray(daylight(cos_zenith) * a * np.exp(-b * effective_secant(cos_zenith)))


def test_daylight_ends_at_the_horizon() -> None:
    assert daylight(np.array([-1.0, -1e-9, 0.0, 1e-9, 1.0])).tolist() == [0.0, 0.0, 0.0, 1.0, 1.0]


@given(st.floats(1e-3, 1.0))
def test_secant_is_exact_above_the_horizon(cosine: float) -> None:
    assert effective_secant(np.array(cosine)) == 1.0 / cosine


def test_no_jump_at_sunrise() -> None:
    cosine = np.linspace(-0.02, 0.02, 4001)
    rates = rate(cosine)
    assert np.max(np.abs(np.diff(rates))) < 1e-3 * 0.0353
    assert np.all(np.diff(rates) >= 0.0)


def test_an_earlier_floor_would_jump() -> None:
    """The check above can fail: with the secant held at 10 the day begins with a jump."""
    cosine = np.linspace(-0.02, 0.02, 4001)
    held = daylight(cosine) * 0.0353 * np.exp(-0.081 * np.minimum(effective_secant(cosine), 10.0))
    assert np.max(np.abs(np.diff(held))) > 1e-2 * 0.0353


@given(cosines, covers, covers)
def test_more_cloud_less_light(cosine: float, one: float, other: float) -> None:
    thin, thick = cloud_factor(np.sort([one, other]), np.array(cosine))
    assert 0.0 < thick <= thin <= 1.0


def test_overcast_and_clear() -> None:
    assert cloud_factor(np.array(0.0), np.array(0.7)) == 1.0
    assert cloud_factor(np.array(1.0), np.array(0.5)) == pytest.approx(0.32, abs=0.01)
    assert cloud_factor(np.array(1.0), np.array(-0.3)) == cloud_factor(np.array(1.0), np.array(0.5))


@given(cosines, covers)
def test_radiation_is_bounded_and_dark_at_night(cosine: float, cover: float) -> None:
    radiation = float(global_radiation(np.array(cosine), np.array(cover)))
    assert 0.0 <= radiation <= 880.0
    assert radiation == 0.0 or cosine > 0.0


def test_noon_in_late_summer() -> None:
    assert global_radiation(np.array(0.75), np.array(0.0)) == pytest.approx(650.0, rel=0.05)
    assert photon_flux(np.array(0.75), np.array(0.0)) == pytest.approx(1350.0, rel=0.05)
    assert global_radiation(np.array(0.75), np.array(1.0)) == pytest.approx(0.25 * 652.5)


def test_light_sees_the_sun_where_the_formula_has_it() -> None:
    lon, lat = np.array([-179.0, 0.0, 10.3, 359.0]), np.array([-80.0, 0.0, 50.2])[:, None]
    light = Light(lon, lat, datetime(2022, 3, 1, 5, tzinfo=UTC), clouds=False)
    for hour in (-30.0, 0.0, 6.37, 13.0, 8000.0):
        when = np.datetime64("2022-03-01T05", "ns") + np.timedelta64(round(hour * 3.6e12), "ns")
        assert light.cos_zenith(3600.0 * hour) == pytest.approx(cos_zenith(when, lon, lat), abs=1e-12)


@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("clouds", [False, True])
def test_compiled_light_is_that_of_its_twin(precision: str, clouds: bool) -> None:
    kernel, random = toy_of_all_kinds(precision), np.random.default_rng(0)
    lon, lat = np.linspace(-179.0, 180.0, 19), np.linspace(-89.0, 89.0, 7)
    layout = Layout(7, 19, kernel.shape.width, kernel.dtype)
    start = datetime(2022, 3, 1, 5, tzinfo=UTC)
    packed = PackedLight(kernel, layout, *np.meshgrid(lon, lat), start, clouds=clouds)
    twin = Light(lon, lat[:, None], start, clouds=clouds)
    first, last = random.uniform(-0.1, 1.1, (2, 7, 19))
    ends, exact = (layout.pack(first), layout.pack(last)), 1e-12 if precision == "double" else 3e-6
    for seconds in (0.0, 20_000.0, 1e6):
        sun = layout.unpack(packed.at([seconds], ends, [0.3])[0])
        secant, factor = twin.secant_and_factor(seconds, 0.7 * first + 0.3 * last)
        assert sun[0] == pytest.approx(secant, rel=200 * exact)  # the secant of a low sun multiplies the cosine's error
        assert sun[1] == pytest.approx(factor, abs=exact)
        assert 0.0 < np.mean(factor == 0.0) < 1.0
        later = twin.secant_and_factor(seconds + 600.0, 0.7 * first + 0.3 * last)[0]
        assert sun[0] != pytest.approx(later, rel=200 * exact)  # which would be found


@pytest.mark.parametrize("clouds", [False, True])
def test_the_sun_of_several_times_is_that_of_each(clouds: bool) -> None:
    kernel = compile_mechanism(load_mechanism("tracer"), 2)
    layout = Layout(2, 3, kernel.shape.width, kernel.dtype)
    start, lon, lat = datetime(2022, 6, 1, 8, tzinfo=UTC), np.arange(3.0), np.array([45.0, 46.0])
    packed = PackedLight(kernel, layout, *np.meshgrid(lon, lat), start, clouds=clouds, times=4)
    random, times, weights = np.random.default_rng(0), [0.0, 600.0, 1200.0], [0.0, 0.4, 1.0]
    cover = layout.pack(random.random((2, 3))), layout.pack(random.random((2, 3)))
    suns = [each.copy() for each in packed.at(times, cover, weights)]
    assert len(suns) == 3
    for seconds, weight, sun in zip(times, weights, suns, strict=True):
        assert np.array_equal(packed.at([seconds], cover, [weight])[0], sun)
    assert not np.array_equal(suns[0], suns[1])  # which would be found
    with pytest.raises(KernelError, match="5 times were requested; the buffers hold 4"):
        packed.at([0.0] * 5, cover, [0.0] * 5)
