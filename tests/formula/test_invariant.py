"""Loop-invariant parts are moved out of formulas; substituting them again gives the same trees."""

import numpy as np

from airshed.formula import evaluate_all, exp, maximum, trace, where
from airshed.formula.evaluate import evaluate
from airshed.formula.invariant import split
from airshed.formula.tree import Compare, Symbol, symbols


def formulas(depth, share, rain):
    """Return an expression of rain, an invariant one, an invariant condition, and a plain input."""
    held = exp(-depth) * (1.0 - share)
    return held * rain + exp(-depth), held / 2.0, where(depth - share > 1.0, rain, maximum(rain, share)), depth


TRACED = trace(formulas)


def test_the_largest_steady_parts_are_taken_out_once_and_give_the_same() -> None:
    found = split(TRACED.outputs, {"depth", "share"})
    assert {str(each) for each in found.invariant.values()} == {
        "exp(-depth)*(1.0 - share)", "exp(-depth)", "exp(-depth)*(1.0 - share)/2.0", "depth - share",
    }  # fmt: skip
    assert not any(isinstance(each, Compare) for each in found.invariant.values())
    assert set(symbols(*found.outputs)) == {"rain", "share", "depth", *found.invariant}
    values = {"depth": np.array([0.5, 2.0]), "share": 0.25, "rain": np.array([3.0, 0.1])}
    invariant = {name: evaluate(each, values) for name, each in found.invariant.items()}
    for one, other in zip(
        evaluate_all(found.outputs, values | invariant), evaluate_all(TRACED.outputs, values), strict=True
    ):
        assert np.array_equal(one, other)


def test_without_steady_inputs_formulas_stay_as_they_are() -> None:
    found = split(TRACED.outputs, ())
    assert (found.invariant, found.outputs) == ({}, TRACED.outputs)
    assert split([Symbol("depth")], {"depth"}).invariant == {}
