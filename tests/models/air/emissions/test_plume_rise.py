"""Plume rise against the formulas of Briggs in air of one kind, and in air of several kinds."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.models.air.emissions.plume_rise import AirAtStacks, Exhaust, highest_rise, layer_fractions, plume_rise

THICK = np.array([0.0, 100.0, 300.0, 700.0, 1500.0, 3000.0, 6000.0])
THIN = np.linspace(0.0, 6000.0, 601)


def exhaust(flux: float = 300.0, height: float = 100.0, air: float = 288.0) -> Exhaust:
    """Return a stack with a buoyancy flux [m4 s-3] in air of a temperature [K]."""
    diameter, hot = 4.0, 400.0
    velocity = flux / (9.80665 * diameter**2 / 4.0 * (hot - air) / hot)
    return Exhaust(*(np.array([each]) for each in (height, diameter, velocity, hot)))


def air(
    faces: np.ndarray, kind: str, wind: float = 5.0, stability: float = 3e-4, friction: float = 1e-3
) -> AirAtStacks:
    shape = faces.size - 1, 1
    is_kind = {name: np.full(shape, kind == name) for name in ("convective", "stable")}
    layer = np.array([int(np.searchsorted(faces, 100.0, side="right")) - 1])
    return AirAtStacks(
        np.full(shape, wind), np.full(shape, stability), is_kind["convective"], is_kind["stable"],
        np.array([friction]), np.array([288.0]), layer,
    )  # fmt: skip


@pytest.mark.parametrize("faces", [THICK, THIN], ids=["thick", "thin"])
def test_in_air_of_one_kind_the_rise_is_that_of_the_formula_for_any_layers(faces: np.ndarray) -> None:
    wind, s = 5.0, 3e-4
    for flux in (20.0, 300.0, 1200.0):
        stable = 2.6 * (flux / (wind * s)) ** (1.0 / 3.0)
        final = 3.5 * (14.0 * flux**0.625 if flux < 55.0 else 34.0 * flux**0.4)
        neutral = 1.6 * flux ** (1.0 / 3.0) * final ** (2.0 / 3.0) / wind
        for kind, expected in (
            ("stable", stable),
            ("neutral", neutral),
            ("convective", 30.0 * (flux / wind) ** 0.6),
        ):
            found = plume_rise(exhaust(flux), air(faces, kind, wind, s), faces)
            assert found == pytest.approx([expected], rel=5e-3), (kind, flux)
            assert found[0] < highest_rise(exhaust(flux))[0]


def test_friction_breaks_a_plume_up() -> None:
    """Briggs 1975: r = 1.3 F / (u u*^2) (1 + h/r)^(2/3)."""
    wind, friction, flux, height = 4.0, 1.0, 300.0, 100.0
    (rise,) = plume_rise(exhaust(flux), air(THIN, "neutral", wind, friction=friction), THIN)
    assert rise == pytest.approx(1.3 * flux / (wind * friction**2) * (1.0 + height / rise) ** (2.0 / 3.0), rel=0.05)
    assert rise < 0.6 * plume_rise(exhaust(flux), air(THIN, "neutral", wind), THIN)[0]


def under_an_inversion(kind: str) -> AirAtStacks:
    """Return air of a kind up to 400 m, with an inversion of 10 K per 100 m above."""
    below = THIN[:-1, None] < 400.0
    whole = air(THIN, kind)
    return replace(
        whole, convective=whole.convective & below, stable=whole.stable | ~below,
        stability=np.where(below, whole.stability, 3.5e-3),
    )  # fmt: skip


def test_a_hot_plume_under_an_inversion_is_higher_in_convective_than_in_stable_air() -> None:
    convective, stable = (plume_rise(exhaust(), under_an_inversion(kind), THIN)[0] for kind in ("convective", "stable"))
    free = plume_rise(exhaust(), air(THIN, "convective"), THIN)[0]
    assert stable < convective < free
    assert 100.0 + 1.5 * convective > 400.0, "its top penetrates the inversion"


def test_a_hotter_plume_penetrates_farther_and_a_weak_one_not_at_all() -> None:
    tops = [100.0 + 1.5 * plume_rise(exhaust(flux), under_an_inversion("convective"), THIN)[0]
            for flux in (10.0, 300.0, 1000.0, 3000.0)]  # fmt: skip
    assert tops[0] < 400.0 < tops[1] < tops[2] < tops[3]


def test_exhaust_colder_than_the_air_rises_by_its_momentum() -> None:
    cold = Exhaust(*(np.array([each]) for each in (100.0, 2.0, 15.0, 280.0)))
    assert cold.buoyancy_flux(np.array([288.0])) == [0.0]
    assert plume_rise(cold, air(THICK, "neutral"), THICK) == pytest.approx([3.0 * 2.0 * 15.0 / 5.0])
    flux = (15.0 * 2.0) ** 2 * 288.0 / (4.0 * 280.0)
    for stability in (3e-4, 3e-3):
        expected = 1.5 * (flux / 5.0) ** (1.0 / 3.0) * stability ** (-1.0 / 6.0)
        found = plume_rise(cold, air(THICK, "stable", stability=stability), THICK)
        assert found == pytest.approx([min(expected, 18.0)])
    assert expected < 18.0


def test_buoyancy_flux_of_an_example() -> None:
    """4 m wide, 15 m/s, 400 K in air of 288 K: 9.80665 * 15 * 4 * 112 / 400 = 164.75 m4 s-3."""
    stack = Exhaust(*(np.array([each]) for each in (100.0, 4.0, 15.0, 400.0)))
    assert stack.buoyancy_flux(np.array([288.0])) == pytest.approx([164.75], rel=1e-4)


@given(st.floats(0.0, 900.0), st.floats(0.0, 8000.0))
def test_the_layers_of_a_plume_sum_to_one(height: float, rise: float) -> None:
    fractions = layer_fractions(np.array([height]), np.array([rise]), THICK)
    assert fractions.min() >= 0.0
    assert fractions.sum() == pytest.approx(1.0, abs=1e-12)


def test_a_plume_covers_half_its_rise_on_both_sides_of_its_centre() -> None:
    fractions = layer_fractions(np.array([100.0]), np.array([400.0]), THICK)[:, 0]  # from 300 m to 700 m
    assert fractions == pytest.approx([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    still = layer_fractions(np.array([50.0]), np.array([0.0]), THICK)[:, 0]
    assert still == pytest.approx([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    beyond = layer_fractions(np.array([100.0]), np.array([9000.0]), THICK)[:, 0]
    assert beyond[-1] == pytest.approx(1.0)
