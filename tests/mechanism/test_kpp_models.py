"""The mechanisms that KPP ships are read unchanged, and two methods integrate each to the same concentrations.

Part of `make test-all` if AIRSHED_KPP names a checkout of https://github.com/KineticPreProcessor/KPP, which is GPL:
nothing of it is copied here.
"""

import os
from pathlib import Path

import numpy as np
import pytest

import airshed
from airshed.mechanism import ReactionNetwork, load_mechanism

FOLDER = os.environ.get("AIRSHED_KPP", "")
FILES = sorted([*Path(FOLDER).glob("models/*.def"), *Path(FOLDER).glob("examples/mcm/*.kpp")]) if FOLDER else []
OPEN = "1e-4"
"""Value of a rate that the file leaves open: constants_mcm.f90 has those of the MCM."""

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not FILES, reason="AIRSHED_KPP names no checkout of KPP"),
    pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem),
]


def end(network: ReactionNetwork, method: str, tolerance: float) -> np.ndarray:
    """Return the concentrations [molecules/cm3] after ten minutes at noon."""
    fixed = {each.name for each in network.fixed}
    opened = [each.name for each in network.open_parameters]
    conditions = {
        "time": {"start": "12 h", "length": "600 s", "output_every": "600 s"},
        "environment": {"temperature": "288 K", "pressure": "1000 hPa", "humidity": "50 %"},
        "rates": {"SUN": "0.7", **{name: OPEN for name in opened if name not in fixed}},
        "fixed": {name: "1e-6*M" for name in opened if name in fixed},
        "solver": {"method": method, "relative_tolerance": tolerance, "most_steps": 100_000},
    }
    series = airshed.box(network, conditions)
    return np.array([series[name].values[-1] for name in network.names])


def test_it_is_read_and_integrated(path: Path) -> None:
    network = load_mechanism(path)
    assert network.reactions
    exact, other = end(network, "rodas4", 1e-7), end(network, "rodas3", 1e-5)
    assert np.isfinite(exact).all()
    assert exact.min() >= 0.0
    np.testing.assert_allclose(other, exact, rtol=1e-3, atol=1e-9 * exact.max())
