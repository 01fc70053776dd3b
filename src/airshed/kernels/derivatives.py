"""What a model asks of the derivatives of a step: its adjoint and its tangent; ``backend.py`` has the step itself."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from airshed.kernels.host import AnyArray
from airshed.kernels.layout import Layout
from airshed.kernels.step.data import (
    FieldAdjoint,
    Level,
    Share,
    State,
    StateAndChanges,
    StepChanges,
    StepConstants,
    StepForcing,
    Swap,
)

Array = npt.NDArray[np.float64]


class ReadAdjoints(Protocol):
    """Adjoints of what operators read, added up over steps.

    numbers  by the name that the operator has for it, [lat][block][value]
    """

    numbers: dict[str, Array]

    @property
    def fields(self) -> list[FieldAdjoint]:
        """Those of fields at each instant of the forcing."""
        ...


class SummedReads(ReadAdjoints, Protocol):
    """Those of one reverser, which adds them up pass by pass, and which another one can take over.

    passes  over the area so far
    """

    passes: int

    @property
    def last_passes(self) -> list[int]:
        """The number of the pass that each of these fields was in last."""
        ...

    def restore(self, fields: Sequence[tuple[FieldAdjoint, int]], passes: int) -> None:
        """Restore fields with the number of their last pass, and the number of passes so far."""
        ...


class Reverser(Protocol):
    """Reverses steps, from the last one to the first.

    x               adjoint of the mixing ratios of the current level, to which costs add their derivatives: that of n+1
                    before :meth:`reverse`, then that of n without its transport, which the next call or :meth:`finish`
                    adds
    older           contribution of the last reversed step to the adjoint of level n-1;  older_tendency  to its tendency
    boundary        adjoints of boundary concentrations (species, level, face cell) by their instants [s]; of the
                    lateral profile by face cell, at 0 s, where steps are given no field
    boundary_profile  their sum over instants and faces by block, [lat][block][species][level]
    top             adjoint of mixing ratios above the area, [lat][block][species]
    reactions       of a factor on each reaction's rate, [lat][block][reaction]; all these add up over steps
    """

    x: AnyArray
    older: AnyArray
    older_tendency: AnyArray
    top: Array
    reactions: Array

    @property
    def boundary(self) -> Mapping[float, Array]:
        """See above."""
        ...

    @property
    def boundary_profile(self) -> Array:
        """See above."""
        ...

    @property
    def read(self) -> SummedReads | None:
        """Adjoints of the inputs of operators; None if not requested."""
        ...

    def start(self, tendency: AnyArray) -> None:
        """Start with adjoints of zero, after a step whose tendency T(n) is given."""
        ...

    def start_after(self, tendency: AnyArray) -> None:
        """Continue from a complete `x`, after a step whose tendency T(n) is given and which other stages follow.

        Sums over steps are not reset. No later step reads older levels.
        """
        ...

    def reverse(
        self, step: StepForcing, levels: Sequence[Level], before: StepForcing | AnyArray, sources: Sequence[Share] = ()
    ) -> None:
        """Reverse the step from n to n+1.

        levels   n-1, n and n+1
        before   the step before, or its tendency T(n-1)
        sources  the periods of its emission, two at most, to whose adjoints the step adds
        """
        ...

    def finish(self, first: Level) -> None:
        """Complete the adjoint of the first level by the transport of the step that began there."""
        ...

    def jump(self, now: Level) -> AnyArray:
        """Return the adjoint of a jump of the mixing ratios just before the last reversed step.

        It is the complete adjoint of level n of that step plus its contribution to level n-1: both levels jump, since
        the two-step formula would treat a jump of one of them as a tendency. Nothing else changes.
        """
        ...

    def save(self) -> dict[str, AnyArray]:
        """Return the arrays that :meth:`restore` needs, except those of fields that operators read."""
        ...

    def restore(self, saved: Mapping[str, AnyArray], after: StepForcing | None) -> None:
        """Restore arrays saved after a step with forcing `after`; None where the adjoint is complete."""
        ...

    def close(self) -> None:
        """End the threads."""
        ...


class ReverseKernel(Protocol):
    """The adjoint of a mechanism's step as compiled code; seconds: wall time of each stage of its making."""

    @property
    def seconds(self) -> dict[str, float]:
        """See above."""
        ...

    def reverser(
        self, layout: Layout, constants: StepConstants, *, threads: int = 1, read: bool = False,
        reactions: bool = True, swap: Swap | None = None,
    ) -> Reverser:  # fmt: skip
        """Return what takes adjoints back over steps of this layout.

        read       whether what operators read is asked for
        reactions  whether factors on the rates of reactions are, whose adjoints stay zero else
        swap       what lies beyond the sides where the area goes on; None where it ends on all of them
        """
        ...


class TangentStepper(Protocol):
    """Advances a state and its changes: the step, and its tangent-linear model, at once.

    state    the state;  changes  of its mixing ratios and tendencies, to be set before a step; both are in `states`
    """

    states: StateAndChanges

    @property
    def state(self) -> State:
        """See above."""
        ...

    @property
    def changes(self) -> State:
        """See above."""
        ...

    def step(self, forcing: StepForcing, changes: StepChanges | None = None) -> None:
        """Advance state and changes from n to n+1, with changes of what the step is given."""
        ...

    def close(self) -> None:
        """End the threads."""
        ...


class TangentKernel(Protocol):
    """The tangent of a mechanism's step as compiled code; seconds: wall time of each stage of its making."""

    @property
    def seconds(self) -> dict[str, float]:
        """See above."""
        ...

    def stepper(
        self, layout: Layout, constants: StepConstants, *, threads: int = 1, states: StateAndChanges | None = None,
        swap: Swap | None = None,
    ) -> TangentStepper:  # fmt: skip
        """Return what advances a state of this layout and its changes.

        states  those of another one, to be advanced by both in turn; None for some of its own
        swap    what lies beyond the sides where the area goes on; None where it ends on all of them
        """
        ...
