"""Negative controls of the checks of the adjoint: each fails when a term is scaled.

The small case of tests/laws/cases.py replaces that of the checks.
"""

import dataclasses
from functools import partial

import pytest
from tests.laws.cases import small_case
from tests.laws.derivatives import changing_weather, uneven

from airshed.inverse.backward import Backward
from airshed.inverse.reverse.direction import EMISSION, INITIAL
from airshed.inverse.verify.replay import Replay
from airshed.verify import adjoint

OFF = 1.001
CHIMNEY = {"species": "NO", "lon": -28.2, "lat": 41.1, "height": "10 m"}


@pytest.fixture
def case(tmp_path, monkeypatch):
    """Replace the case of the checks by the small case in air with vertical winds."""

    def chimney_case(rate=50.0):
        point = [{**CHIMNEY, "rate": f"{rate!r} mol/s"}]
        mechanism = {"mechanism": str(tmp_path / "small.kpp")}
        return small_case(tmp_path, chemistry=mechanism, emissions={"point": point})

    made = chimney_case()
    more = {"meteorology": changing_weather(), "initial": uneven(made)}
    for name in ("dot_product_test", "taylor_test", "gradient", "Simulation"):
        monkeypatch.setattr(adjoint, name, partial(getattr(adjoint, name), **more))
    monkeypatch.setattr(adjoint, "small_case", chimney_case)
    for name, value in {"_LON": CHIMNEY["lon"], "_LAT": CHIMNEY["lat"], "_RATE": 50.0}.items():
        monkeypatch.setattr(adjoint, name, value)
    return made


def missed(figures):
    return {figure.what for figure in figures if not figure.ok}


def test_a_correct_adjoint_passes(case):
    assert missed(adjoint.check_products(case, steps=2)) == set()
    assert missed(adjoint.check_taylor(case, steps=2)) == set()
    assert missed(adjoint.check_gradient()) == set()


def test_a_wrong_adjoint_of_one_input_is_detected(case, monkeypatch):
    backward = Replay.backward

    def off(self):
        found = backward(self)
        return dataclasses.replace(found, boundary_profile=OFF * found.boundary_profile)

    monkeypatch.setattr(Replay, "backward", off)
    assert missed(adjoint.check_products(case, steps=2)) == {"dot products by boundary, relative error"}


def test_a_zero_adjoint_is_detected(case, monkeypatch):
    monkeypatch.setattr(Replay, "tangent", lambda self, direction: 0.0)
    monkeypatch.setattr(Replay, "change", 0.0)
    backward = Replay.backward
    monkeypatch.setattr(Replay, "backward", lambda self: backward(self).map(lambda each: 0.0 * each))
    assert missed(adjoint.check_products(case, steps=2)) == {"least of the products, there at all"}


def test_a_wrong_tangent_has_a_remainder_of_first_order(case, monkeypatch):
    tangent = Replay.tangent
    monkeypatch.setattr(Replay, "tangent", lambda self, direction: OFF * tangent(self, direction))
    (figure,) = adjoint.check_taylor(case, steps=2)
    assert not figure.ok


def test_a_wrong_gradient_is_detected(case, monkeypatch):
    run = Backward.run

    def off(self, *arguments):
        found = run(self, *arguments)
        return dataclasses.replace(found, sources={begin: OFF * each for begin, each in found.sources.items()})

    monkeypatch.setattr(Backward, "run", off)
    assert missed(adjoint.check_gradient()) == {"by the rate of a chimney, against whole runs"}


def test_all_kinds_of_inputs_have_a_figure(case):
    inputs = {figure.what for figure in adjoint.check_products(case, steps=2)}
    assert {
        f"dot products by {kind}, relative error" for kind in (INITIAL, EMISSION, "boundary", "top", "rates")
    } < inputs
