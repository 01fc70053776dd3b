"""Observed order of each Rosenbrock method, with fixed steps, on a network whose solution is known to 13 digits."""

from typing import Final

import numpy as np
from scipy.integrate import solve_ivp

from airshed.core.arrays import Array
from airshed.formula.tree import Number
from airshed.kernels.backend import CellKernel, CellSolver, compile_chemistry
from airshed.kernels.cells import METHODS, Tableau, Tolerances
from airshed.kernels.cells.arguments import integrate_cells, series
from airshed.kernels.schedule import NOON
from airshed.mechanism.expressions import Parameter
from airshed.mechanism.network import OpenParameter, Reaction, ReactionNetwork, Species, tendency
from airshed.verify.figure import Figure, observed_order

END: Final = 4.0
STEPS: Final = {2: 400, 3: 200, 4: 100}
"""Steps by the order of the method, with small errors that are well above round-off."""

START: Final = np.array([1.2, 2.5])

_NEVER: Final = Tolerances(1e20, 1e20)
"""Tolerances that accept every step, the first with its maximum length."""

_DEGREE: Final = 3


def brusselator() -> ReactionNetwork:
    """Return the Brusselator, x' = A + x^2 y - (B + 1) x, y' = B x - x^2 y, with the source A as a parameter.

    Source: Prigogine & Lefever 1968, J. Chem. Phys. 48, 1695-1700.
    """
    x, y = ("X", 1.0), ("Y", 1.0)
    reactions = (
        Reaction("source", (), (x,), Parameter("A")),
        Reaction("turn", (x,), (y,), Number(3.0)),
        Reaction("grow", (("X", 2.0), y), (("X", 3.0),), Number(1.0)),
        Reaction("leave", (x,), (), Number(1.0)),
    )
    return ReactionNetwork("brusselator", (Species("X"), Species("Y")), (), reactions, declared=(OpenParameter("A"),))


def source(t: Array | float, varies: float) -> Array | float:
    """Return A at a time: 1 plus a cubic, which series of degree 3 represent exactly."""
    x = 2.0 * t / END - 1.0
    return 1.0 + varies * (4.0 * x**3 - 3.0 * x)


def exact(network: ReactionNetwork, varies: float) -> Array:
    """Return the end state (species,), by an explicit method of order 8 with a tolerance of 1e-13."""

    def slope(t: float, y: Array) -> Array:
        return tendency(network, np.array([source(t, varies), 3.0, 1.0, 1.0]), y)

    found = solve_ivp(slope, (0.0, END), START, method="DOP853", rtol=1e-13, atol=1e-14)
    return np.asarray(found.y[:, -1])


def error(kernel: CellKernel, method: Tableau, varies: float, steps: int, wanted: Array) -> float:
    """Return the largest error at the end after a number of equal steps."""
    degree = _DEGREE if varies else 0
    solver = CellSolver(kernel, method, _NEVER, longest=END / steps)
    inputs = series(kernel, lambda times: {**NOON, "A": source(times, varies)}, 0.0, END, degree=degree)
    found = integrate_cells(solver, START[:, None], inputs, 0.0, END)
    return float(np.max(np.abs(found.y[:, 0] - wanted)))


def order(kernel: CellKernel, method: Tableau, varies: float) -> float:
    """Return the order p of an error proportional to h^p, from STEPS and twice as many steps."""
    steps = STEPS[method.order]
    wanted = exact(kernel.network, varies)
    return observed_order(*(error(kernel, method, varies, count, wanted) for count in (steps, 2 * steps)))


def check() -> list[Figure]:
    """Return the orders of all methods, for constant rates and for rates that change with time."""
    kernel = compile_chemistry(brusselator())
    return [
        Figure(
            f"order of {each.name}", what, order(kernel, each, varies), each.order - 0.1, True, f"exact: {each.order}"
        )
        for each in METHODS.values()
        for what, varies in (("rates constant in time", 0.0), ("rates that change with time", 0.5))
    ]
