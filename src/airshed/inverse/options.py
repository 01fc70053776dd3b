"""Options of a gradient, and callbacks while it is computed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from airshed.models.air.model import AirModel

if TYPE_CHECKING:
    from airshed.inverse.backward import Adjoints

Array = npt.NDArray[np.float64]


class Watcher:
    """Callbacks of a gradient; these do nothing."""

    def on_plan(self, line: str) -> None:
        """Receive the checkpoint plan, a line, before the backward pass."""

    def on_step(self, seconds: float, worth: Callable[[], Array]) -> None:
        """Receive a time [s] of the backward pass.

        worth  returns the adjoint of a jump of the mixing ratios then (species, level, lat, lon)
        """

    def on_notice(self, line: str) -> None:
        """Receive a line at the start: where a gradient continues, what is damaged, or differs from the options."""

    def save(self) -> Mapping[str, Mapping[str, Array]]:
        """Return arrays to be committed, by names of letters, digits and -; those of a name do not change later."""
        return {}

    def restore(self, kept: Mapping[str, Mapping[str, Array]]) -> None:
        """Restore what was saved, when a gradient continues."""

    def on_adjoints(self, model: AirModel, adjoints: "Adjoints") -> None:
        """Receive the adjoints while the model is still open."""


@dataclass(frozen=True)
class Options:
    """Options of a gradient.

    source_levels  number of lowest levels with adjoints of sources; 0 for all that have emission
    reactions      compute adjoints of factors on reaction rates; with `read` a sixth of the time of a reversed step,
                   which is saved only where neither is computed
    frozen         take limiters of the transport as constant
    read           compute adjoints of fields and numbers that processes read in steps
    watcher        its callbacks
    resume         folder in which the state is committed from time to time, see `adjoint.commit` of the case; a killed
                   gradient of the same case and cost continues from there, to the same bits; None for nowhere
    keep           whether the commits stay at the end, until :func:`airshed.inverse.commits.remove_commits`
    """

    source_levels: int = 1
    frozen: bool = False
    read: bool = True
    reactions: bool = True
    watcher: Watcher = field(default_factory=Watcher)
    resume: Path | str | None = None
    keep: bool = False


DEFAULT: Final = Options()
