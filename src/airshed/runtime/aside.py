"""A step to a time that lies amid a step, so that somebody can look there; the run then goes on as if nobody had.

A step that ends where somebody looks would leave a short one behind it. The two-step formula bears neither well: with
stops a fraction of a second apart NO2 over western Europe was wrong by 13 % after four hours. A step aside is given
back, so that results have the same bits wherever a run was stopped or looked at.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from airshed.core.protocols import Model, Snapshot

Arrays = Mapping[str, npt.NDArray[Any]]


class Aside:
    """Takes a model to a time amid its next step, and back.

    left  the state that the run goes on from, while the model is aside; None where that is the model's own
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self.left: Snapshot | None = None

    def go(self, seconds: float) -> None:
        """Keep the state, and advance to a time [s] by one step; all ranks do so together."""
        self.left = _copied(self._model.save())
        self._model.step_to(seconds)

    def back(self) -> None:
        """Take the model back to where it left the run, if it did; all ranks do so together."""
        if self.left is not None:
            left, self.left = self.left, None
            self._model.restore(left)


def _copied(saved: Snapshot) -> Snapshot:
    return Snapshot(_copies(saved.tiled), _copies(saved.whole), dict(saved.metadata))


def _copies(arrays: Arrays) -> dict[str, npt.NDArray[Any]]:
    return {name: np.array(array) for name, array in arrays.items()}
