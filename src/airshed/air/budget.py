"""Where each species came from and went: sums that follow the two-step formula, so that they close to round-off.

The formula is linear in what every process adds. So the amount B_p that process p has added obeys the same formula as
the total amount M of the species,

    B_p(n+1) = c0 B_p(n) + c1 B_p(n-1) + t0 R_p(n) + t1 R_p(n-1)     explicit: inflow, outflow
    B_p(n+1) = c0 B_p(n) + c1 B_p(n-1) + g R_p(n+1)                  implicit: emission, deposition, chemistry

and M - M(0) - sum of B_p is round-off, whatever the steps. The atoms of a family that the mechanism itself does not
balance are followed in the same way; the rest of what chemistry does to a family is the drift of the unconverged
iteration.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.kernels.step.data import TwoStepWeights

Array = npt.NDArray[np.float64]

PROCESSES: Final = ("inflow", "outflow", "emitted", "deposited", "chemistry", "clipped")
"""Columns of a budget, the stepper's terms and what is emitted; outflow and deposited are losses and count negative in
the balance."""

FAMILIES: Final = {"N": "nitrogen", "S": "sulphur"}
"""Elements whose atoms are followed through all species that hold them."""

SIGNS: Final = {"inflow": 1.0, "outflow": -1.0, "emitted": 1.0, "deposited": -1.0, "chemistry": 1.0, "clipped": 1.0}


@dataclass(frozen=True)
class Baseline:
    """Where budgets count from: time [s], amounts of species [mol], and the sums of the budget at that time."""

    seconds: float
    amounts: Array
    processes: Array
    imbalance: Array


class Budget:
    """Amounts [mol] that each process has added to each species since the beginning.

    terms       of the stepper's sums, in their order
    amounts     (process, species) [mol]
    imbalance   (family,) [mol of atoms] that unbalanced reactions have made
    """

    def __init__(self, species: int, families: int, terms: Sequence[str]) -> None:
        self._places = [PROCESSES.index(term) for term in terms]
        self.amounts = np.zeros((len(PROCESSES), species))
        self.imbalance = np.zeros(families)
        self._previous_imbalance = np.zeros(families)
        self._previous = np.zeros_like(self.amounts)
        self._explicit = np.zeros((2, species))

    def add(self, weights: TwoStepWeights, sums: Array, emission: Array, imbalance: Array) -> None:
        """Follow one step: the stepper's sums (term, species), emission and imbalance of this step [mol/s]."""
        c0, c1, t0, t1, g = weights.c0, weights.c1, weights.t0, weights.t1, weights.g
        rates = np.zeros_like(self.amounts)
        rates[self._places], rates[PROCESSES.index("emitted")] = sums, emission
        new = c0 * self.amounts + c1 * self._previous + np.array([[t0], [t0], [g], [g], [g], [1.0]]) * rates
        new[:2] += t1 * self._explicit
        self._previous, self.amounts, self._explicit = self.amounts, new, rates[:2]
        made = c0 * self.imbalance + c1 * self._previous_imbalance + g * imbalance
        self._previous_imbalance, self.imbalance = self.imbalance, made

    def add_chemistry(self, made: Array, clipped: Array, imbalance: Array) -> None:
        """Follow a step of chemistry alone: species made and clipped [mol], atoms that its reactions made [mol]."""
        self.amounts = self.amounts.copy()
        self.amounts[4] += made
        self.amounts[5] += clipped
        self.imbalance = self.imbalance + imbalance

    def save(self) -> dict[str, Array]:
        """Return what :meth:`restore` needs."""
        return {
            "amounts": self.amounts,
            "previous": self._previous,
            "explicit": self._explicit,
            "imbalance": self.imbalance,
            "previous_imbalance": self._previous_imbalance,
        }

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Take over saved sums."""
        self.amounts, self._previous, self._explicit, self.imbalance, self._previous_imbalance = (
            arrays[name].copy() for name in self.save()
        )
