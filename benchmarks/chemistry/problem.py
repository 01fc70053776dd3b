"""Problem of a comparison of solvers: a mechanism with its conditions, and the states of many cells."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from airshed.mechanism import ReactionNetwork
from benchmarks.chemistry.contender import Array


@dataclass(frozen=True)
class Problem:
    """A mechanism with conditions and initial states.

    file         mechanism file for MICM; None where the network is written for it
    environment  inputs of a cell by name [K, Pa, molecules, cm3, s], one number or one per cell
    parameters   inputs that the mechanism leaves open
    initial      (species, cell) [molecules cm-3]
    notes        differences from the conditions that are distributed with the mechanism
    """

    name: str
    network: ReactionNetwork
    file: Path | None
    environment: Mapping[str, npt.ArrayLike]
    parameters: Mapping[str, float]
    initial: Array
    notes: str = ""

    @property
    def cells(self) -> int:
        """Number of cells."""
        return int(self.initial.shape[1])

    @property
    def inputs(self) -> dict[str, npt.ArrayLike]:
        """All inputs of cells by name."""
        return {**self.environment, **self.parameters}

    def first(self, cells: int) -> "Problem":
        """Return the problem with its first cells only."""
        environment = {
            name: np.asarray(value)[..., :cells] if np.ndim(value) else value
            for name, value in self.environment.items()
        }
        return Problem(self.name, self.network, self.file, environment, self.parameters, self.initial[:, :cells])
