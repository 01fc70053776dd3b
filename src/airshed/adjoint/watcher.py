"""What may look at a gradient while it is computed."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from airshed.adjoint.backward import Adjoints
from airshed.air.model import AirModel

Array = npt.NDArray[np.float64]


class Watcher:
    """Is told what a gradient comes by; this one takes no notice."""

    def planned(self, line: str) -> None:
        """Take note of the checkpoint plan, a line, once it is known: before the way back."""

    def passed(self, seconds: float, worth: Callable[[], Array]) -> None:
        """Take note of a time [s] on the way back; worth: of a jump of the mixing ratios (species, level, lat, lon)."""

    def found(self, model: AirModel, adjoints: Adjoints) -> None:
        """Take note of the adjoints while the model is still open."""
