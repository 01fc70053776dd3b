"""Adjoints taken back over steps of Strang splitting, part after part, the last one first.

Each step is taken once more from the level at its beginning. The adjoint of what moves species is that of its stages,
which are steps of the two-step formula without a history. The adjoint of chemistry goes over the steps that each cell
accepted. With y = n q and the air's number density n, which half a step leaves as it is,

    adjoint of q before = n (adjoint of y before),      adjoint of y after = (adjoint of q after) / n
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from airshed.adjoint.schemes.protocol import Passed, Totals
from airshed.adjoint.schemes.split_again import Again, BothAgain, CarriedAgain, ReactedAgain
from airshed.air.cell_chemistry import CellChemistry
from airshed.air.schemes.taken import SplitTaken, TakenStep
from airshed.kernels.chemistry import AIR_INPUTS
from airshed.kernels.derivatives import ReadAdjoints, Reverser, SummedReads
from airshed.kernels.memory import AnyArray, aligned_zeros
from airshed.kernels.step.data import FieldAdjoint, Level, Share


def cells_of(packed: AnyArray, species: int) -> AnyArray:
    """Return [lat][block][species][level][W] as (pack, species, W); further species, up to so many, are zero."""
    rows, blocks, known, levels, width = packed.shape
    cells = aligned_zeros((rows * blocks * levels, species, width), np.float64)
    cells.reshape(rows, blocks, levels, species, width)[:, :, :, :known] = np.moveaxis(packed, 2, 3)
    return cells


def put_cells(cells: AnyArray, packed: AnyArray) -> None:
    """Fill [lat][block][species][level][W] with cells, their further species left out."""
    rows, blocks, known, levels, width = packed.shape
    split = cells.reshape(rows, blocks, levels, cells.shape[1], width)[:, :, :, :known]
    packed[...] = np.moveaxis(split, 3, 2)


Array = npt.NDArray[np.float64]

_DENSITY = AIR_INPUTS.index("M")


class ReversedCells:
    """Takes adjoints of mixing ratios back over the chemistry of all cells.

    reactions  of a factor on each reaction's rate, added up, [lat][block][reaction]
    """

    def __init__(self, chemistry: CellChemistry) -> None:
        self._chemistry, self._reverser = chemistry, chemistry.solver.reversed()
        layout, self._levels = chemistry.layout, chemistry.levels
        self.reactions = np.zeros((layout.rows, layout.blocks, len(chemistry.network.reactions)))

    def reverse(self, x: AnyArray, done: ReactedAgain) -> None:
        """Take an adjoint back over half a step, in place."""
        inputs, took = self._chemistry.inputs_in(done.air), done.part.integrated
        density = inputs[:, :, _DENSITY]
        adjoint = cells_of(x, len(self._chemistry.solver.kernel.network.species))
        adjoint /= density
        found = self._reverser.reverse(adjoint, inputs, done.record, 0.0, took.end - took.begin)
        put_cells(found.adjoint * density, x)
        rows, blocks, reactions = self.reactions.shape
        self.reactions += found.rates.reshape(rows, blocks, self._levels, reactions, -1).sum(axis=(2, 4))


class SplitReverser:
    """Takes adjoints back; see :class:`airshed.adjoint.schemes.protocol.StepReverser`.

    moving, columns  the adjoints of what moves species, which share the adjoint of the level that was reached
    own              whether `again` ends with this
    """

    def __init__(
        self, moving: Reverser, columns: Reverser | None, cells: ReversedCells | None, again: Again, *, own: bool
    ) -> None:
        self._moving, self._columns, self._cells, self._again, self._own = moving, columns, cells, again, own
        self._nothing = np.zeros_like(moving.x)
        if columns is not None:
            columns.x = moving.x

    @property
    def x(self) -> AnyArray:
        """The adjoint of the level that was reached."""
        return self._moving.x

    @property
    def totals(self) -> Totals:
        """What was added up."""
        moving, columns = self._moving, self._columns
        reactions = moving.reactions if self._cells is None else self._cells.reactions
        if columns is None:
            return Totals(moving.outside, moving.top, reactions, moving.read)
        read = None if moving.read is None or columns.read is None else BothRead(moving.read, columns.read)
        return Totals(moving.outside + columns.outside, moving.top + columns.top, reactions, read)

    def start(self, tendency: AnyArray) -> None:
        """Begin with adjoints of zero: no step has need of what was before it."""
        for each in (self._moving, self._columns):
            if each is not None:
                each.start(self._nothing)
        if self._cells is not None:
            self._cells.reactions[...] = 0.0

    def reverse(self, passed: Passed, sources: Mapping[float, AnyArray]) -> None:
        """Take the adjoints back over a step, made once more."""
        assert isinstance(passed.taken, SplitTaken)
        self._take_back(self._again.take(passed.levels[1], passed.taken), sources)

    def _take_back(
        self, parts: Sequence[ReactedAgain | CarriedAgain | BothAgain], sources: Mapping[float, AnyArray]
    ) -> None:
        for done in reversed(parts):
            if isinstance(done, CarriedAgain):
                self._carry_back(done, sources)
            elif isinstance(done, BothAgain):
                self._take_both_back(done, sources)
            else:
                assert self._cells is not None
                self._cells.reverse(self.x, done)

    def _take_both_back(self, done: BothAgain, sources: Mapping[float, AnyArray]) -> None:
        """Take the adjoint back over each of two from what it gave to their sum; add up what both say of the first."""
        after = np.where(done.kept, self.x, 0.0)
        self.x[...] = done.of_moved * after
        self._carry_back(done.moved, sources)
        by_moved = self.x.copy()
        self.x[...] = done.of_columns * after
        self._take_back(done.columns, sources)
        self.x[...] += by_moved - done.of_first * after

    def _carry_back(self, done: CarriedAgain, sources: Mapping[float, AnyArray]) -> None:
        """Take the adjoints back over the stages of what moved species; the first one has no history."""
        reverser, stages, levels = self._moving, done.part.stages, done.levels
        if done.part.apart:
            assert self._columns is not None
            reverser = self._columns
        reverser.begin_behind(done.tendency)
        for number in reversed(range(len(stages))):
            stage = stages[number]
            before = stages[number - 1].forcing if number else self._nothing
            shares = [Share(share, sources[begin]) for begin, share in stage.emission]
            around = levels[max(number - 1, 0)], levels[number], levels[number + 1]
            reverser.reverse(stage.forcing, around, before, shares)
        reverser.finish(levels[0])

    def finish(self, first: Level) -> None:
        """Do nothing: the adjoint of each level is complete."""

    def jump(self, now: Level) -> AnyArray:
        """Return what a jump is worth: the adjoint, since no step has a history."""
        return self.x.copy()

    @property
    def reads(self) -> Sequence[SummedReads]:
        """What operators read, of each kernel."""
        return [each.read for each in self._kernels.values() if each.read is not None]

    def keep(self) -> dict[str, AnyArray]:
        """Return its own arrays: no step has a history, so that the adjoint and what adds up are all."""
        kept = {f"{name}.{key}": array for name, each in self._kernels.items() for key, array in each.keep().items()}
        return kept if self._cells is None else {**kept, "cells": self._cells.reactions}

    def take_up(self, kept: Mapping[str, AnyArray], after: TakenStep) -> None:
        """Take over what another one kept."""
        for name, each in self._kernels.items():
            own = {key.removeprefix(f"{name}."): array for key, array in kept.items() if key.startswith(f"{name}.")}
            each.take_up(own, None)
        if self._cells is not None:
            self._cells.reactions[...] = kept["cells"]

    @property
    def _kernels(self) -> dict[str, Reverser]:
        return {"moving": self._moving} | ({} if self._columns is None else {"columns": self._columns})

    def close(self) -> None:
        """End the threads."""
        self._moving.close()
        if self._columns is not None:
            self._columns.close()
        if self._own:
            self._again.close()


class BothRead:
    """Adjoints of what the operators of two kernels read; satisfies ``kernels.derivatives.ReadAdjoints``."""

    def __init__(self, one: ReadAdjoints, other: ReadAdjoints) -> None:
        self._both = one, other
        names = dict.fromkeys((*one.numbers, *other.numbers))
        self.numbers = {
            name: np.asarray(sum(each.numbers[name] for each in self._both if name in each.numbers)) for name in names
        }

    @property
    def fields(self) -> list[FieldAdjoint]:
        """Those of fields at each instant of the forcing."""
        return [each for read in self._both for each in read.fields]
