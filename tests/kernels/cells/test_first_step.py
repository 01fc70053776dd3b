"""A first step that is guessed is right far from balance, where the error estimate of a long one may mean nothing."""

from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from validation.random_states.reference import Equations

from airshed.kernels.cells import METHODS, Tolerances
from airshed.kernels.cells.reference import Cell, StepControl, integrate
from airshed.kernels.schedule import noon
from airshed.mechanism import load_mechanism
from airshed.mechanism.network import rates

pytestmark = pytest.mark.standard

MECHANISMS = {
    "robertson": ("A = B : 0.04; B + B = B + C : 3e-9; B + C = A + C : 1e-12;", [0.0, 1.9e13, 1.2e5]),
    "radicals": ("A = R + R : 1e-5; R + R = B : 1e-11; R + C = R + D : 1e-13;", [1.1e9, 1e12, 5e10, 0.0, 1.1e13]),
}
"""Reactions and states [molecules cm-3] with much of a species that is lost by meeting itself."""

LENGTH = 3600.0
TOLERANCES = Tolerances(1e-3, 1e4)


def errors(folder: Path, name: str, method: str, first: float) -> float:
    """Return the root mean square over species of the error over its tolerance."""
    reactions, start = MECHANISMS[name]
    names = sorted({word for word in reactions.replace(":", " ").split() if word.isalpha()})
    file = folder / f"{name}.def"
    lines = "".join(f"<{n}> {each.strip()};\n" for n, each in enumerate(reactions.split(";")[:-1]))
    file.write_text("#DEFVAR\n" + "".join(f"{each} = IGNORE;\n" for each in names) + f"#EQUATIONS\n{lines}")
    network, y = load_mechanism(file), np.array(start)
    assert list(network.names) == names
    control = StepControl(TOLERANCES, first=first, most_steps=400)
    *_, last = integrate(Cell.still(network, noon(network)), METHODS[method], y, 0.0, LENGTH, control)
    assert last.time == LENGTH
    equations, k = Equations.of(network), rates(network, noon(network))
    right = solve_ivp(
        lambda t, y: equations.change(k, y), (0.0, LENGTH), y, "Radau", rtol=1e-8, atol=1e-2,
        jac=lambda t, y: equations.jacobian(k, y), t_eval=[LENGTH],
    ).y[:, -1]  # fmt: skip
    tolerated = TOLERANCES.absolute + TOLERANCES.relative * np.maximum(right, y)
    return float(np.sqrt(np.mean(((last.y - right) / tolerated) ** 2)))


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("method", ["ros3", "rodas3", "rodas4"])
def test_a_guessed_first_step_is_right(tmp_path: Path, name: str, method: str) -> None:
    assert errors(tmp_path, name, method, 0.0) < 10.0


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_long_first_step_is_wrong(tmp_path: Path, name: str) -> None:
    assert errors(tmp_path, name, "rodas3", 0.01 * LENGTH) > 30.0
