"""Limiters are not differentiable in uniform air: the tangent follows the recorded run, a Taylor test is undecided."""

from pathlib import Path

import numpy as np
import pytest

import airshed
from airshed.inverse import CostOfFunction, Direction, dot_product_test, gradient, tangent, taylor_test
from airshed.inverse.verify.derivative_tests import ORDER
from airshed.inverse.verify.replay import Replay

from .small import small, uneven


def test_dot_products_in_even_air(tmp_path):
    found = dot_product_test(small(tmp_path), steps=5)
    assert found.ok
    assert found.worst < 1e-13


def test_the_tangent_follows_the_run(tmp_path):
    case = small(tmp_path)

    def mean(seconds):
        return CostOfFunction(
            seconds, ["O3"], lambda q: (float(q["O3"].mean()), {"O3": np.ones_like(q["O3"]) / q["O3"].size})
        )

    adjoint = gradient(case, mean(1800.0))
    change = 1e-9 * np.random.default_rng(0).uniform(-1.0, 1.0, adjoint.adjoints.initial.shape)
    found = tangent(case, Direction(initial=change), mean(1800.0))
    assert found.cost == adjoint.value
    assert found.derivative == pytest.approx(np.sum(adjoint.adjoints.initial * change), rel=1e-11, abs=0.0)


def scale_tangent(monkeypatch, factor):
    right = Replay.tangent
    monkeypatch.setattr(Replay, "tangent", lambda self, direction: factor * right(self, direction))


def rotation(folder: Path) -> airshed.Case:
    """Return a rotating tracer, for which limiters do not switch."""
    return airshed.Case.load("tracer-rotation", ['grid.spacing="1 deg"'])


@pytest.mark.parametrize(
    ("case", "least", "most"),
    [(small, 0.9, ORDER), pytest.param(rotation, 0.99, 1.01, marks=(pytest.mark.thorough, pytest.mark.compiles))],
)
@pytest.mark.parametrize("factor", [1.0, 1.5, 0.0, -1.0])
def test_the_taylor_test_is_undecided_where_limiters_switch_at_every_size(
    tmp_path, monkeypatch, case, least, most, factor
):  # fmt: skip
    """A correct and a wrong derivative have the same remainders here; a wrong one must not be ok."""
    scale_tangent(monkeypatch, factor)
    found = taylor_test(case(tmp_path), kind="initial", steps=4)
    assert least <= found.order < most
    assert all(each.switches for each in found.remainders)
    assert found.undecided
    assert not found.ok
    assert "undecided" in str(found)
    assert "dot_product_test" in str(found)


@pytest.mark.parametrize("factor", [1.0, 1.5, 0.0, -1.0, float("nan")])
def test_in_uneven_air_the_taylor_test_decides(tmp_path, monkeypatch, factor):
    scale_tangent(monkeypatch, factor)
    case = small(tmp_path)
    found = taylor_test(case, kind="emission", steps=4, initial=uneven(case))
    assert found.ok == (factor == 1.0)
    assert not found.undecided
    assert ("no switch of a limiter explains it" in " ".join(str(found).split())) == (factor != 1.0)


@pytest.mark.thorough
@pytest.mark.compiles
@pytest.mark.parametrize("factor", [1.0, 1.5])
def test_round_off_of_single_precision_is_no_remainder(tmp_path, monkeypatch, factor):
    scale_tangent(monkeypatch, factor)
    case = small(tmp_path, chemistry={"precision": "single"})
    assert taylor_test(case, kind="rates", steps=4, initial=uneven(case)).ok == (factor == 1.0)
