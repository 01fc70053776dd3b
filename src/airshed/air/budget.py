"""Where each species came from and went: sums that follow the two-step formula, so that they close to round-off.

The formula is linear in what every process adds. So the amount B_p that process p has added obeys the same formula as
the total amount M of the species,

    B_p(n+1) = c0 B_p(n) + c1 B_p(n-1) + t0 R_p(n) + t1 R_p(n-1)     explicit: inflow, outflow
    B_p(n+1) = c0 B_p(n) + c1 B_p(n-1) + g R_p(n+1)                  implicit: emission, deposition, chemistry

and M - M(0) - sum of B_p is round-off, whatever the steps.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.kernels.stepper import TwoStepWeights

Array = npt.NDArray[np.float64]

PROCESSES: Final = ("inflow", "outflow", "emitted", "deposited", "chemistry", "clipped")
"""Columns of a budget; outflow and deposited are losses and count negative in the balance."""

SIGNS: Final = {"inflow": 1.0, "outflow": -1.0, "emitted": 1.0, "deposited": -1.0, "chemistry": 1.0, "clipped": 1.0}


class Budget:
    """Amounts [mol] that each process has added to each species since the beginning."""

    def __init__(self, species: int) -> None:
        self.amounts = np.zeros((len(PROCESSES), species))
        self._previous = np.zeros_like(self.amounts)
        self._explicit = np.zeros((2, species))

    def add(self, weights: TwoStepWeights, sums: Mapping[str, Array], emission: Array) -> None:
        """Follow one step: `sums` as the stepper returns them by name [mol/s], emission of this step [mol/s]."""
        explicit = np.stack([sums["inflow"], sums["outflow"]])
        new = weights.c0 * self.amounts + weights.c1 * self._previous
        new[:2] += weights.t0 * explicit + weights.t1 * self._explicit
        new[2] += weights.g * emission
        new[3] += weights.g * sums["deposited"]
        new[4] += weights.g * sums["chemistry"]
        new[5] += sums["clipped"]
        self._previous, self.amounts, self._explicit = self.amounts, new, explicit

    def save(self) -> dict[str, Array]:
        """Return what :meth:`restore` needs."""
        return {"amounts": self.amounts, "previous": self._previous, "explicit": self._explicit}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Take over saved sums."""
        self.amounts, self._previous, self._explicit = (arrays[key].copy() for key in ("amounts", "previous", "explicit"))
