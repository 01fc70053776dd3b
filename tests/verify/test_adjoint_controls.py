"""Negative controls of the checks of the adjoint: each fails when a term is scaled."""

import dataclasses

from airshed.adjoint.backward import Backward
from airshed.adjoint.direction import EMISSION, INITIAL
from airshed.adjoint.replay import Replay
from airshed.verify import adjoint

OFF = 1.001


def missed(figures):
    return {figure.what for figure in figures if not figure.ok}


def test_an_adjoint_of_one_input_that_is_off_is_seen(monkeypatch):
    backward = Replay.backward

    def off(self):
        found = backward(self)
        return dataclasses.replace(found, outside=OFF * found.outside)

    monkeypatch.setattr(Replay, "backward", off)
    assert missed(adjoint.check_products(adjoint.small_case(), steps=2)) == {"dot products by boundary, relative error"}


def test_an_adjoint_of_nothing_is_seen(monkeypatch):
    monkeypatch.setattr(Replay, "tangent", lambda self, direction: 0.0)
    monkeypatch.setattr(Replay, "change", 0.0)
    backward = Replay.backward
    monkeypatch.setattr(Replay, "backward", lambda self: backward(self).map(lambda each: 0.0 * each))
    assert missed(adjoint.check_products(adjoint.small_case(), steps=2)) == {"least of the products, there at all"}


def test_a_tangent_that_is_off_leaves_a_remainder_of_first_order(monkeypatch):
    tangent = Replay.tangent
    monkeypatch.setattr(Replay, "tangent", lambda self, direction: OFF * tangent(self, direction))
    (figure,) = adjoint.check_taylor(adjoint.small_case(), steps=2)
    assert not figure.ok


def test_a_gradient_that_is_off_is_seen(monkeypatch):
    run = Backward.run

    def off(self, *arguments):
        found = run(self, *arguments)
        return dataclasses.replace(found, sources={begin: OFF * each for begin, each in found.sources.items()})

    monkeypatch.setattr(Backward, "run", off)
    assert missed(adjoint.check_gradient()) == {"by the rate of a chimney, against whole runs"}


def test_the_kinds_of_inputs_are_all_there():
    inputs = {figure.what for figure in adjoint.check_products(adjoint.small_case(), steps=2)}
    assert {
        f"dot products by {kind}, relative error" for kind in (INITIAL, EMISSION, "boundary", "top", "rates")
    } < inputs
