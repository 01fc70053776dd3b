"""Spread of the analysis from the full Hessian, compared with linear algebra."""

import numpy as np

from airshed.inverse.fourdvar.control import Block, ControlVector, Covariance, axis_root
from airshed.inverse.fourdvar.posterior import exact


def test_the_whole_hessian_gives_the_spread_and_the_signal() -> None:
    random = np.random.default_rng(2)
    root = axis_root(np.arange(4.0), 1.5, "exponential")
    first = Block("a", ("place",), Covariance(np.array([0.5, 1.0, 2.0, 0.1]), [root]))
    second = Block("b", ("domain",), Covariance(np.array([3.0]), [None]), "gaussian")
    control = ControlVector([first, second])
    seen = random.standard_normal((3, 5))
    hessian = np.eye(5) + seen.T @ seen
    found = exact(lambda w: hessian @ w, control)
    inverse = np.linalg.inv(hessian)
    deviations = np.zeros((5, 5))
    deviations[:4, :4] = np.array([first.covariance.root(unit) for unit in np.eye(4)]).T
    deviations[4, 4] = 3.0
    covariance = deviations @ inverse @ deviations.T
    np.testing.assert_allclose(np.concatenate(list(found.spread.values())), np.sqrt(np.diag(covariance)))
    np.testing.assert_allclose(found.dfs, np.trace(np.eye(5) - inverse))
