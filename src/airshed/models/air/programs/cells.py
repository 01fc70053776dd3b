"""Runner of stages of chemistry: a Rosenbrock method with adaptive steps in each cell."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.grid.box import Box
from airshed.kernels.host import aligned_copy
from airshed.models.air.programs.cell_chemistry import (
    Air,
    CellChemistry,
    CellCounts,
    CellIntegration,
    integrate_again,
    without_states,
)
from airshed.models.air.programs.context import (
    AirContext,
    Span,
    StageRunner,
    number_per_mole,
)
from airshed.models.air.programs.one_step import sums_of, used_lanes
from airshed.models.air.programs.records import CellsRecord, CellWeather, StageRecord
from airshed.program.stage import Program, Stage
from airshed.runtime.model import SavedState, Snapshot

CHEMISTRY = "chemistry of cells"


class CellsRunner(StageRunner):
    """Runner that advances the chemistry of all cells, and adds the changes to the budget.

    lengths  whether records hold the lengths of the steps of each cell; chemistry then runs twice
    """

    lengths = False

    def __init__(self, context: AirContext, chemistry: CellChemistry, program: Program) -> None:
        self._context, self.chemistry, self._slots = context, chemistry, program.cells
        stepper = context.stepper
        self._species = len(stepper.kernel.network.species)
        self._total = context.parts.subdomain.total
        self._in_use = used_lanes(stepper.layout)
        in_double = replace(stepper.layout, dtype=np.float64)
        self.density_factor = in_double.pack(number_per_mole(context.parts.grid))  # [molecules cm-3 mol-1]
        self._earlier_counts = CellCounts().to_array()

    def run(self, number: int, stage: Stage, given: Sequence[Span]) -> list[StageRecord]:
        """Advance the chemistry of a stage with the weather at its middle."""
        # weather
        ((begin, end),) = given
        chemistry, state, slot = self.chemistry, self._context.stepper.state, self._slots.index(number)
        weather = self._weather(0.5 * (begin + end))
        air = weather.with_density(state.air * self.density_factor)

        # integration, and its record
        first = chemistry.first[slot].copy() if self.recording else chemistry.first[slot]
        chemistry.advance(state.q, state.q_other, state.tendency, air, begin, end, slot=slot)
        done = CellIntegration(begin, end, slot, first, chemistry.steps.accepted)
        record = self._record(weather, air, done) if self.recording else CellsRecord(weather, done)

        # the result is in the other array
        self._add_to_budget()
        state.q, state.q_other = state.q_other, state.q
        return [record]

    def _add_to_budget(self) -> None:
        """Add the changes by reactions, clipping and unbalanced reactions; the result is in `q_other`."""
        chemistry, state = self.chemistry, self._context.stepper.state
        amounts = state.air * self._in_use
        atoms = chemistry.extra.reshape(*amounts.shape[:3], chemistry.extra.shape[1], amounts.shape[3])
        packed = state.q, state.q_other, state.tendency, np.moveaxis(atoms, 3, 2)
        sums = self._total(np.concatenate([sums_of(each, amounts) for each in packed], axis=1))
        before, after, clipped, atoms_made = np.split(sums, np.cumsum([self._species] * 3))
        self._context.budget.add_chemistry(after - before - clipped, clipped, atoms_made[0::2] - atoms_made[1::2])

    def _record(self, weather: CellWeather, air: Air, done: CellIntegration) -> CellsRecord:
        """Return a record that later steps do not modify; called before the result replaces the mixing ratios."""
        done = replace(done, accepted=done.accepted.copy())
        if self.lengths:
            state = self._context.stepper.state
            steps = integrate_again(self.chemistry, done, air, state.q, state.q_other, state.tendency)
            done = replace(done, lengths=without_states(steps))
        return CellsRecord(replace(weather, sun=aligned_copy(weather.sun)), done)

    def _weather(self, seconds: float) -> CellWeather:
        forcing = self._context.forcing
        interval = forcing.interval(forcing.index_at(seconds))
        weight, pair = interval.weight(seconds), interval.pair
        sun = self._context.light.at([seconds], pair("cloud"), [weight])[0]
        return CellWeather(pair("temperature"), pair("water"), pair("parameters"), weight, sun)

    def restart(self) -> None:
        """Discard the stored first steps, which belong to a different state."""
        self.chemistry.first[...] = 0.0

    def save(self) -> Snapshot:
        """Return the first steps to try, [lat][block][stage][level][W], and the counts of cells."""
        first = np.moveaxis(self._first(), 0, 2)
        return Snapshot({"chemistry.first": first}, {"chemistry.counts": self._counts()}, {})

    def restore(self, stored: SavedState, held: Box) -> None:
        """Restore the first steps and the counts."""
        self._first()[...] = np.moveaxis(stored.part("chemistry.first", held), 2, 0)
        self._earlier_counts, self.chemistry.counts = stored.whole["chemistry.counts"].copy(), CellCounts()

    def cell_counts(self) -> CellCounts:
        """Return the counts of the cells of all ranks."""
        return CellCounts(*self._counts().tolist())

    def _counts(self) -> npt.NDArray[np.int64]:
        own = self.chemistry.counts.to_array()
        return np.asarray(self._earlier_counts + self._context.parts.subdomain.ranks.total(own))

    def _first(self) -> Array:
        """Return a view of the first steps to try, in the order of the state."""
        layout, chemistry = self._context.stepper.layout, self.chemistry
        return chemistry.first.reshape(
            len(chemistry.limits), layout.rows, layout.blocks, chemistry.levels, layout.width
        )

    def wall(self) -> dict[str, float]:
        """Return the wall time of chemistry [s]."""
        return {CHEMISTRY: self.chemistry.wall}

    def close(self) -> None:
        """End the threads of the solver."""
        self.chemistry.solver.close()
