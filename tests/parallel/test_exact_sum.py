"""Sums have the same bits in any order and any grouping, and are accurate to 80 bits."""

from math import fsum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from airshed.core import exact_sum
from airshed.core.errors import CaseError
from airshed.kernels.backends.cpu.kernel import compile_mechanism
from airshed.mechanism import load_mechanism
from airshed.parallel.communicator import SingleRank
from airshed.parallel.domain import Subdomain, total, totals

FINITE = st.floats(-1e30, 1e30, allow_subnormal=False)
ANY = st.floats(-1e300, 1e300) | st.sampled_from([np.nan, np.inf, -np.inf, 5e-324, -0.0, 1e300])
COLUMNS = hnp.arrays(np.float64, st.tuples(st.integers(1, 40), st.just(2)), elements=FINITE)


def whole(pieces):
    greatest = np.max([exact_sum.magnitudes(piece) for piece in pieces], axis=0)
    return exact_sum.value(sum(exact_sum.parts(piece, greatest) for piece in pieces), greatest)


@given(COLUMNS, st.randoms(use_true_random=False))
def test_any_order_and_any_grouping_give_the_same_bits(values, random):
    shuffled = values[random.sample(range(len(values)), len(values))]
    cut = random.randrange(len(values) + 1)
    np.testing.assert_array_equal(whole([values]), whole([shuffled[:cut], shuffled[cut:]]))


@given(COLUMNS)
def test_the_sum_is_exact_to_80_bits_of_its_greatest_summand(values):
    exact = [fsum(column) for column in values.T]
    limit = (np.abs(values).max(axis=0) * 2.0**-79 + 2.0**-900) * len(values)
    assert (np.abs(whole([values]) - exact) <= np.maximum(limit, np.spacing(np.abs(exact)))).all()


def test_plain_addition_does_depend_on_the_order():
    values = np.array([1.0, 1e16, -1e16, 1.0])
    assert values[::-1].cumsum()[-1] != values[[1, 2, 0, 3]].cumsum()[-1]
    assert whole([values[:, None]]) == 2.0


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_spoils_its_own_column_alone(bad):
    values = np.array([[1.0, bad], [2.0, 1.0]])
    result = whole([values[:1], values[1:]])
    assert result[0] == 3.0
    assert np.isnan(result[1])


@given(hnp.arrays(np.float64, st.tuples(st.integers(0, 3), st.integers(0, 5), st.just(4)), elements=ANY))
def test_compiled_sums_are_those_of_their_twin(values):
    compiled = compile_mechanism(load_mechanism("tracer"), 2).sums
    greatest = compiled.magnitudes(values)
    parts = compiled.parts(values, greatest)
    assert greatest.tobytes() == exact_sum.magnitudes(values).tobytes()
    finite = np.isfinite(greatest)[:, None]  # the integers of a column that is not finite are undefined
    assert np.where(finite, parts - exact_sum.parts(values, greatest), 0).tolist() == np.zeros_like(parts).tolist()
    np.testing.assert_array_equal(compiled.value(parts, greatest), exact_sum.value(parts, greatest))
    for each, of_each in zip(values, compiled.value(parts, greatest), strict=True):
        np.testing.assert_array_equal(compiled.total(each), of_each)


def test_nothing_adds_up_to_zero():
    np.testing.assert_array_equal(whole([np.zeros((3, 2)), np.zeros((0, 2))]), [0.0, 0.0])


def test_a_grid_with_more_columns_than_integers_add_up_for_is_refused():
    largest = exact_sum.parts(np.full((1, 1), np.nextafter(1.0, 0.0)), np.ones(1)).max()
    assert int(largest) * exact_sum.MOST < 2**63
    Subdomain.of(2048, 2048, 8)
    with pytest.raises(CaseError, match="2049 x 2048 columns"):
        Subdomain.of(2049, 2048, 8)


@given(hnp.arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 9), st.just(3)), elements=FINITE))
def test_sums_of_several_steps_are_those_of_each(values):
    found = totals(values, SingleRank())
    assert found.shape == (len(values), 3)
    assert found.tobytes() == np.stack([total(each, SingleRank()) for each in values]).tobytes()
