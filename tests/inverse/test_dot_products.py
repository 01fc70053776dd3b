"""Limits of the dot product test, by the precision of the steps and the size of the terms."""

import dataclasses

import pytest

import airshed
from airshed.inverse import dot_product_test, taylor_test
from airshed.inverse.verify.derivative_tests import DotProducts

from .small import small

ZERO = {"production": "0 mol/m3/s", "balances": "0 ppb"}


@pytest.mark.thorough
@pytest.mark.compiles
def test_single_precision_has_a_limit_of_its_own(tmp_path):
    case = small(tmp_path, chemistry={"precision": "single"})
    found = dot_product_test(case, steps=5)
    assert found.ok
    assert 1e-8 < found.worst < found.limit < 1e-3
    wrong = dataclasses.replace(found, by_adjoint={kind: 1.001 * each for kind, each in found.by_adjoint.items()})
    assert not wrong.ok


@pytest.mark.parametrize("wrong", [2.0, float("nan")])
def test_a_wrong_or_nan_product_is_detected(wrong):
    right = {"initial": 1.0, "top": 0.0}
    found = DotProducts(1, right, right, right, 1e-12)
    assert found.ok
    assert not dataclasses.replace(found, by_adjoint={**right, "top": wrong}).ok


def test_a_cancelling_sum_has_the_limit_of_its_terms():
    found = DotProducts(1, {"initial": 1e-9}, {"initial": 1e-9 + 1e-15}, {"initial": 1.0}, 1e-12)
    assert found.errors["initial"] == pytest.approx(1e-15, rel=1e-6, abs=0.0)


def test_a_run_without_effects_tests_nothing(tmp_path):
    case = small(tmp_path, boundary={"values": {}}, emissions={"point": [], "area": []})
    data = case.to_dict()
    for process in data["process"]:
        process |= {name: dict.fromkeys(process[name], ZERO[name]) for name in ZERO if name in process}
    case = airshed.Case.from_dict(data, base=tmp_path).allowing_code()
    found, remainder = dot_product_test(case, steps=2), taylor_test(case, steps=2)
    assert not any(found.by_adjoint.values())
    assert (found.ok, remainder.ok, remainder.undecided) == (False, False, False)
    assert all("nothing was tested" in str(each) for each in (found, remainder))
