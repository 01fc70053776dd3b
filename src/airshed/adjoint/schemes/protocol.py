"""What gradients, and what verifies them, ask of a scheme: its steps once more, their tangent, and their adjoint."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from airshed.adjoint.area import Area
from airshed.adjoint.changes import Changes
from airshed.adjoint.direction import Direction
from airshed.air.programs.records import SumRecord, CellsRecord, FormulaStep, StepRecord
from airshed.kernels.backend import StepKernel
from airshed.kernels.derivatives import ReadAdjoints, SummedReads
from airshed.kernels.memory import AnyArray
from airshed.kernels.step.data import Level, State, StepConstants
from airshed.kernels.step.operator_fields import Member
from airshed.kernels.step.operators import Operator
from airshed.mechanism.network import ReactionNetwork

Array = npt.NDArray[np.float64]

Look = Callable[[FormulaStep | CellsRecord | SumRecord, AnyArray, AnyArray, Array | None], None]
"""Is told of each part of a step, the packed mixing ratios before and after it, and the sums of blocks (block, sum);
None where there are none by levels of the whole column."""


@dataclass(frozen=True)
class Passed:
    """A step to be taken back: how it was taken, levels n-1, n and n+1, and the step before, or its tendency T(n-1)."""

    taken: StepRecord
    levels: tuple[Level, Level, Level]
    before: StepRecord | AnyArray


@dataclass(frozen=True)
class Asked:
    """How steps are taken back.

    read       whether adjoints of what operators read are asked for
    reactions  whether those of factors on the rates of reactions are; by Rosenbrock methods they are there anyway
    frozen     whether limiters of the transport stay as they were
    """

    threads: int = 1
    read: bool = True
    reactions: bool = True
    frozen: bool = False


@dataclass(frozen=True)
class Totals:
    """Adjoints that steps add up: see :class:`airshed.kernels.derivatives.Reverser`.

    read  of what operators read; None where that was not asked for
    """

    outside: Array
    top: Array
    reactions: Array
    read: ReadAdjoints | None


class StepReverser(Protocol):
    """Takes the adjoints of a state back over steps, the last one first."""

    @property
    def x(self) -> AnyArray:
        """The adjoint of the mixing ratios of the level that was reached, to which costs there are added."""
        ...

    @property
    def totals(self) -> Totals:
        """What was added up."""
        ...

    def start(self, tendency: AnyArray) -> None:
        """Begin with adjoints of zero, after the last step, whose tendency T(n) is given."""
        ...

    def reverse(self, passed: Passed, sources: Mapping[float, AnyArray]) -> None:
        """Take the adjoints back over a step.

        sources  adjoints of sources by the beginnings of their periods [s], which are added to
        """
        ...

    def finish(self, first: Level) -> None:
        """Complete the adjoint of the first level."""
        ...

    def jump(self, now: Level) -> AnyArray:
        """Return what a jump of the mixing ratios is worth just before the step that was taken back last."""
        ...

    @property
    def reads(self) -> Sequence[SummedReads]:
        """What operators read, of each kernel by itself; none where that was not asked for."""
        ...

    def keep(self) -> dict[str, AnyArray]:
        """Return its own arrays, of all but :attr:`reads`, which another one needs to go on behind a step."""
        ...

    def take_up(self, kept: Mapping[str, AnyArray], after: StepRecord) -> None:
        """Take over what another one kept behind a step; after: how that was taken."""
        ...

    def close(self) -> None:
        """End threads."""
        ...


class Repeater(Protocol):
    """Makes recorded steps once more, with inputs moved along a direction."""

    @property
    def q(self) -> AnyArray:
        """The packed mixing ratios of now."""
        ...

    def start(self, first: State) -> None:
        """Begin with a state, and what the direction changes of it."""
        ...

    def step(self, taken: StepRecord, look: Look | None = None) -> None:
        """Make a step."""
        ...

    def close(self) -> None:
        """End threads."""
        ...


class Tangent(Protocol):
    """Makes recorded steps once more, and changes beside them.

    After each step it is told the level that the run reached, from which it goes on: its own differs in round-off, by
    which a limiter may choose another branch, while the adjoint goes along the run.
    """

    @property
    def q(self) -> AnyArray:
        """The packed mixing ratios of now."""
        ...

    @property
    def change(self) -> AnyArray:
        """Their change."""
        ...

    def start(self, first: State, direction: Direction, members: Mapping[str, Member]) -> None:
        """Begin with a state, and changes in a direction of all that there is."""
        ...

    def step(self, taken: StepRecord) -> None:
        """Make a step."""
        ...

    def reached(self, level: Level) -> None:
        """Put the level that the run reached in the place of its own; changes stay as they are."""
        ...

    def close(self) -> None:
        """End threads."""
        ...


class Derivatives(Protocol):
    """The derivatives of the steps of a scheme; it outlives the model.

    kernel  of what moves species, with chemistry where that is in the same step;  noted  [bytes] kept of a step beside
            its level
    """

    @property
    def kernel(self) -> StepKernel:
        """See above."""
        ...

    @property
    def area(self) -> Area:
        """Of which a rank holds columns."""
        ...

    @property
    def constants(self) -> StepConstants:
        """What stays the same from step to step."""
        ...

    @property
    def network(self) -> ReactionNetwork:
        """The mechanism, with its reactions."""
        ...

    @property
    def operators(self) -> Sequence[Operator]:
        """The operators, wherever they act."""
        ...

    @property
    def members(self) -> Mapping[str, Member]:
        """The fields and numbers that they read, by their names."""
        ...

    @property
    def noted(self) -> int:
        """See above."""
        ...

    def reverser(self, asked: Asked) -> StepReverser:
        """Return what takes steps back."""
        ...

    def repeater(self, changes: Changes, size: float, threads: int = 1) -> Repeater:
        """Return what makes steps once more, inputs at so many times their changes from where they were."""
        ...

    def tangent(self, threads: int = 1) -> Tangent:
        """Return what makes steps once more, and changes beside them."""
        ...
