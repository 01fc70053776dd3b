"""A cost is evaluated once at each of its times: each run of a test uses its own copy."""

import numpy as np
import pytest

from airshed.inverse import finite_difference_check, taylor_test

from .small import small, uneven


class Sum:
    """Cost that sums the mean ozone at its times in `observe`."""

    def __init__(self, model=None):
        self.times, self.value, self.model = [150.0, 300.0], 0.0, model

    def observe(self, seconds, fields):
        self.value += float(fields("O3").mean())
        self.shape = fields("O3").shape

    def gradient(self, seconds):
        return {"O3": np.full(self.shape, 1.0 / np.prod(self.shape))}


@pytest.fixture(params=["an object", "maker", "one with the model"])
def cost(request):
    return {"an object": Sum(), "maker": lambda model: Sum(), "one with the model": Sum}[request.param]


def test_differences(tmp_path, cost):
    case = small(tmp_path)
    found = finite_difference_check(case, cost, kinds=["emission"], initial=uneven(case))
    assert found.errors["emission"] < 1e-6


def test_remainders(tmp_path, cost):
    case = small(tmp_path)
    found = taylor_test(case, cost, kind="emission", initial=uneven(case))
    assert found.ok
    assert found.value == pytest.approx(80e-9, rel=0.1, abs=0.0)


def test_the_cost_of_the_caller_is_unchanged(tmp_path):
    cost = Sum()
    taylor_test(small(tmp_path), cost, kind="emission")
    assert cost.value == 0.0
