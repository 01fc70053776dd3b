"""Records of the steps of the air with all inputs of their stages, for executors that repeat or reverse a run."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from airshed.core.arrays import Array
from airshed.kernels.host import AnyArray, aligned_copy
from airshed.kernels.step.arguments import Pair, StepForcing
from airshed.models.air.programs.cell_chemistry import Air, CellIntegration
from airshed.program.stage import Program


@dataclass(frozen=True)
class FormulaStep:
    """Application of a formula by the compiled step, from `begin` to `end` [s].

    emission  periods of the sources by their beginnings [s], with the weight of each in the emission of the step
    """

    begin: float
    end: float
    forcing: StepForcing
    emission: tuple[tuple[float, float], ...]

    def detached(self) -> "FormulaStep":
        """Return the step with a copy of the sun, whose memory later steps reuse."""
        step = self.forcing
        if step.column is None:
            return self
        return replace(self, forcing=replace(step, column=replace(step.column, sun=aligned_copy(step.column.sun))))


@dataclass(frozen=True)
class CellWeather:
    """Air of cells without its density: fields at both ends of an interval of the forcing.

    weight  position of the instant between the ends, 0 to 1
    sun     at the instant, see :class:`airshed.models.air.programs.cell_chemistry.Air`
    """

    temperature: Pair
    water: Pair
    parameters: Pair
    weight: float
    sun: AnyArray

    def with_density(self, density: AnyArray) -> Air:
        """Return the air of cells for a density [molecules cm-3], see `Air`."""
        temperature, water, parameters = (self._at(each) for each in (self.temperature, self.water, self.parameters))
        return Air(temperature, water, density, parameters, self.sun)

    def _at(self, pair: Pair) -> Array:
        start, end = pair
        return np.asarray((1.0 - self.weight) * start + self.weight * end, np.float64)


@dataclass(frozen=True)
class MoveRecord:
    """Record of a stage of transport, columns, or both: the applications of its formula in their order."""

    steps: tuple[FormulaStep, ...]


@dataclass(frozen=True)
class CellsRecord:
    """Record of a stage of chemistry: weather at its middle, and steps of its cells."""

    weather: CellWeather
    integrated: CellIntegration


@dataclass(frozen=True)
class UpdatesRecord:
    """Record of a stage of updates, which cannot be repeated."""


@dataclass(frozen=True)
class SumRecord:
    """Record of a sum of values."""


StageRecord = MoveRecord | CellsRecord | UpdatesRecord | SumRecord


@dataclass(frozen=True)
class StepRecord:
    """Record of a step from `begin` to `end` [s]: its program, and the record of each stage."""

    begin: float
    end: float
    program: Program
    stages: tuple[StageRecord, ...]

    @property
    def formula_steps(self) -> tuple[FormulaStep, ...]:
        """Return all applications of formulas, in their order."""
        return tuple(step for stage in self.stages if isinstance(stage, MoveRecord) for step in stage.steps)

    def with_forcing(self, make: Callable[[FormulaStep], StepForcing]) -> "StepRecord":
        """Return the record with the forcing that a function returns for each application of a formula."""
        return self._with(lambda step: replace(step, forcing=make(step)))

    def detached(self) -> "StepRecord":
        """Return a record that later steps do not change."""
        return self._with(FormulaStep.detached)

    def _with(self, change: Callable[[FormulaStep], FormulaStep]) -> "StepRecord":
        stages = [
            MoveRecord(tuple(map(change, each.steps))) if isinstance(each, MoveRecord) else each
            for each in self.stages
        ]  # fmt: skip
        return replace(self, stages=tuple(stages))


OnStep = Callable[[StepRecord], None]
"""Callback that receives the record of each step after it has run, in a batch of steps after the whole batch."""
