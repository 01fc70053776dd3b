"""Statistics of ensembles against integrals, values by hand, reliable ensembles, and the package `scores`."""

import numpy as np
import pytest

from airshed.core.errors import DataError
from airshed.evaluate import ensemble
from airshed.evaluate.ensemble import crps, rank_histogram, spread, spread_error_ratio

RANDOM = np.random.default_rng(5)
O = RANDOM.gamma(3.0, 10.0, 200)  # noqa: E741
M = RANDOM.gamma(3.0, 10.0, (7, 200))
TIED = np.round(M / 10.0) * 10.0
WIDE = np.array([[1.0], [3.0]])


def integral(o: float, members: np.ndarray) -> float:
    """Return the integral of (F(x) - H(x - o))^2, of which both are steps, exactly."""
    ends = np.sort(np.append(members, o))
    middles = (ends[1:] + ends[:-1]) / 2.0
    distribution = (members <= middles[:, None]).mean(axis=1)
    return float((np.diff(ends) * (distribution - (o <= middles)) ** 2).sum())


@pytest.mark.parametrize("members", [M, TIED, M[:1], M[:2], np.repeat(M[:1], 4, axis=0)])
def test_the_standard_score_is_the_integral_of_its_definition(members: np.ndarray) -> None:
    expected = [integral(value, members[:, number]) for number, value in enumerate(O)]
    np.testing.assert_allclose(crps(O, members, "standard"), expected, rtol=1e-12, atol=1e-12)


def test_the_fair_score_takes_off_the_distance_of_different_members() -> None:
    distances = np.abs(M[:, None] - M[None]).sum(axis=(0, 1))
    np.testing.assert_allclose(crps(O, M), np.abs(M - O).mean(axis=0) - distances / (2 * 7 * 6), rtol=1e-12, atol=1e-12)
    assert not np.allclose(crps(O, M), crps(O, M, "standard"), rtol=1e-3), "the estimators differ"
    assert crps(np.array([2.0]), WIDE).tolist() == [0.0]
    assert crps(np.array([2.0]), WIDE, "standard").tolist() == [0.5]


def test_the_fair_score_does_not_depend_on_the_number_of_members() -> None:
    observed, many = RANDOM.normal(size=40_000), RANDOM.normal(size=(20, 40_000))
    exact = 1.0 / np.sqrt(np.pi)  # of a normal distribution against values drawn from it, Gneiting and Raftery 2007
    for count in (2, 5, 20):
        assert crps(observed, many[:count]).mean() == pytest.approx(exact, abs=0.012)
    assert crps(observed, many[:2], "standard").mean() > exact + 0.2, "the standard one does"


@pytest.mark.parametrize("members", [M, TIED])
def test_package_scores(members: np.ndarray) -> None:
    probability = pytest.importorskip("scores.probability", reason="the package scores is not installed")
    import xarray as xr

    forecast, observed = xr.DataArray(members, dims=("member", "n")), xr.DataArray(O, dims="n")
    for estimator, method in (("fair", "fair"), ("standard", "ecdf")):
        theirs = probability.crps_for_ensemble(forecast, observed, "member", method=method, preserve_dims="n")
        np.testing.assert_allclose(crps(O, members, estimator), theirs, rtol=1e-12, atol=1e-12)


def test_ranks_by_hand_and_ties_in_equal_parts() -> None:
    members = np.array([[1.0, 1.0, 1.0, 2.0], [3.0, 3.0, 3.0, 2.0]])
    assert rank_histogram(np.array([0.0, 2.0, 9.0, 2.0]), members).tolist() == [1 + 1 / 3, 1 + 1 / 3, 1 + 1 / 3]
    assert rank_histogram(np.array([1.0, 0.0, 0.0, 0.0]), members).tolist() == [3.5, 0.5, 0.0]
    assert rank_histogram(O, TIED).sum() == pytest.approx(O.size)


def test_a_reliable_ensemble_has_a_ratio_of_one_and_flat_ranks_and_a_narrow_one_has_not() -> None:
    observed, members = RANDOM.normal(size=40_000), RANDOM.normal(size=(4, 40_000))
    assert spread_error_ratio(observed, members) == pytest.approx(1.0, abs=0.01)
    np.testing.assert_allclose(rank_histogram(observed, members) / 40_000, 0.2, atol=0.01)
    narrow = 0.5 * members
    assert spread_error_ratio(observed, narrow) < 0.6
    assert rank_histogram(observed, narrow)[[0, -1]].min() > 0.25 * 40_000


def test_spread_by_hand() -> None:
    assert spread(np.array([[1.0, 5.0], [3.0, 5.0]])) == 1.0
    assert np.isnan(spread_error_ratio(np.array([2.0]), WIDE))


def test_missing_values_and_members_are_left_out() -> None:
    gaps = np.vstack([M, np.full(200, np.nan)])
    gaps[0, 3] = np.nan
    observed = O.copy()
    observed[9] = np.nan
    kept = np.delete(np.arange(200), [3, 9])
    assert ensemble.scores(observed, gaps) == ensemble.scores(O[kept], M[:, kept])
    assert ensemble.scores(observed, gaps)["members"] == 7.0
    alone = ensemble.scores(O, M[:1])
    assert (alone["N"], alone["members"]) == (200.0, 1.0)
    assert np.isnan(alone["CRPS"])
    with pytest.raises(DataError, match="two members or more, not 1"):
        crps(O, M[:1])
