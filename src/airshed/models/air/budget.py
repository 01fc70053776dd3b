"""Where each species came from and went: sums that follow the two-step formula, so that they close to round-off.

The formula is linear in what every process adds. So the amount B_p that process p has added obeys the same formula as
the total amount M of the species,

    B_p(n+1) = c0 B_p(n) + c1 B_p(n-1) + t0 R_p(n) + t1 R_p(n-1)     explicit: inflow, outflow
    B_p(n+1) = c0 B_p(n) + c1 B_p(n-1) + g R_p(n+1)                  implicit: all others

and M - M(0) - sum of B_p is round-off, whatever the steps. The atoms of a family that the mechanism itself does not
balance are followed in the same way; the rest of what chemistry does to a family is the drift of the unconverged
iteration.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.models.air.face_budget import FaceBudget
from airshed.program.weights import StageWeights

Array = npt.NDArray[np.float64]

USUAL: Final = {"inflow": 1.0, "outflow": -1.0, "emitted": 1.0, "deposited": -1.0, "chemistry": 1.0, "clipped": 1.0}
"""Terms of every budget, each with its sign in the balance; further processes that are on stand before chemistry."""

EXPLICIT: Final = ("inflow", "outflow")
"""Those of transport, explicit in the formula; all others are implicit, but for what is clipped, an amount."""

FAMILIES: Final = {"N": "nitrogen", "S": "sulphur"}
"""Elements whose atoms are followed through all species that hold them."""


@dataclass(frozen=True)
class Baseline:
    """Where budgets count from: time [s], amounts of species [mol], and the sums of the budget at that time."""

    seconds: float
    amounts: Array
    processes: Array
    imbalance: Array


class Budget:
    """Amounts [mol] that each process has added to each species since the beginning.

    signs       of terms in the balance, by their names: losses count negative
    amounts     (term, species) [mol], in the order of signs
    imbalance   (family,) [mol of atoms] that unbalanced reactions have made
    faces       inflow and outflow by face of the boundary; None where they are not asked for
    """

    faces: FaceBudget | None = None

    def __init__(self, species: int, families: int, further: Mapping[str, float] | None = None) -> None:
        """Begin with nothing; `further` are terms of processes, each with its sign."""
        last = {name: USUAL[name] for name in ("chemistry", "clipped")}
        self.signs = {name: sign for name, sign in USUAL.items() if name not in last} | dict(further or {}) | last
        self.amounts = np.zeros((len(self.signs), species))
        self.imbalance = np.zeros(families)
        self._previous_imbalance = np.zeros(families)
        self._previous = np.zeros_like(self.amounts)
        self._explicit = np.zeros((len(EXPLICIT), species))
        self._row = {name: row for row, name in enumerate(self.signs)}
        self._explicit_rows = [self._row[name] for name in EXPLICIT]

    def add(self, weights: StageWeights, sums: Mapping[str, Array], imbalance: Array) -> None:
        """Follow one step: what each term did to each species [mol/s], and imbalance; clipped [mol].

        A term that is not given did nothing.
        """
        w, nothing = weights, np.zeros(self.amounts.shape[1])
        rates = np.array([sums.get(name, nothing) for name in self.signs])
        by = [w.t0 if name in EXPLICIT else 1.0 if name == "clipped" else w.g for name in self.signs]
        new = w.c0 * self.amounts + w.c1 * self._previous + np.array(by)[:, None] * rates
        new[self._explicit_rows] += w.t1 * self._explicit
        self._previous, self.amounts, self._explicit = self.amounts, new, rates[self._explicit_rows]
        made = w.c0 * self.imbalance + w.c1 * self._previous_imbalance + w.g * imbalance
        self._previous_imbalance, self.imbalance = self.imbalance, made
        if self.faces is not None:
            self.faces.add(weights)

    def add_chemistry(self, made: Array, clipped: Array, imbalance: Array) -> None:
        """Follow a step of chemistry alone: species made and clipped [mol], atoms that its reactions made [mol]."""
        self.amounts = self.amounts.copy()
        self.amounts[self._row["chemistry"]] += made
        self.amounts[self._row["clipped"]] += clipped
        self.imbalance = self.imbalance + imbalance

    def add_amounts(
        self, term: str, species: Sequence[int], made: Array, clipped: Array, *, all_levels: bool
    ) -> None:  # fmt: skip
        """Follow a change of some species in a term [mol], and what was clipped [mol].

        all_levels  whether the older level of the state changed alike
        """
        changed = [self.amounts.copy(), self._previous.copy()]
        for amounts in changed[: 2 if all_levels else 1]:
            amounts[self._row[term], species] += made
            amounts[self._row["clipped"], species] += clipped
        self.amounts, self._previous = changed

    def copy(self) -> Array:
        """Return all amounts as they are now in one array, for :meth:`put` and :meth:`add_up`."""
        faces = [] if self.faces is None else [self.faces.amounts.ravel()]
        return np.concatenate([self.amounts.ravel(), self.imbalance, *faces])

    def put(self, copied: Array) -> None:
        """Continue with copied amounts, by a formula without history."""
        ends = np.cumsum([self.amounts.size, self.imbalance.size])
        amounts, self.imbalance, faces = np.split(copied, ends)
        self.amounts = amounts.reshape(self.amounts.shape)
        if self.faces is not None:
            self.faces.amounts = faces.reshape(self.faces.amounts.shape)

    def add_up(self, coefficients: Sequence[float], copied: Sequence[Array], clipped: Array) -> None:
        """Follow a linear combination of states, and what was clipped in its result [mol]."""
        self.put(np.sum([each * numbers for each, numbers in zip(coefficients, copied, strict=True)], axis=0))
        self.amounts[self._row["clipped"]] += clipped

    def begin(self, seconds: float, amounts: Array) -> Baseline:
        """Return the baseline of budgets that count from a time [s] on, when there were amounts [mol] of species."""
        if self.faces is not None:
            self.faces.begin()
        return Baseline(seconds, amounts, self.amounts.copy(), self.imbalance.copy())

    def save(self) -> dict[str, Array]:
        """Return what :meth:`restore` needs."""
        return {
            "amounts": self.amounts,
            "previous": self._previous,
            "explicit": self._explicit,
            "imbalance": self.imbalance,
            "previous_imbalance": self._previous_imbalance,
            **({} if self.faces is None else self.faces.save()),
        }

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Take over saved sums."""
        self.amounts, self._previous, self._explicit, self.imbalance, self._previous_imbalance = (
            arrays[name].copy() for name in ("amounts", "previous", "explicit", "imbalance", "previous_imbalance")
        )
        if self.faces is not None:
            self.faces.restore(arrays)
