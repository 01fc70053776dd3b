"""Statistics against values by hand, against textbook forms, and against the package `scores`."""

import numpy as np
import pytest

from airshed.evaluate import statistics
from airshed.evaluate.statistics import METRICS, correlation, scores

O = np.array([10.0, 20.0, 30.0, 40.0])  # noqa: E741
M = np.array([12.0, 18.0, 33.0, 90.0])

BY_HAND = {
    "N": 4.0, "MO": 25.0, "MP": 38.25, "STDO": np.sqrt(125.0), "MB": 13.25, "NMB": 53.0,
    "FB": 50.0 * (2 / 22 - 2 / 38 + 3 / 63 + 50 / 130),
    "FE": 50.0 * (2 / 22 + 2 / 38 + 3 / 63 + 50 / 130),
    "RMSE": np.sqrt((4 + 4 + 9 + 2500) / 4), "FAC2": 0.75,
    "IOA": 1.0 - 2517.0 / (28.0**2 + 12.0**2 + 13.0**2 + 80.0**2),
}  # fmt: skip


@pytest.mark.parametrize("name", BY_HAND)
def test_values_by_hand(name: str) -> None:
    assert scores(O, M)[name] == pytest.approx(BY_HAND[name], rel=1e-12)


def test_correlation_of_a_line_is_one_and_of_its_mirror_minus_one() -> None:
    assert correlation(O, 3.0 * O - 7.0) == pytest.approx(1.0, abs=1e-15)
    assert correlation(O, -O) == pytest.approx(-1.0, abs=1e-15)
    assert abs(correlation(O, M)) < 0.99  # the control: another series has another one


def test_a_missing_value_removes_its_pair_only() -> None:
    with_gaps = scores(np.append(O, [np.nan, 5.0]), np.append(M, [3.0, np.nan]))
    assert with_gaps == scores(O, M)


def test_a_constant_series_has_no_correlation_and_no_warning() -> None:
    found = scores(np.full(5, 7.0), np.arange(5.0))
    assert np.isnan(found["R"])
    assert found["MB"] == -5.0


def test_no_pair_gives_nothing_but_the_number() -> None:
    found = scores(np.array([np.nan]), np.array([1.0]))
    assert found["N"] == 0.0
    assert all(np.isnan(found[name]) for name in METRICS)


def test_two_zeros_agree() -> None:
    found = scores(np.zeros(2), np.zeros(2))
    assert (found["FB"], found["FE"], found["FAC2"]) == (0.0, 0.0, 1.0)
    assert np.isnan(found["NMB"])


def test_package_scores() -> None:
    continuous = pytest.importorskip("scores.continuous", reason="the package scores is not installed")
    import xarray as xr

    random = np.random.default_rng(3)
    o, m = random.gamma(4.0, 10.0, 500), random.gamma(4.0, 11.0, 500)
    forecast, observed = xr.DataArray(m, dims="t"), xr.DataArray(o, dims="t")
    theirs = {
        "MB": continuous.additive_bias(forecast, observed),
        "RMSE": continuous.rmse(forecast, observed),
        "NMB": continuous.pbias(forecast, observed),
        "R": continuous.correlation.pearsonr(forecast, observed),
        "FB": 200.0 * ((forecast - observed) / (forecast + observed)).mean(),
        "FE": 2.0 * continuous.mae(100.0 * forecast / (forecast + observed), 100.0 * observed / (forecast + observed)),
        "FAC2": 1.0 - ((forecast < 0.5 * observed) | (forecast > 2.0 * observed)).mean(),
    }
    ours = scores(o, m)
    for name, value in theirs.items():
        assert ours[name] == pytest.approx(float(value), rel=1e-12), name


def test_uncertainty_at_the_reference_value() -> None:
    """At RV the uncertainty is U_r(RV) RV; at zero the part that does not depend on the value is left."""
    for known in statistics.UNCERTAINTIES.values():
        at = known.of(np.array([known.reference, 0.0]))
        assert at[0] == pytest.approx(known.relative * known.reference, rel=1e-14)
        assert at[1] == pytest.approx(known.relative * known.alpha * known.reference, rel=1e-14)


def test_target_of_a_pure_bias_is_on_the_vertical_axis() -> None:
    o = np.array([20.0, 40.0, 60.0])
    point = statistics.target("NO2", o, o + 10.0)
    assert point is not None
    rmsu = np.sqrt(np.mean([(0.24**2) * (0.96 * value**2 + 0.04 * 200.0**2) for value in o]))
    assert point.y == pytest.approx(10.0 / (2.0 * rmsu), rel=1e-12)
    assert point.x == pytest.approx(0.0, abs=1e-7)
    assert point.mqi == pytest.approx(point.y, rel=1e-12)


def test_target_is_right_of_the_axis_for_too_large_a_deviation_and_left_for_a_shifted_series() -> None:
    o = 50.0 + 20.0 * np.sin(np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False))
    wider, shifted = statistics.target("O3", o, 50.0 + 2.0 * (o - 50.0)), statistics.target("O3", o, np.roll(o, 3))
    assert wider is not None
    assert shifted is not None
    assert wider.x > 0.0 > shifted.x


def test_the_side_of_the_target_diagram_is_decided_by_the_observed_deviation() -> None:
    """A series of a quarter of the deviation and R = 0.8: |0.25 - 1| = 0.75 exceeds sqrt(0.4) = 0.63."""
    x = np.linspace(0.0, 2.0 * np.pi, 240, endpoint=False)
    o = 50.0 + 10.0 * np.sin(x)
    narrow, even = (
        statistics.target("NO2", o, 50.0 + size * (0.8 * np.sin(x) + 0.6 * np.cos(x))) for size in (2.5, 10.0)
    )
    assert narrow is not None
    assert even is not None
    assert narrow.x > 0.0 > even.x
    assert np.hypot(even.x, even.y) == pytest.approx(even.mqi, rel=1e-12)


def test_a_species_without_parameters_has_no_indicator() -> None:
    assert statistics.target("SO2", O, M) is None


def test_ninetieth_percentile_of_stations() -> None:
    assert statistics.ninetieth(np.arange(1.0, 21.0)) == 18.0
    assert statistics.ninetieth(np.arange(1.0, 16.0)) == pytest.approx(13.5)
    assert statistics.ninetieth(np.array([0.7])) == 0.7
    assert np.isnan(statistics.ninetieth(np.array([np.nan])))
