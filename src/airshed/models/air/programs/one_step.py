"""Runner of stages of transport, columns, or both, without reactions: the one-step formula ARS(2,2,2).

The runner applies the formula of ``program.weights`` by the compiled step of a mechanism without reactions, in as many
pieces as the Courant number requires. Species are independent; without vertical transport, levels are too. The same
fluxes advance the air, so that a uniform mixing ratio stays uniform. If vertical transport is a separate stage, the air
content differs from the input by the divergence of the fluxes until both stages have run. The remaining difference is
round-off, since the formula is exact for fluxes that are linear in time.

A formula of second order cannot be positive for steps of every length (Bolley & Crouzeix 1978): the second application
may remove more than the content of a layer that mixes or loses fast. If clipping then adds more than
:data:`MOST_CLIPPED` of a species, the second application is repeated by backward Euler along columns, which is of first
order and positive.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from typing import Final

import numpy as np

from airshed.core.arrays import Array
from airshed.kernels.abi import TERMS
from airshed.kernels.backend import Stepper
from airshed.kernels.host import AnyArray
from airshed.kernels.layout import Layout
from airshed.kernels.step.arguments import ColumnForcing, Directions, StepForcing
from airshed.mechanism.network import ReactionNetwork
from airshed.models.air.programs.context import AirContext, Span, StageRunner
from airshed.models.air.programs.records import FormulaStep, MoveRecord, StageRecord
from airshed.process.processes import LIGHT
from airshed.program.stage import Stage
from airshed.program.weights import GAMMA, StageWeights, one_step_weights

MOST_CLIPPED: Final = 1e-5
"""Maximum fraction of a species that clipping may add in the second application before it is repeated."""


def without_reactions(network: ReactionNetwork, species: slice = slice(None)) -> ReactionNetwork:
    """Return a network with some or all species and without reactions, for stages that do not react."""
    return replace(network, name=f"{network.name}-moved", species=network.species[species], reactions=())


def used_lanes(layout: Layout) -> Array:
    """Return 1 for each lane that holds a column, else 0, (block, 1, W)."""
    lanes = np.arange(layout.blocks * layout.width).reshape(layout.blocks, 1, layout.width) < layout.columns
    return lanes.astype(np.float64)


def sums_of(packed: AnyArray, amounts: Array) -> Array:
    """Return sums over cells, (block, species): mixing ratios [lat][block][species][level][W] times air [mol]."""
    columns = amounts.reshape(amounts.shape[0] * amounts.shape[1], -1, 1)
    blocks = packed.reshape(len(columns), packed.shape[2], columns.shape[1])
    # block by block, in the order of memory, in double precision
    return np.asarray(np.matmul(blocks.astype(np.float64, copy=False), columns)[..., 0])


class OneStepRunner(StageRunner):
    """Runner of stages of transport, columns, or both, which adds their changes to the budget.

    stepper  stepper of the state, without reactions; its kernel determines the directions of transport
    """

    stepper: Stepper

    def __init__(self, context: AirContext, stepper: Stepper) -> None:
        self.context, self.stepper, self._shape = context, stepper, stepper.kernel.shape
        self._forcing, self._sources = context.forcing, context.sources
        self._light = context.light if context.parts.processes.any_rate_reads(LIGHT) else None
        self._dark = stepper.layout.zeros(2)

    def longest_step(self, seconds: float, until: float) -> float:
        """Return the step [s] of the case, or the maximum one."""
        return self.context.longest_split_step(seconds, until)

    def run(self, number: int, stage: Stage, given: Sequence[Span]) -> list[StageRecord]:
        """Advance the state by a stage, piece by piece."""
        ((begin, end),) = given
        steps: list[FormulaStep] = []
        for start, length in self.pieces(begin, end):
            emission = self.emitted(start, length)
            for step, sums in self.move(start, length):
                self.add_to_budget(step.forcing.weights, sums, emission)
                steps.append(step.detached() if self.recording else step)
        return [MoveRecord(tuple(steps))]

    def add_to_budget(self, weights: StageWeights, sums: Array, emission: Array) -> None:
        """Add an application of the formula: its sums, and the emission [mol/s] (species,)."""
        budget = self.context.budget
        by_species = sums if sums.ndim == 2 else sums.sum(axis=2)
        terms = dict(zip(self.stepper.kernel.terms, by_species, strict=True)) | {"emitted": emission}
        budget.add(weights, terms, np.zeros_like(budget.imbalance))

    def pieces(self, begin: float, end: float) -> list[tuple[float, float]]:
        """Return the starts and lengths [s] of the pieces of a stage."""
        courant = self.context.parts.case.time.courant
        count = max(1, ceil((end - begin) * self._outflow_rate(begin) / courant - 1e-9))
        step = (end - begin) / count
        return [(begin + number * step, step) for number in range(count)]

    def emitted(self, begin: float, step: float) -> Array:
        """Return the emission of each species [mol/s] in a piece: zero where no column is solved."""
        emission = np.zeros(len(self.context.parts.network.species))
        if self._shape.vertical:
            emission[self.context.emitted] = self._sources.at(begin + 0.5 * step)[1]
        return emission

    def _outflow_rate(self, seconds: float) -> float:
        """Return the maximum ratio of outflow to air content of all cells [1/s]."""
        directions: dict[tuple[bool, bool], Directions] = {(True, False): "horizontal", (False, True): "vertical"}
        along = directions.get((self._shape.horizontal, self._shape.vertical), "all")
        return self._forcing.outflow_rate(seconds, along)

    def move(self, begin: float, step: float) -> tuple[tuple[FormulaStep, Array], ...]:
        """Advance the state over a piece; return both applications of the formula, each with its sums (term, species).

        Sums are (term, species, level) if levels are independent.
        """
        # forcing
        inside, middle, end = begin + 0.5 * step, begin + GAMMA * step, begin + step
        packed = self._sources.at(inside)[0] if self._shape.vertical else None
        state, weights = self.stepper.state, one_step_weights(step)

        def apply(start: float, until: float, weights: StageWeights) -> tuple[FormulaStep, Array]:
            column = None if packed is None else self._column(until, inside, packed)
            forcing = StepForcing(weights, self._forcing.transport_within(start, inside), column)
            emission = () if column is None else ((self._sources.begin_of(inside), 1.0),)
            return FormulaStep(start, until, forcing, emission), self.stepper.step(weights, forcing.transport, column)

        # both applications
        first = apply(begin, middle, weights[0])
        if packed is None:
            return first, apply(middle, end, weights[1])
        before = state.tendency.copy(), state.air_tendency.copy()
        second = apply(middle, end, weights[1])

        # the second application again, with positive columns
        if self._clips_much(second[1]):
            state.rotate()  # back to the level before the second application; no one-step formula reads the older one
            state.tendency[...], state.air_tendency[...] = before
            second = apply(middle, end, one_step_weights(step, euler_columns=True)[1])
        return first, second

    def _clips_much(self, sums: Array) -> bool:
        """Return whether clipping added more than :data:`MOST_CLIPPED` of a species."""
        clipped = sums[TERMS.index("clipped")]
        if not clipped.any():
            return False
        state, used = self.stepper.state, used_lanes(self.stepper.layout)
        return bool(np.any(clipped > MOST_CLIPPED * self.stepper.total(sums_of(state.q, state.air * used))))

    def _column(self, seconds: float, inside: float, emission: AnyArray) -> ColumnForcing:
        interval = self._forcing.interval(self._forcing.index_at(inside))
        weight, light = interval.weight(seconds), self._light
        sun = self._dark if light is None else light.at([seconds], interval.pair("cloud"), [weight])[0]
        return ColumnForcing(
            interval.pair("temperature"), interval.pair("water"), weight, emission, sun,
            fields=interval.fields(self._forcing.processes.implicit_fields), numbers=self._forcing.processes.changed,
        )  # fmt: skip
