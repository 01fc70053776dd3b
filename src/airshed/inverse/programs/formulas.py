"""Runners of stages that apply a formula: transport, columns, or several operators fused."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from airshed.inverse.changes import Changes
from airshed.inverse.programs.steps import Observer
from airshed.kernels.abi import TERMS
from airshed.kernels.backend import StepKernel, Stepper
from airshed.kernels.derivatives import Reverser, TangentStepper
from airshed.kernels.host import AnyArray, aligned_copy
from airshed.kernels.operators import members
from airshed.kernels.step.data import Level, Share, State, StepForcing
from airshed.models.air.programs.records import FormulaStep, MoveRecord
from airshed.program.stage import Stage

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class FormulaLevels:
    """Stage to reverse.

    levels    levels n-1 and n of the first step, and the level after each step; without a history n-1 is n
    tendency  T of the last step
    before    forcing of the step before the first one, or its tendency; None for a formula without history
    """

    steps: Sequence[FormulaStep]
    levels: Sequence[Level]
    tendency: AnyArray | None = None
    before: StepForcing | AnyArray | None = None


class FormulaRecomputation:
    """Runner that repeats recorded steps of a formula, and stores the levels between them."""

    def __init__(self, stepper: Stepper) -> None:
        self._stepper = stepper

    def run(self, number: int, stage: Stage, given: MoveRecord) -> FormulaLevels:
        """Advance the state; return its levels."""
        stepper, state = self._stepper, self._stepper.state
        levels = [_copy_of(state)]
        for step in given.steps:
            stepper.advance([step.forcing])
            levels.append(_copy_of(state))
        return FormulaLevels(given.steps, [levels[0], *levels], aligned_copy(state.tendency))

    def close(self) -> None:
        """End the threads."""
        self._stepper.close()


class FormulaReplay:
    """Runner that repeats recorded steps of a formula with inputs changed by a multiple of a direction.

    with_rates  returns the forcing of a step with changed reaction rates
    """

    observer: Observer | None = None

    def __init__(
        self, stepper: Stepper, changes: Changes, size: float, with_rates: Callable[[StepForcing], StepForcing]
    ) -> None:
        self._stepper, self._changes, self._size, self._with_rates = stepper, changes, size, with_rates

    def run(self, number: int, stage: Stage, given: MoveRecord) -> None:
        """Advance the state."""
        state = self._stepper.state
        for step in given.steps:
            forcing = self._with_rates(self._changes.perturbed(step, self._size))
            sums = self._stepper.advance([forcing])[0]
            if self.observer is not None:
                self.observer(step, state.q_other, state.q, self._clipped(sums))

    def _clipped(self, sums: Array) -> Array | None:
        """Return the amounts clipped in each block; None for horizontal transport alone, whose sums have no blocks."""
        kernel, q = self._stepper.kernel, self._stepper.state.q
        if not kernel.shape.vertical:
            return None
        terms, species = len(kernel.terms), q.shape[2]
        by_term = sums[:, : terms * species].reshape(*q.shape[:2], terms, species)
        return np.asarray(by_term[:, :, TERMS.index("clipped")])

    def close(self) -> None:
        """End the threads."""
        self._stepper.close()


class FormulaTangent:
    """Runner that repeats recorded steps of a formula, with the tangent of each."""

    changes: Changes

    def __init__(self, kernel: StepKernel, stepper: TangentStepper) -> None:
        self._stepper, self._has_reactions = stepper, bool(kernel.network.reactions)
        self._names = {each.key for each in members(kernel.shape.operators)}

    def run(self, number: int, stage: Stage, given: MoveRecord) -> None:
        """Advance the state and its change."""
        for step in given.steps:
            all_changes = self.changes.of(step)
            own = replace(
                all_changes, reactions=all_changes.reactions if self._has_reactions else None,
                fields={name: each for name, each in all_changes.fields.items() if name in self._names},
                numbers={name: each for name, each in all_changes.numbers.items() if name in self._names},
            )  # fmt: skip
            self._stepper.step(step.forcing, own)

    def close(self) -> None:
        """End the threads."""
        self._stepper.close()


class FormulaAdjoint:
    """Runner that reverses steps of a formula.

    sources  adjoints of sources by the beginnings of their periods [s]
    zero     tendency before the first step of a formula without history
    """

    sources: Mapping[float, AnyArray]

    def __init__(self, reverser: Reverser, zero: AnyArray) -> None:
        self.reverser, self._zero = reverser, zero

    def run(self, number: int, stage: Stage, given: FormulaLevels) -> None:
        """Reverse the stage. With a history, the adjoint of its first level lacks the transport of its first step."""
        if given.tendency is not None:
            self.reverser.start_after(given.tendency)
        earlier = [self._zero if given.before is None else given.before, *(each.forcing for each in given.steps)]
        for index in reversed(range(len(given.steps))):
            step = given.steps[index]
            shares = [Share(share, self.sources[begin]) for begin, share in step.emission]
            self.reverser.reverse(step.forcing, given.levels[index : index + 3], earlier[index], shares)
        if given.before is None:
            self.reverser.finish(given.levels[1])

    def close(self) -> None:
        """End the threads."""
        self.reverser.close()


def _copy_of(state: State) -> Level:
    return Level(aligned_copy(state.q), aligned_copy(state.air))
