"""What the model asks of a scheme, what a scheme is given, and where the wall time of its steps went."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from airshed.air.assembly import Parts
from airshed.air.budget import Budget
from airshed.air.cell_chemistry import CellCounts
from airshed.air.forcing import Forcing
from airshed.air.light import PackedLight
from airshed.air.schemes.taken import Note
from airshed.air.sources import PackedSources
from airshed.core.errors import NumericalError
from airshed.core.report import Table
from airshed.grid.box import Box
from airshed.kernels.backend import Stepper
from airshed.kernels.memory import AnyArray
from airshed.parallel.balance import Balance

Array = npt.NDArray[np.float64]

NEIGHBOURS, ELSEWHERE, BALANCE = "waiting for neighbours", "transport on other ranks", "balance of chemistry"

WAITING: Final = (NEIGHBOURS, ELSEWHERE, BALANCE)
"""Parts in which a rank does not compute."""


def of_stepper(stepper: Stepper, *others: Stepper) -> dict[str, float]:
    """Return the wall time [s] of the parts of all steps so far, of a stepper and of others on the same threads.

    What threads share counts as their mean.
    """
    parts = {name: sum(each.seconds[name] for each in (stepper, *others)) / stepper.threads for name in stepper.seconds}
    return parts | ({} if stepper.neighbours is None else {NEIGHBOURS: stepper.waited})


@dataclass(frozen=True)
class Setup:
    """What every scheme works with: the parts of a case, its state and forcing, and the budget to which it adds."""

    parts: Parts
    stepper: Stepper
    forcing: Forcing
    sources: PackedSources
    light: PackedLight
    budget: Budget

    @property
    def emitted(self) -> list[int]:
        """The numbers of the species that are emitted."""
        return [self.parts.network.index(name) for name in self.sources.species]

    def check_finite(self, sums: Array, seconds: float) -> None:
        """Raise NumericalError where sums (..., species) show that the state at a time [s] is lost."""
        if np.isfinite(sums).all():
            return
        lost = np.flatnonzero(~np.isfinite(np.atleast_2d(sums)).all(axis=0))[:3]
        names = ", ".join(self.parts.network.names[number] for number in lost)
        raise NumericalError(
            f"the state is no longer finite at {seconds:g} s ({names}): check rate constants and emissions, or shorten "
            "time.step"
        )


@dataclass
class Kept:
    """What a scheme needs to go on, beside the state.

    held      [lat][block]..., of the columns held here;  whole  the same on all ranks;  numbers  plain values
    """

    held: dict[str, AnyArray] = field(default_factory=dict)
    whole: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    numbers: dict[str, Any] = field(default_factory=dict)


class Given(Protocol):
    """What was kept, as a restart gives it back."""

    @property
    def whole(self) -> Mapping[str, npt.NDArray[Any]]:
        """See :class:`Kept`."""
        ...

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The plain values."""
        ...

    def part(self, name: str, box: Box) -> npt.NDArray[Any]:
        """The part of an array of columns."""
        ...


class Scheme(Protocol):
    """Advances the state of a :class:`Setup` in time.

    lasting  how many further steps leave the newest mixing ratios where they lie
    """

    lasting: int

    def longest_step(self, seconds: float, until: float) -> float:
        """Return the longest step [s] from a time; raises NumericalError for a given one that is not stable."""
        ...

    def advance(self, begin: float, ends: Sequence[float]) -> Iterator[float]:
        """Make steps that end at rising times [s], in one interval of the forcing; yield each end when done."""
        ...

    def tell(self, note: Note | None, *, lengths: bool = False) -> None:
        """Let somebody be told of each step with what it is given, as it is taken; nobody with None.

        lengths  whether that has the lengths of the steps that chemistry takes in each cell, where it takes some
        """
        ...

    def set_outside(self, ghosts: Array, top: Array) -> None:
        """Change the mixing ratios outside the area (species, level) and above it (species,), before the first step."""
        ...

    def begin_anew(self) -> None:
        """Let the next steps need no history: what acts on the state has jumped."""
        ...

    def keep(self) -> Kept:
        """Return what :meth:`restore` needs; all ranks together."""
        ...

    def restore(self, given: Given, held: Box) -> None:
        """Take over what was kept, by any ranks; all of them together."""
        ...

    def wall(self) -> dict[str, float]:
        """Return the wall time of the parts of all steps so far [s], see :func:`of_stepper`."""
        ...

    @property
    def balance(self) -> Balance | None:
        """What lets other ranks do chemistry of this one; None where nothing does."""
        ...

    def cell_counts(self) -> CellCounts | None:
        """Return what became of cells of all ranks whose chemistry has its own steps; None where none has."""
        ...

    def tables(self) -> list[Table]:
        """Return what there is to report beside budgets."""
        ...

    def close(self) -> None:
        """End what the scheme holds."""
        ...
