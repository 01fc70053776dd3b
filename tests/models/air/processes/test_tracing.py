"""Formulas of a step are functions of plain arithmetic: traced into trees, they give the bits that NumPy gives."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from airshed.core.errors import FormulaError
from airshed.formula import evaluate, trace
from airshed.models.air.processes import convection, settling
from airshed.models.air.processes import wet_deposition as wet

RANGES = {
    "temperature": (220.0, 320.0), "pressure": (1e4, 105e3), "diameter": (1e-8, 1e-3), "density": (0.1, 3000.0),
    "velocity": (0.0, 5.0), "air": (1e8, 1e12), "thickness": (10.0, 1000.0), "rain": (0.0, 0.01), "henry": (1.0, 1e6),
    "acid": (0.0, 20.0), "second": (0.0, 1e-7), "base": (0.0, 1e9), "hydrogen": (1e-7, 1e-3), "path": (1e-8, 1e-6),
}  # fmt: skip
FORMULAS = [
    wet.ratio_factor, wet.collection_factor, wet.scavenging_rate, wet.given_rate, wet.at_temperature,
    wet.effective_henry, wet.equilibrium_ratio,
    settling.viscosity, settling.mean_free_path, settling.slip_correction, settling.stokes_velocity,
    settling.settling_velocity, settling.reynolds_number, settling.sinking_air, settling.outflow_rate,
]  # fmt: skip


@pytest.mark.parametrize("formula", FORMULAS, ids=lambda each: each.__name__)
def test_a_traced_formula_has_the_bits_of_numpy(formula: Callable[..., Any]) -> None:
    traced, random = trace(formula), np.random.default_rng(9)
    values = {}
    for name in traced.inputs:
        low, high = RANGES.get(name, (0.0, 2.0))
        values[name] = low + (high - low) * random.random(200)
    expected = formula(**values)
    assert np.all(np.isfinite(expected))
    assert expected.std() > 0.0
    assert evaluate(traced.outputs[0], values).tobytes() == expected.tobytes()


def test_what_is_no_formula_of_one_cell_is_refused() -> None:
    """Rain through layers and the matrix of convection look at whole columns: they are made at instants."""
    for formula in (wet.rain_in_layers, convection.column_matrix):
        with pytest.raises((FormulaError, TypeError)):
            trace(formula)
