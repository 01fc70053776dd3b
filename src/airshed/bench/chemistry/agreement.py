"""Whether both sides integrate the same problem: their tight solutions agree."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from airshed.bench.chemistry.contender import Trial, measure
from airshed.bench.chemistry.micm_cells import MicmCells, MicmModel, MicmSettings
from airshed.bench.chemistry.problem import Problem

CELLS: Final = 8
LARGEST: Final = 1e-4
"""Largest relative difference of the tight solutions, above the floor of concentrations."""

_TIGHT: Final = MicmSettings("rosenbrock_dae6", 1e-8, 1e-2)


@dataclass(frozen=True)
class Agreement:
    """The largest relative difference between the tight solutions of Airshed and MICM."""

    difference: float

    @property
    def holds(self) -> bool:
        """Whether they agree; what is not a number does not."""
        return self.difference <= LARGEST


def agreement(problem: Problem, trial: Trial) -> Agreement:
    """Compare in the first cells, over all calls; what else may differ, conditions and rates, would show here."""
    contender = MicmCells(MicmModel(problem.first(CELLS)), _TIGHT)
    return Agreement(float(np.max(measure(contender, trial.first(CELLS), repeats=1).largest)))
