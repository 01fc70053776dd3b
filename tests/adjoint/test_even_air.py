"""Even air, where limiters branch on round-off: the tangent goes along the recorded run, as the adjoint does."""

import numpy as np
import pytest

from airshed.adjoint import CostOfFunction, Direction, dot_product_test, gradient, tangent

from .small import small


def test_dot_products_in_even_air(tmp_path):
    found = dot_product_test(small(tmp_path), steps=5)
    assert found.ok
    assert found.worst < 1e-13


def test_the_tangent_beside_a_run_goes_along_it(tmp_path):
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
