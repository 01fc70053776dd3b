"""Base class of the runners of stages, and the data that runners share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from airshed.core.constants import SECONDS_PER_HOUR
from airshed.core.errors import NumericalError
from airshed.core.report import Table
from airshed.grid.box import Box
from airshed.kernels.backend import Stepper
from airshed.kernels.memory import AnyArray
from airshed.models.air.assembly import Parts
from airshed.models.air.budget import Budget
from airshed.models.air.forcing import Forcing
from airshed.models.air.light import PackedLight
from airshed.models.air.programs.records import StageRecord
from airshed.models.air.sources import PackedSources
from airshed.program.stage import Stage

Array = npt.NDArray[np.float64]

Span = tuple[float, float]
"""Start and end [s] of a stage in a step."""


@dataclass(frozen=True)
class AirContext:
    """Data that the stages of a step share: the parts of a case, its state and forcing, and its budget."""

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

    def longest_useful_step(self, seconds: float, until: float) -> float:
        """Return `time.longest` [s], or without sources, losses, updates and reactions an hour at most."""
        parts = self.parts
        acts = bool(parts.network.reactions or parts.processes.terms or parts.updates)
        return self.parts.case.time.longest.value if acts else min(until - seconds, SECONDS_PER_HOUR)

    def longest_split_step(self, seconds: float, until: float) -> float:
        """Return the step [s] of the case, or the longest useful one; transport divides it by its Courant number."""
        step = self.parts.case.time.step
        return self.longest_useful_step(seconds, until) if step == "auto" else step.value

    def check_finite(self, sums: Array, seconds: float) -> None:
        """Raise NumericalError if sums over the state at a time [s], (..., species), are not finite."""
        if np.isfinite(sums).all():
            return
        lost = np.flatnonzero(~np.isfinite(np.atleast_2d(sums)).all(axis=0))[:3]
        names = ", ".join(self.parts.network.names[number] for number in lost)
        raise NumericalError(
            f"the state is no longer finite at {seconds:g} s ({names}): check rate constants and emissions, or shorten "
            "time.step"
        )


@dataclass
class RunnerState:
    """Saved state of runners, in addition to the state of the model.

    held      arrays [lat][block]... of the columns of this rank;  whole  arrays that are the same on all ranks
    numbers   plain values
    """

    held: dict[str, AnyArray] = field(default_factory=dict)
    whole: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    numbers: dict[str, Any] = field(default_factory=dict)


class StoredRunnerState(Protocol):
    """A :class:`RunnerState` as a restart returns it."""

    @property
    def whole(self) -> Mapping[str, npt.NDArray[Any]]:
        """Arrays that are the same on all ranks."""
        ...

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The plain values."""
        ...

    def part(self, name: str, box: Box) -> npt.NDArray[Any]:
        """Return the part of an array of columns."""
        ...


class StageRunner:
    """Base class of the runners of one kernel; the defaults are those of a stage without history and step limit.

    batch      greatest number of steps that :meth:`run` advances in one call
    recording  whether :meth:`run` returns records that can be repeated
    stepper    runs the compiled code of a formula; None for cells
    """

    batch = 1
    recording = False
    stepper: Stepper | None = None

    def run(self, number: int, stage: Stage, given: Sequence[Span]) -> list[StageRecord]:
        """Advance the state by a stage of each step of a batch; return its records, empty ones unless recording."""
        raise NotImplementedError

    def longest_step(self, seconds: float, until: float) -> float:
        """Return the longest step [s] from a time; raise NumericalError for a given one that is not stable."""
        return inf

    def restart(self) -> None:
        """Continue without history: the state or its forcing has jumped."""

    def set_boundary(self, profile: Array, top: Array) -> None:
        """Change the lateral profile (species, level) and the top (species,), before the first step."""
        if self.stepper is not None:
            self.stepper.set_boundary(profile, top)

    def save(self) -> RunnerState:
        """Return the state for :meth:`restore`; all ranks together."""
        return RunnerState()

    def restore(self, stored: StoredRunnerState, held: Box) -> None:
        """Restore a state that any number of ranks saved; all ranks together."""

    def wall(self) -> dict[str, float]:
        """Return the wall time of parts of all steps so far [s], except those that steppers measure."""
        return {}

    def tables(self) -> list[Table]:
        """Return tables for the summary of a run."""
        return []

    def close(self) -> None:
        """End threads and communicators that the runner owns."""
