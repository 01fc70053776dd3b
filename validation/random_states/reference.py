"""The same equations solved by SciPy's Radau: implicit, of order five, and independent of Airshed's code.

A species that reactions consume without needing it as a reactant stops at zero: its consumption is proportional to
4 y / (y + 1000), in molecules cm-3.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy.integrate import solve_ivp

from airshed.mechanism import ReactionNetwork
from airshed.mechanism.network import rates

from .states import States

Array = npt.NDArray[np.float64]

RELATIVE: Final = 1e-7
ABSOLUTE: Final = 1e-3
"""Tolerances of Radau; the absolute one in molecules cm-3."""

MOST_CALLS: Final = 30_000
"""Limit of evaluations of dy/dt; a species that is cut off at zero may lead Radau to any number."""

_FEW: Final = 1e3


@dataclass(frozen=True)
class Equations:
    """dy/dt of a mechanism as matrices: speeds are products of reactants, padded with ones.

    drawn  the part of `net` by which species are consumed without being reactants
    """

    reactants: npt.NDArray[np.int64]
    net: Array
    drawn: Array

    @classmethod
    def of(cls, network: ReactionNetwork) -> "Equations":
        """Return the equations of a mechanism."""
        species, count = len(network.names), len(network.reactions)
        most = max(map(len, network.reactant_indices))
        reactants, net, drawn = np.full((count, most), species), np.zeros((species, count)), np.zeros((species, count))
        for number, own in enumerate(network.reactant_indices):
            reactants[number, : len(own)] = own
            for index, coefficient in network.net_stoichiometry[number]:
                part = drawn if coefficient < 0.0 and index not in own else net
                part[index, number] = coefficient
        return cls(reactants, net, drawn)

    def change(self, k: Array, y: Array) -> Array:
        """Return dy/dt (species,)."""
        speed = k * np.append(y, 1.0)[self.reactants].prod(axis=1)
        return np.asarray(self.net @ speed + _share(y) * (self.drawn @ speed))

    def jacobian(self, k: Array, y: Array) -> Array:
        """Return the derivative of dy/dt, (species, species)."""
        values, slopes = np.append(y, 1.0)[self.reactants], np.zeros((len(k), len(y) + 1))
        for place in range(self.reactants.shape[1]):
            others = np.delete(values, place, axis=1).prod(axis=1)
            np.add.at(slopes, (np.arange(len(k)), self.reactants[:, place]), k * others)
        of_share = _FEW / (np.maximum(y, 0.0) + _FEW) ** 2 * (self.drawn @ (k * values.prod(axis=1)))
        slopes = slopes[:, :-1]
        return np.asarray(self.net @ slopes + _share(y)[:, None] * (self.drawn @ slopes) + np.diag(of_share))


def _share(y: Array) -> Array:
    above = np.maximum(y, 0.0)
    return np.asarray(above / (above + _FEW))


def solve(states: States, cell: int, length: float) -> Array:
    """Return the state (species,) of a cell after some seconds; NaN where Radau fails or takes too long."""
    equations = Equations.of(states.network)
    k = rates(states.network, {name: float(value[cell]) for name, value in states.values.items()})
    calls = count()

    def change(t: float, y: Array) -> Array:
        if next(calls) > MOST_CALLS:
            raise TimeoutError
        return equations.change(k, y)

    nothing = np.full(len(states.y), np.nan)
    try:
        found = _radau(change, equations, k, states.y[:, cell], length)
    except TimeoutError:
        return nothing
    return found.y[:, -1] if found.success else nothing


def _radau(change: Callable[[float, Array], Array], equations: Equations, k: Array, y: Array, length: float) -> Any:
    return solve_ivp(
        change, (0.0, length), y, "Radau", rtol=RELATIVE, atol=ABSOLUTE,
        jac=lambda t, y: equations.jacobian(k, y), t_eval=[length],
    )  # fmt: skip
