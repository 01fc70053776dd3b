"""How a gradient is computed, and what may look at it meanwhile."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
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

    def noticed(self, line: str) -> None:
        """Take note of a line on the beginning: where a gradient goes on, what is damaged, or not as asked for."""

    def kept(self) -> Mapping[str, Mapping[str, Array]]:
        """Return arrays of what was noted on the way back, by names of letters, digits and -, to be committed.

        What was returned under a name does not change any more.
        """
        return {}

    def resumed(self, kept: Mapping[str, Mapping[str, Array]]) -> None:
        """Take over what was kept when a gradient goes on."""

    def found(self, model: AirModel, adjoints: "Adjoints") -> None:
        """Take note of the adjoints while the model is still open."""


@dataclass(frozen=True)
class Options:
    """How a gradient is computed.

    source_levels  lowest levels into which sources are asked for; 0 for all that something is emitted into
    reactions      whether factors on the rates of reactions are asked for; with `read` a sixth of the time of a step in
                   reverse, which is saved only where neither is asked for
    frozen         whether limiters of the transport stay as they were, rather than change with the mixing ratios
    read           whether fields and numbers that processes read in steps are asked for
    watcher        is told what is come by
    resume         folder in which the state is committed from time to time, see `adjoint.commit` of the case: one of
                   the same case and cost that was killed there goes on, to the same bits; None for nowhere
    keep           whether the commits stay at the end, until :func:`airshed.adjoint.commits.remove_commits`
    """

    source_levels: int = 1
    frozen: bool = False
    read: bool = True
    reactions: bool = True
    watcher: Watcher = field(default_factory=Watcher)
    resume: Path | str | None = None
    keep: bool = False


DEFAULT: Final = Options()
