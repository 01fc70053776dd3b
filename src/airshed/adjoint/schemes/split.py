"""Derivatives of steps of Strang splitting: of the chemistry of cells, and of what moves species between its halves."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from airshed.adjoint.area import Area
from airshed.adjoint.changes import Changes
from airshed.adjoint.schemes.protocol import Asked
from airshed.adjoint.schemes.split_again import Again
from airshed.adjoint.schemes.split_repeated import CellsAlong, Moved, SplitRepeater, SplitTangent
from airshed.adjoint.schemes.split_reverser import ReversedCells, SplitReverser
from airshed.air.cell_chemistry import CellChemistry
from airshed.kernels.backend import StepKernel, Stepper
from airshed.kernels.derivatives import Reverser
from airshed.kernels.step.data import State, StateAndChanges, StepConstants, Swap
from airshed.kernels.step.operator_fields import Member, members
from airshed.kernels.step.operators import Operator
from airshed.mechanism.network import ReactionNetwork

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Split:
    """Derivatives of Strang splitting; see :class:`airshed.adjoint.schemes.protocol.Derivatives`.

    kernel          what moves species: all of it, or along planes where `columns` moves them along columns
    chemistry       None where nothing reacts
    density_factor  [molecules cm-3] of a mole of air in a cell, [lat][1][level][1]
    lent            what takes steps once more with the state of a model; None for states of its own
    """

    kernel: StepKernel
    columns: StepKernel | None
    area: Area
    constants: StepConstants
    chemistry: Callable[[int], CellChemistry] | None
    network: ReactionNetwork
    density_factor: Array
    lent: Again | None = None

    @property
    def noted(self) -> int:
        """The bytes of the steps that chemistry tries first, and of how many it takes, in both halves."""
        layout = self.area.layout
        cells = layout.rows * layout.blocks * layout.width * self.kernel.shape.levels
        return 0 if self.chemistry is None else 2 * 12 * cells

    @cached_property
    def operators(self) -> Sequence[Operator]:
        """The operators of all that moves species."""
        both = [self.kernel, *([] if self.columns is None else [self.columns])]
        return [each for kernel in both for each in kernel.shape.operators]

    @cached_property
    def members(self) -> Mapping[str, Member]:
        """The fields and numbers that they read, by their names."""
        return {each.key: each for each in members(self.operators)}

    def again(self, threads: int) -> Again:
        """Return what takes steps once more."""
        if self.lent is not None:
            return self.lent
        chemistry = None if self.chemistry is None else self.chemistry(threads)
        stepper = self._stepper(self.constants, threads)
        return Again(
            stepper, self._columns_beside(stepper.state, self.constants, threads), chemistry, self.density_factor
        )

    def reverser(self, asked: Asked) -> SplitReverser:
        """Return what takes steps back."""
        again = self.again(asked.threads)
        columns = None if self.columns is None else self._reversed(self.columns, asked, None)
        cells = None if again.chemistry is None else ReversedCells(again.chemistry)
        return SplitReverser(
            self._reversed(self.kernel, asked, self.area.swap), columns, cells, again, own=self.lent is None
        )

    def _reversed(self, kernel: StepKernel, asked: Asked, swap: Swap | None) -> Reverser:
        return kernel.reversed(frozen=asked.frozen).reverser(
            self.area.layout, self.constants, threads=asked.threads, read=asked.read,
            reactions=asked.reactions, swap=swap,
        )  # fmt: skip

    def repeater(self, changes: Changes, size: float, threads: int = 1) -> SplitRepeater:
        """Return what makes steps once more."""
        constants = changes.constants(self.constants, size)
        moving = self._stepper(constants, threads)
        columns = self._columns_beside(moving.state, constants, threads)
        return SplitRepeater(moving, columns, self._cells_along(threads), changes, size)

    def tangent(self, threads: int = 1) -> SplitTangent:
        """Return what makes steps once more, and changes beside them."""
        moving = self._moved(self.kernel, threads, swap=self.area.swap)
        columns = None if self.columns is None else self._moved(self.columns, threads, states=moving.stepper.states)
        return SplitTangent(moving, columns, self._cells_along(threads), self.area)

    def _stepper(self, constants: StepConstants, threads: int) -> Stepper:
        kernel, area = self.kernel, self.area
        return kernel.stepper(area.layout, constants, threads=threads, others=area.others(kernel))

    def _moved(
        self, kernel: StepKernel, threads: int, *, states: StateAndChanges | None = None, swap: Swap | None = None
    ) -> Moved:
        stepper = kernel.tangent().stepper(
            self.area.layout, self.constants, threads=threads, states=states, swap=swap
        )  # fmt: skip
        return Moved(stepper, {each.key for each in members(kernel.shape.operators)})

    def _cells_along(self, threads: int) -> CellsAlong | None:
        return None if self.chemistry is None else CellsAlong(self.chemistry(threads), self.density_factor)

    def _columns_beside(self, state: State, constants: StepConstants, threads: int) -> Stepper | None:
        if self.columns is None:
            return None
        return self.columns.stepper(self.area.layout, constants, threads=threads, state=state)
