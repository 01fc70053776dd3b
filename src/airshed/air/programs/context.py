"""What the runners of stages share, and the base class of runners."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from airshed.air.assembly import Parts
from airshed.air.budget import Budget
from airshed.air.forcing import Forcing
from airshed.air.light import PackedLight
from airshed.air.programs.records import StageRecord
from airshed.air.sources import PackedSources
from airshed.core.constants import SECONDS_PER_HOUR
from airshed.core.errors import NumericalError
from airshed.core.report import Table
from airshed.grid.box import Box
from airshed.kernels.backend import Stepper
from airshed.kernels.memory import AnyArray
from airshed.program.stage import Stage

Array = npt.NDArray[np.float64]

Span = tuple[float, float]
"""Start and end [s] of a stage in a step."""


@dataclass(frozen=True)
class AirContext:
    """What the stages of a step share: the parts of a case, its state and forcing, and the budget they add to."""

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
        """Return the step [s] of the case, or the longest useful one: transport is cut into pieces for the wind."""
        step = self.parts.case.time.step
        return self.longest_useful_step(seconds, until) if step == "auto" else step.value

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
class RunnerState:
    """What runners need to continue, in addition to the state of the model.

    held      [lat][block]..., of the columns held here;  whole  the same on all ranks;  numbers  plain values
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
        """The part of an array of columns."""
        ...


class StageRunner:
    """Runs the stages of one kernel; the defaults are those of a stage without memory and without limits.

    batch      the most steps that :meth:`run` advances at once
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

    def set_outside(self, ghosts: Array, top: Array) -> None:
        """Change the mixing ratios outside the area (species, level) and above it (species,), before the first step."""

    def save(self) -> RunnerState:
        """Return what :meth:`restore` needs; all ranks together."""
        return RunnerState()

    def restore(self, stored: StoredRunnerState, held: Box) -> None:
        """Restore the stored state of any ranks; all ranks together."""

    def wall(self) -> dict[str, float]:
        """Return the wall time of parts of all steps so far [s] that steppers do not measure."""
        return {}

    def tables(self) -> list[Table]:
        """Return tables for the summary of a run."""
        return []

    def close(self) -> None:
        """End threads and communicators that the runner owns."""
