"""Runner of the fused stage of the two-step formula: transport explicit, columns and chemistry implicit."""

from collections.abc import Sequence
from itertools import repeat
from math import inf, nextafter

import numpy as np

from airshed.core.arrays import Array
from airshed.core.errors import NumericalError
from airshed.core.text import duration
from airshed.grid.box import Box
from airshed.kernels.backend import Stepper
from airshed.kernels.host import AnyArray
from airshed.kernels.step.arguments import ColumnForcing, StepForcing
from airshed.models.air.programs.context import AirContext, Span, StageRunner
from airshed.models.air.programs.records import FormulaStep, MoveRecord, StageRecord
from airshed.program.stage import Stage
from airshed.program.weights import (
    EULER_STEPS,
    GROWTH,
    MOST_NEGATIVE,
    StageWeights,
    two_step_weights,
    weight_of_jump,
)
from airshed.runtime.model import SavedState, Snapshot

LARGEST_COURANT = 0.5
"""Sum of Courant numbers beyond which the limited two-step scheme may oscillate or go negative."""


class TwoStepRunner(StageRunner):
    """Runner that applies the two-step formula in batches of steps: one pass through memory for each step."""

    stepper: Stepper

    def __init__(self, context: AirContext) -> None:
        self._context = context
        self.stepper = context.stepper
        self.batch = context.stepper.batch
        self._kernel = context.stepper.kernel
        self._previous: float | None = None
        self._jump = 0.0  # weight of the last change of the emission
        self._euler_steps = 0  # number of further Euler steps

    def longest_step(self, seconds: float, until: float) -> float:
        """Return the step [s] of the case, or the maximum one for its Courant number and `time.maximum_step`."""
        time = self._context.parts.case.time
        rate = self._context.forcing.outflow_rate(seconds)
        if time.step == "auto":
            column = self._context.longest_useful_step(seconds, until)
            return min(time.courant / rate, column) if rate > 0.0 else column
        step = min(time.step.value, until - seconds)
        if step * rate > LARGEST_COURANT:
            raise NumericalError(
                f"time.step = {time.step.text!r} is too long for the wind at {duration(seconds)}: its Courant number "
                f"is {step * rate:.2f}, at most {LARGEST_COURANT} is stable; take "
                f'{LARGEST_COURANT / rate:.0f} s or less, or "auto"'
            )
        return time.step.value

    def run(self, number: int, stage: Stage, given: Sequence[Span]) -> list[StageRecord]:
        """Advance the state by a batch of steps; their sums over all ranks are exact."""
        # forcing
        sources, (begin, first_end) = self._context.sources, given[0]
        jump = self._first_emission(begin, first_end - begin)
        usual = sources.at(0.5 * (begin + first_end))
        emissions = [jump or usual, *repeat(usual, len(given) - 1)]
        columns = self._columns([end for _, end in given], [packed for packed, _ in emissions])
        steps = [self._step(start, end, column) for (start, end), column in zip(given, columns, strict=True)]
        records: list[StageRecord] = [
            MoveRecord((FormulaStep(*span, step, self._shares(*span, jumps=jump is not None and index == 0)),))
            for index, (span, step) in enumerate(zip(given, steps, strict=True))
        ]

        # steps, and their budget
        sums = self._context.parts.subdomain.totals(self.stepper.advance(steps), self._kernel.sums)
        for (_, end), step, (_, emitted), totals in zip(given, steps, emissions, sums, strict=True):
            self._add_to_budget(end, step.weights, emitted, totals)
        return records

    def _step(self, begin: float, end: float, column: ColumnForcing) -> StepForcing:
        step, previous = end - begin, self._previous
        restarts = self._restarts(step)
        weights = two_step_weights(step, previous, restart=restarts)
        ratio = 0.0 if restarts or previous is None else step / previous
        self._previous, self._euler_steps = step, max(self._euler_steps - 1, 0)
        return StepForcing(weights, self._context.forcing.transport(begin, ratio), column)

    def _add_to_budget(self, end: float, weights: StageWeights, emitted: Array, totals: Array) -> None:
        """Add a step that ended at a time [s] to the budget: its emission [mol/s] and its sums."""
        sums, imbalance = self.stepper.by_term(totals)
        emission = np.zeros(sums.shape[1])
        emission[self._context.emitted] = emitted
        terms = dict(zip(self._kernel.terms, sums, strict=True)) | {"emitted": emission}
        self._context.budget.add(weights, terms, imbalance)
        self._context.check_finite(sums, end)

    def _first_emission(self, begin: float, step: float) -> tuple[AnyArray, Array] | None:
        """Return the emission of the next step [s] if it is the first after a change of the emission; else None.

        It is now + weight (now - before), packed and as sums by species [mol/s], so that the formula adds the emission
        of the step. If much of it is negative, as when a source ends, the formula restarts. Collective.
        """
        sources, layout = self._context.sources, self.stepper.layout
        if self._previous is None or not sources.changes_at(begin):
            return None

        # now + weight (now - before)
        weight = self._jump = weight_of_jump(step, self._previous)
        (now, totals), (before, totals_before) = (sources.at(each) for each in (begin, nextafter(begin, -inf)))
        emission = layout.empty(*now.shape)
        np.subtract(now, before, out=emission)
        emission *= weight
        emission += now
        layout.memory.prefetch([emission], constant=True)

        # maximum ratio of negative emission to the emission before
        negative = np.minimum(layout.unpack(emission), 0.0).sum(axis=1)
        lost = -self._context.parts.subdomain.total_over_columns(negative)
        share = np.divide(lost, totals_before, out=np.zeros_like(totals_before), where=totals_before > 0.0)
        if share.max(initial=0.0) > MOST_NEGATIVE:
            self._euler_steps = EULER_STEPS
        return None if self._restarts(step) else (emission, (1.0 + weight) * totals + (-weight) * totals_before)

    def _shares(self, begin: float, end: float, *, jumps: bool) -> tuple[tuple[float, float], ...]:
        """Return the periods of the sources that contribute to the emission of a step, and the weight of each."""
        sources = self._context.sources
        now = sources.begin_of(0.5 * (begin + end))
        if not jumps:
            return ((now, 1.0),)
        weight = self._jump
        return (now, 1.0 + weight), (sources.begin_of(nextafter(begin, -inf)), -weight)

    def _restarts(self, step: float) -> bool:
        """Return True if a step [s] restarts the formula: after a jump, or if it is much longer than the last."""
        return self._euler_steps > 0 or (self._previous is not None and step > GROWTH * self._previous)

    def restart(self) -> None:
        """Restart the formula; with its history, a jump would take effect half a step late."""
        self._euler_steps = max(self._euler_steps, 1)

    def _columns(self, ends: Sequence[float], emissions: Sequence[AnyArray]) -> list[ColumnForcing]:
        """Return the forcing of columns at the ends of steps in one interval of the weather, each with its emission."""
        forcing = self._context.forcing
        interval = forcing.interval(forcing.index_until(ends[-1]))
        weights = [interval.weight(end) for end in ends]
        suns = self._context.light.at(ends, interval.pair("cloud"), weights)
        temperature, water, parameters = (interval.pair(name) for name in ("temperature", "water", "parameters"))
        fields = interval.fields(forcing.processes.implicit_fields)
        return [
            ColumnForcing(temperature, water, weight, emission, sun, parameters, fields, forcing.processes.changed)
            for weight, emission, sun in zip(weights, emissions, suns, strict=True)
        ]

    def save(self) -> Snapshot:
        """Return the length of the last step, and the number of further Euler steps."""
        return Snapshot({}, {}, {"previous_step": self._previous, "euler_steps": self._euler_steps})

    def restore(self, stored: SavedState, held: Box) -> None:
        """Restore the length of the last step and the number of Euler steps, if the saved state has them."""
        self._previous = stored.metadata.get("previous_step")
        self._euler_steps = stored.metadata.get("euler_steps", 0)
