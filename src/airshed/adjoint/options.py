"""How a gradient is computed, and what may look at it meanwhile."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from airshed.air.model import AirModel

if TYPE_CHECKING:
    from airshed.adjoint.backward import Adjoints

Array = npt.NDArray[np.float64]


class Watcher:
    """Is told what a gradient comes by; this one takes no notice."""

    def planned(self, line: str) -> None:
        """Take note of the checkpoint plan, a line, once it is known: before the way back."""

    def passed(self, seconds: float, worth: Callable[[], Array]) -> None:
        """Take note of a time [s] on the way back; worth: of a jump of the mixing ratios (species, level, lat, lon)."""

    def found(self, model: AirModel, adjoints: "Adjoints") -> None:
        """Take note of the adjoints while the model is still open."""


@dataclass(frozen=True)
class Options:
    """How a gradient is computed.

    source_levels  lowest levels into which sources are asked for; 0 for all that something is emitted into
    frozen         whether limiters of the transport stay as they were, rather than change with the mixing ratios
    read           whether fields and numbers that processes read in steps are asked for
    watcher        is told what is come by
    """

    source_levels: int = 1
    frozen: bool = False
    read: bool = True
    watcher: Watcher = field(default_factory=Watcher)


DEFAULT: Final = Options()
