"""Derivatives of steps by the two-step formula over all that acts: the compiled adjoint and tangent of one kernel."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from airshed.adjoint.area import Area
from airshed.adjoint.changes import Changes
from airshed.adjoint.direction import Direction
from airshed.adjoint.rate_factors import with_rates
from airshed.adjoint.schemes.protocol import Asked, Look, Passed, Totals
from airshed.air.programs.records import StepRecord
from airshed.kernels.backend import StepKernel
from airshed.kernels.derivatives import Reverser, SummedReads, TangentStepper
from airshed.kernels.memory import AnyArray
from airshed.kernels.step.data import Level, Share, State, StepConstants
from airshed.kernels.step.operator_fields import Member, members
from airshed.kernels.step.operators import Operator
from airshed.mechanism.network import ReactionNetwork


@dataclass(frozen=True)
class TwoStep:
    """Derivatives of the two-step formula; see :class:`airshed.adjoint.schemes.protocol.Derivatives`."""

    kernel: StepKernel
    area: Area
    constants: StepConstants
    noted = 0

    @property
    def network(self) -> ReactionNetwork:
        """The mechanism."""
        return self.kernel.network

    @property
    def operators(self) -> Sequence[Operator]:
        """The operators of the step."""
        return self.kernel.shape.operators

    @cached_property
    def members(self) -> Mapping[str, Member]:
        """The fields and numbers that they read, by their names."""
        return {each.key: each for each in members(self.operators)}

    def reverser(self, asked: Asked) -> "TwoStepReverser":
        """Return what takes steps back."""
        kernel = self.kernel.reversed(frozen=asked.frozen)
        reverser = kernel.reverser(
            self.area.layout, self.constants, threads=asked.threads, read=asked.read,
            reactions=asked.reactions, swap=self.area.swap,
        )  # fmt: skip
        return TwoStepReverser(reverser)

    def repeater(self, changes: Changes, size: float, threads: int = 1) -> "TwoStepRepeater":
        """Return what makes steps once more."""
        return TwoStepRepeater(self, changes, size, threads)

    def tangent(self, threads: int = 1) -> "TwoStepTangent":
        """Return what makes steps once more, and changes beside them."""
        area, kernel = self.area, self.kernel.tangent()
        return TwoStepTangent(kernel.stepper(area.layout, self.constants, threads=threads, swap=area.swap), area)


class TwoStepReverser:
    """Takes adjoints back by the compiled adjoint of the step."""

    def __init__(self, reverser: Reverser) -> None:
        self._reverser = reverser

    @property
    def x(self) -> AnyArray:
        """The adjoint of the level that was reached."""
        return self._reverser.x

    @property
    def totals(self) -> Totals:
        """What was added up."""
        each = self._reverser
        return Totals(each.outside, each.top, each.reactions, each.read)

    def start(self, tendency: AnyArray) -> None:
        """Begin after the last step."""
        self._reverser.start(tendency)

    def reverse(self, passed: Passed, sources: Mapping[float, AnyArray]) -> None:
        """Take the adjoints back over a step."""
        (stage,), before = passed.taken.formula_steps, passed.before
        shares = [Share(share, sources[begin]) for begin, share in stage.emission]
        earlier = before if isinstance(before, np.ndarray) else before.formula_steps[0].forcing
        self._reverser.reverse(stage.forcing, passed.levels, earlier, shares)

    def finish(self, first: Level) -> None:
        """Complete the adjoint of the first level."""
        self._reverser.finish(first)

    def jump(self, now: Level) -> AnyArray:
        """Return what a jump of both levels is worth."""
        return self._reverser.jump(now)

    @property
    def reads(self) -> Sequence[SummedReads]:
        """What operators read."""
        return [] if self._reverser.read is None else [self._reverser.read]

    def keep(self) -> dict[str, AnyArray]:
        """Return its own arrays."""
        return self._reverser.keep()

    def take_up(self, kept: Mapping[str, AnyArray], after: StepRecord) -> None:
        """Take over what another one kept."""
        (stage,) = after.formula_steps
        self._reverser.take_up(kept, stage.forcing)

    def close(self) -> None:
        """End the threads."""
        self._reverser.close()


class TwoStepRepeater:
    """Makes steps once more by a stepper of its own."""

    def __init__(self, scheme: TwoStep, changes: Changes, size: float, threads: int) -> None:
        self._changes, self._size, area = changes, size, scheme.area
        kernel, self._forcing_of = with_rates(scheme.kernel, changes.direction.rates, size, area.layout)
        constants, others = changes.constants(scheme.constants, size), area.others(kernel)
        self._stepper = kernel.stepper(area.layout, constants, threads=threads, others=others)

    @property
    def q(self) -> AnyArray:
        """The packed mixing ratios of now."""
        return self._stepper.state.q

    def start(self, first: State) -> None:
        """Begin with a state."""
        copy_state(first, self._stepper.state)
        self._changes.add_to_initial(self._stepper.state.q, self._size)

    def step(self, taken: StepRecord, look: Look | None = None) -> None:
        """Make a step."""
        (stage,), state = taken.formula_steps, self._stepper.state
        sums = self._stepper.advance([self._forcing_of(self._changes.perturbed(stage, self._size))])[0]
        if look is not None:
            look(stage, state.q_other, state.q, sums)

    def close(self) -> None:
        """End the threads."""
        self._stepper.close()


class TwoStepTangent:
    """Makes steps once more, and changes beside them, by the compiled tangent."""

    def __init__(self, stepper: TangentStepper, area: Area) -> None:
        self._stepper, self._area = stepper, area

    @property
    def q(self) -> AnyArray:
        """The packed mixing ratios of now."""
        return self._stepper.state.q

    @property
    def change(self) -> AnyArray:
        """Their change."""
        return self._stepper.changes.q

    def start(self, first: State, direction: Direction, members: Mapping[str, Member]) -> None:
        """Begin with a state, and changes in a direction."""
        self._changes = Changes(direction, self._area, members)
        start_tangent(self._stepper, first, direction, self._area)

    def step(self, taken: StepRecord) -> None:
        """Make a step."""
        (stage,) = taken.formula_steps
        self._stepper.step(stage.forcing, self._changes.of(stage))

    def reached(self, level: Level) -> None:
        """Go on from the level that the run reached; the one before was put in its place a step ago."""
        put_level(level, self._stepper.state)

    def close(self) -> None:
        """End the threads."""
        self._stepper.close()


def start_tangent(stepper: TangentStepper, first: State, direction: Direction, area: Area) -> None:
    """Set a state, and the changes of the mixing ratios that a direction has at the beginning."""
    copy_state(first, stepper.state)
    for each in (stepper.changes.q, stepper.changes.q_other, stepper.changes.tendency):
        each[...] = 0.0
    if direction.initial is not None:
        stepper.changes.q[...] = area.own(direction.initial)


def put_level(level: Level, target: State) -> None:
    """Put a level in the place of the newest one of a state."""
    target.q[...], target.air[...] = level.q, level.air


def copy_state(source: State, target: State) -> None:
    """Fill the arrays of a state with those of another."""
    for name, array in vars(source).items():
        getattr(target, name)[...] = array
