"""All in one implicit-explicit step: transport explicit, columns and chemistry implicit, by ``program.weights``."""

from collections.abc import Iterator, Sequence
from itertools import pairwise, repeat
from math import inf, nextafter

import numpy as np
import numpy.typing as npt

from airshed.air.cell_chemistry import CellCounts
from airshed.air.schemes.scheme import Given, Kept, Setup, of_stepper
from airshed.air.schemes.taken import Note, Taken
from airshed.core.constants import SECONDS_PER_HOUR
from airshed.core.errors import NumericalError
from airshed.core.report import Table
from airshed.grid.box import Box
from airshed.kernels.memory import AnyArray
from airshed.kernels.step.data import ColumnForcing, StepForcing
from airshed.parallel.balance import Balance
from airshed.program.weights import EULER_STEPS, GROWTH, LEAST_SHARE, StageWeights, two_step_weights, weight_of_jump

Array = npt.NDArray[np.float64]

LARGEST_COURANT = 0.5
"""Sum of Courant numbers beyond which the limited two-step scheme may oscillate or go negative."""


class Imex:
    """The two-step formula over everything that acts; satisfies :class:`airshed.air.schemes.scheme.Scheme`.

    lasting  two time levels take turns: the next step reads the newest one, and the step after that overwrites it
    note     is told of each step before it is taken; None for nobody
    """

    lasting = 1
    balance: Balance | None = None
    note: Note | None = None

    def __init__(self, setup: Setup) -> None:
        self._setup, self._stepper = setup, setup.stepper
        self._kernel = setup.stepper.kernel
        self._previous: float | None = None
        self._jump = 0.0  # what the last change of the emission weighed
        self._anew = 0  # so many more steps begin anew

    def tell(self, note: Note | None, *, lengths: bool = False) -> None:
        """Let somebody be told of each step before it is taken; nobody with None. No step has steps of its own."""
        self.note = note

    def longest_step(self, seconds: float, until: float) -> float:
        """Return the step [s] of the case, or the longest one for its Courant number and `time.longest`."""
        time, parts = self._setup.parts.case.time, self._setup.parts
        rate = self._setup.forcing.outflow_rate(seconds)
        if time.step == "auto":
            acts = bool(parts.network.reactions or parts.processes.terms)
            column = time.longest.value if acts else min(until - seconds, SECONDS_PER_HOUR)
            return min(time.courant / rate, column) if rate > 0.0 else column
        step = min(time.step.value, until - seconds)
        if step * rate > LARGEST_COURANT:
            raise NumericalError(
                f"time.step = {time.step.text!r} is too long for the wind at {seconds:g} s: its Courant number is "
                f"{step * rate:.2f}, at most {LARGEST_COURANT} is stable; take {LARGEST_COURANT / rate:.0f} s or less, "
                'or "auto"'
            )
        return time.step.value

    def advance(self, begin: float, ends: Sequence[float]) -> Iterator[float]:
        """Make steps, in batches; yield the end of each when its sums are known."""
        for first in range(0, len(ends), self._stepper.batch):
            batch = ends[first : first + self._stepper.batch]
            yield from self._advance_batch(begin, batch)
            begin = batch[-1]

    def _advance_batch(self, begin: float, ends: Sequence[float]) -> Iterator[float]:
        sources, parts = self._setup.sources, self._setup.parts
        first = self._first_emission(begin, ends[0] - begin)
        usual = sources.at(0.5 * (begin + ends[0]))
        emissions = [first or usual, *repeat(usual, len(ends) - 1)]
        columns = self._columns(ends, [packed for packed, _ in emissions])
        steps = [
            self._step(start, end, column)
            for (start, end), column in zip(pairwise([begin, *ends]), columns, strict=True)
        ]
        if self.note is not None:
            self._tell(begin, ends, steps, jumps=first is not None)
        sums = parts.subdomain.totals(self._stepper.advance(steps), self._kernel.sums)
        for end, step, (_, emitted), totals in zip(ends, steps, emissions, sums, strict=True):
            self._follow(end, step.weights, emitted, totals)
            yield end

    def _step(self, begin: float, end: float, column: ColumnForcing) -> StepForcing:
        step, previous = end - begin, self._previous
        anew = self._begins_anew(step)
        weights = two_step_weights(step, previous, anew=anew)
        ratio = 0.0 if anew or previous is None else step / previous
        self._previous, self._anew = step, max(self._anew - 1, 0)
        return StepForcing(weights, self._setup.forcing.transport(begin, ratio), column)

    def _follow(self, end: float, weights: StageWeights, emitted: Array, totals: Array) -> None:
        """Add a step that ended at a time [s] to the budget: what was emitted in it [mol/s], and its sums."""
        sums, imbalance = self._stepper.by_term(totals)
        emission = np.zeros(sums.shape[1])
        emission[self._setup.emitted] = emitted
        terms = dict(zip(self._kernel.terms, sums, strict=True)) | {"emitted": emission}
        self._setup.budget.add(weights, terms, imbalance)
        self._setup.check_finite(sums, end)

    def _first_emission(self, begin: float, step: float) -> tuple[AnyArray, Array] | None:
        """Return the emission of the next step [s] where that is the first after a change; else None.

        Where it would be negative, as something ends, steps begin anew. All ranks call this.
        """
        sources = self._setup.sources
        if self._previous is None or not sources.changes_at(begin):
            return None
        self._jump = weight_of_jump(step, self._previous)
        carried = sources.after_change(begin, self._jump)
        if sources.negative_share(carried[0]) > LEAST_SHARE:
            self._anew = EULER_STEPS
        return None if self._begins_anew(step) else carried

    def _tell(self, begin: float, ends: Sequence[float], steps: Sequence[StepForcing], *, jumps: bool) -> None:
        assert self.note is not None
        for number, (start, end) in enumerate(pairwise([begin, *ends])):
            self.note(Taken(start, end, steps[number], self._shares(start, end, jumps=jumps and number == 0)))

    def _shares(self, begin: float, end: float, *, jumps: bool) -> tuple[tuple[float, float], ...]:
        """The periods of sources that a step's emission is made of, and the share of each."""
        sources = self._setup.sources
        now = sources.begin_of(0.5 * (begin + end))
        if not jumps:
            return ((now, 1.0),)
        weight = self._jump
        return (now, 1.0 + weight), (sources.begin_of(nextafter(begin, -inf)), -weight)

    def _begins_anew(self, step: float) -> bool:
        """Whether a step [s] after an earlier one begins anew: as emission has ended, or since it is much longer."""
        return self._anew > 0 or (self._previous is not None and step > GROWTH * self._previous)

    def begin_anew(self) -> None:
        """Begin the formula anew: with its history, a jump would act half a step late."""
        self._anew = max(self._anew, 1)

    def _columns(self, ends: Sequence[float], emissions: Sequence[AnyArray]) -> list[ColumnForcing]:
        """The forcing of columns at the ends of steps, all of them in one interval, each with its emission."""
        forcing = self._setup.forcing
        interval = forcing.interval(forcing.index_until(ends[-1]))
        weights = [interval.weight(end) for end in ends]
        suns = self._setup.light.at(ends, interval.pair("cloud"), weights)
        temperature, water, parameters = (interval.pair(name) for name in ("temperature", "water", "parameters"))
        fields = interval.fields(forcing.processes.implicit_fields)
        return [
            ColumnForcing(temperature, water, weight, emission, sun, parameters, fields, forcing.processes.changed)
            for weight, emission, sun in zip(weights, emissions, suns, strict=True)
        ]

    def set_outside(self, ghosts: Array, top: Array) -> None:
        """Change the mixing ratios outside the area and above it."""
        self._stepper.set_outside(ghosts, top)

    def keep(self) -> Kept:
        """Return the length of the last step, and how many more begin anew."""
        return Kept(numbers={"previous_step": self._previous, "anew": self._anew})

    def restore(self, given: Given, held: Box) -> None:
        """Take over what was kept."""
        self._previous, self._anew = given.metadata["previous_step"], given.metadata["anew"]

    def wall(self) -> dict[str, float]:
        """Return the wall time of the parts of all steps so far [s]."""
        return of_stepper(self._stepper)

    def cell_counts(self) -> CellCounts | None:
        """Return None: no cell has steps of its own."""
        return None

    def tables(self) -> list[Table]:
        """Return nothing."""
        return []

    def close(self) -> None:
        """Nothing is held."""
