"""Steps of the air as they ran, with all that their stages were given: what repeats and reverses a run reads these."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from airshed.air.cell_chemistry import Air
from airshed.air.repeated_chemistry import Integrated
from airshed.kernels.memory import AnyArray, aligned_copy
from airshed.kernels.step.data import Pair, StepForcing
from airshed.program.stage import Program

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class FormulaStep:
    """One application of a formula by the compiled step, from `begin` to `end` [s].

    emission  the periods of sources by their beginnings [s], and the share that each has in the emission
    """

    begin: float
    end: float
    forcing: StepForcing
    emission: tuple[tuple[float, float], ...]

    def detached(self) -> "FormulaStep":
        """Return it with a copy of the sun, whose memory later steps reuse."""
        step = self.forcing
        if step.column is None:
            return self
        return replace(self, forcing=replace(step, column=replace(step.column, sun=aligned_copy(step.column.sun))))


@dataclass(frozen=True)
class CellWeather:
    """The air of cells without its density: fields at both ends of an interval of the forcing.

    weight  position of the instant between the ends, 0 to 1;  sun  then, see :class:`airshed.air.cell_chemistry.Air`
    """

    temperature: Pair
    water: Pair
    parameters: Pair
    weight: float
    sun: AnyArray

    def with_density(self, density: AnyArray) -> Air:
        """Return the air of cells; density: [molecules cm-3] as in `Air`."""
        temperature, water, parameters = (self._at(each) for each in (self.temperature, self.water, self.parameters))
        return Air(temperature, water, density, parameters, self.sun)

    def _at(self, pair: Pair) -> Array:
        start, end = pair
        return np.asarray((1.0 - self.weight) * start + self.weight * end, np.float64)


@dataclass(frozen=True)
class MoveRecord:
    """A stage of transport, columns, or both: the applications of its formula in their order."""

    steps: tuple[FormulaStep, ...]


@dataclass(frozen=True)
class CellsRecord:
    """A stage of chemistry: the weather of its middle, and the steps that its cells took."""

    weather: CellWeather
    integrated: Integrated


@dataclass(frozen=True)
class UpdatesRecord:
    """A stage of updates, which cannot be repeated."""


@dataclass(frozen=True)
class SumRecord:
    """A sum of values."""


StageRecord = MoveRecord | CellsRecord | UpdatesRecord | SumRecord


@dataclass(frozen=True)
class StepRecord:
    """A step from `begin` to `end` [s]: its program, and the record of each of its stages."""

    begin: float
    end: float
    program: Program
    stages: tuple[StageRecord, ...]

    @property
    def formula_steps(self) -> tuple[FormulaStep, ...]:
        """All applications of formulas, in their order."""
        return tuple(step for stage in self.stages if isinstance(stage, MoveRecord) for step in stage.steps)

    def with_forcing(self, make: Callable[[FormulaStep], StepForcing]) -> "StepRecord":
        """Return the record with forcings that a function makes of each application of a formula."""
        return self._with(lambda step: replace(step, forcing=make(step)))

    def detached(self) -> "StepRecord":
        """Return a record that stays as it is when further steps run."""
        return self._with(FormulaStep.detached)

    def _with(self, change: Callable[[FormulaStep], FormulaStep]) -> "StepRecord":
        stages = [
            MoveRecord(tuple(map(change, each.steps))) if isinstance(each, MoveRecord) else each
            for each in self.stages
        ]  # fmt: skip
        return replace(self, stages=tuple(stages))


OnStep = Callable[[StepRecord], None]
"""Callback that receives the record of each step when it has run (of several steps in one pass, before)."""
