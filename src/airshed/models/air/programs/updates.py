"""Runner of the stage of updates: formulas of processes that change species and process fields in each cell."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from airshed.core.arrays import Array
from airshed.core.errors import NumericalError
from airshed.core.text import duration
from airshed.grid.box import Box
from airshed.kernels.cells.formulas import CellFormulas
from airshed.kernels.host import AnyArray
from airshed.models.air.programs.context import AirContext, Span, StageRunner
from airshed.models.air.programs.one_step import sums_of, used_lanes
from airshed.models.air.programs.records import StageRecord, UpdatesRecord
from airshed.process.cell_updates import TIME_STEP, VOLUME, WEIGHT, CellUpdate, ends
from airshed.program.stage import Stage
from airshed.runtime.model import SavedState, Snapshot

UPDATES = "updates of cells"

_FIELD = "own."
"""Prefix of the names of process fields in restarts."""


class UpdatesRunner(StageRunner):
    """Runner that applies the updates of processes to species and process fields, and adds them to the budget.

    fields  process fields that are not transported, packed [lat][block][level][W]

    If a formula of the program has a history, the older amounts change by as much as the newest ones. The weights of
    the formula add up to one, so that it conserves this change.
    """

    def __init__(self, context: AirContext, *, threads: int) -> None:
        parts, layout, levels = context.parts, context.stepper.layout, context.parts.grid.shape[0]
        self._context, self._layout = context, layout
        carried = parts.network.names
        self.fields: dict[str, AnyArray] = {
            each.name: layout.zeros(levels) + layout.dtype(each.field.start)
            for each in parts.own_fields
            if each.name not in carried
        }
        precision = parts.case.chemistry.precision
        self._updates = [
            (each, CellFormulas(each.formulas, precision, invariant=each.formulas.inputs, threads=threads))
            for each in parts.updates
        ]
        shape = parts.grid.shape
        self._constant = {
            VOLUME: layout.pack(np.broadcast_to(parts.grid.cell_volume, shape)),
            "thickness": layout.pack(np.broadcast_to(parts.grid.thickness[:, None, None], shape)),
        }
        self._in_use = used_lanes(layout)
        self._cells = layout.rows, layout.blocks, levels, layout.width

    def run(self, number: int, stage: Stage, given: Sequence[Span]) -> list[StageRecord]:
        """Apply the updates of all processes in sequence, with the weather at the middle of the stage."""
        ((begin, end),) = given
        for update, formulas in self._updates:
            self._apply(update, formulas, begin, end, all_levels=stage.changes_history)
        return [UpdatesRecord()]

    def _inputs(self, update: CellUpdate, begin: float, end: float) -> dict[str, Any]:
        """Return the inputs of formulas except species and process fields."""
        # constants and numbers
        context, middle = self._context, 0.5 * (begin + end)
        interval = context.forcing.interval(context.forcing.index_at(middle))
        weight, read = interval.weight(middle), set(update.formulas.inputs)
        found: dict[str, Any] = {
            **self._constant, **update.numbers, "air": context.stepper.state.air,
            WEIGHT: weight, TIME_STEP: end - begin,
        }  # fmt: skip

        # weather at both ends of its interval
        pairs = {"temperature": interval.pair("temperature"), "water_vapour": interval.pair("water")}
        pairs |= {name: interval.fields([key])[key] for name, key in update.weather.items()}
        for name, pair in pairs.items():
            found |= {each: self._on_cells(value) for each, value in zip(ends(name), pair, strict=True) if each in read}

        # sun
        if not read.isdisjoint(("cos_zenith", "light")):
            secant, light = np.moveaxis(context.light.at([middle], interval.pair("cloud"), [weight])[0], 2, 0)
            found |= {"cos_zenith": self._on_cells((light > 0.0) / secant), "light": self._on_cells(light)}
        return found

    def _on_cells(self, value: AnyArray) -> AnyArray:
        """Return values of cells; values of columns are repeated for each of their cells."""
        return value if value.ndim == len(self._cells) else np.broadcast_to(value[:, :, None], self._cells)

    def _apply(
        self, update: CellUpdate, formulas: CellFormulas, begin: float, end: float, *, all_levels: bool
    ) -> None:  # fmt: skip
        """Apply the updates of a process; all_levels: also to the older time level."""
        state, names = self._context.stepper.state, self._context.parts.network.names
        species = [names.index(name) for name in update.outputs if name in names]
        before = state.q[:, :, species]

        # new values where the old ones lie, in padding lanes those of the last column
        values: dict[str, Any] = {name: state.q[:, :, number] for number, name in enumerate(names)} | self.fields
        results = [values[name] for name in update.outputs]
        formulas(values | self._inputs(update, begin, end), results)
        for each in results:
            self._fill_padding(each)

        # mixing ratios below zero become zero
        after = state.q[:, :, species]
        clipped = np.maximum(-after, 0.0)
        np.maximum(after, 0.0, out=after)
        state.q[:, :, species] = after
        if all_levels:
            state.q_other[:, :, species] += (after - before) * (state.air / state.air_other)[:, :, None]

        # budget
        own = [self.fields[name] for name in update.outputs if name in self.fields]
        old, new, made = self._sums(update, [before, after, clipped], own, end)
        if species:
            term = update.bound.process.section
            self._context.budget.add_amounts(term, species, new - old - made, made, all_levels=all_levels)

    def _fill_padding(self, packed: AnyArray) -> None:
        """Repeat the last column in the padding lanes."""
        last = self._layout.last_lanes
        packed[:, -1, ..., last:] = packed[:, -1, ..., last - 1 : last]

    def _sums(
        self, update: CellUpdate, species: Sequence[AnyArray], own: Sequence[AnyArray], end: float
    ) -> Sequence[Array]:  # fmt: skip
        """Return amounts [mol] of packed species; raise NumericalError if a value is not finite on any rank."""
        amounts = self._context.stepper.state.air * self._in_use
        parts = [sums_of(each, amounts) for each in species]
        parts += [sums_of(each[:, :, None], np.broadcast_to(self._in_use, each.shape)) for each in own]
        sums = self._context.parts.subdomain.total(np.concatenate(parts, axis=1))
        if not np.isfinite(sums).all():
            raise NumericalError(
                f"process {update.bound.process.section}: an update returned a value that is not finite, in the step "
                f"to {duration(end)}; check its formulas for divisions by zero"
            )
        return np.split(sums, np.cumsum([each.shape[2] for each in species]))[: len(species)]

    def save(self) -> Snapshot:
        """Return the process fields that are not transported."""
        return Snapshot({_FIELD + name: array for name, array in self.fields.items()}, {}, {"own": [*self.fields]})

    def restore(self, stored: SavedState, held: Box) -> None:
        """Restore process fields; a field that the saved run did not have keeps its initial value."""
        for name in stored.metadata.get("own", ()):
            if name in self.fields:
                self.fields[name][...] = stored.part(_FIELD + name, held)

    def close(self) -> None:
        """Stop the threads of formulas."""
        for _, formulas in self._updates:
            formulas.close()
