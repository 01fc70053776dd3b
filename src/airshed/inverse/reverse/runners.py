"""Runners of stages for replay, tangent, recomputation and adjoint: formulas (transport, columns, fused), and cells.

In a replay with perturbed reaction rates each rate is multiplied by 1 + e d, where e is an additional open parameter.
One kernel is compiled for each direction d, for all sizes e.

The adjoint of cells covers the accepted steps of each cell. With y = n q and the number density n of air, which the
stage does not change,

    adjoint of q before = n (adjoint of y before),      adjoint of y after = (adjoint of q after) / n
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from airshed.core.arrays import Array
from airshed.formula.tree import Binary, Expression, Number
from airshed.inverse.reverse.direction import Changes
from airshed.kernels.abi import TERMS
from airshed.kernels.backend import Reverser, StepKernel, Stepper, TangentStepper, backend
from airshed.kernels.cells import AIR_INPUTS, AcceptedSteps
from airshed.kernels.host import AnyArray, aligned_copy, aligned_zeros
from airshed.kernels.layout import Layout
from airshed.kernels.operators import members
from airshed.kernels.step.arguments import InputAdjoints, State, StateAndChanges, StepForcing, TimeLevel
from airshed.mechanism.expressions import Parameter
from airshed.models.air.programs.cell_chemistry import Air, CellChemistry, integrate_again
from airshed.models.air.programs.records import CellsRecord, FormulaStep, MoveRecord, StepRecord
from airshed.program.stage import Stage

Observer = Callable[[FormulaStep | None, AnyArray, AnyArray, Array | None], None]
"""Callback for each part of a replayed step.

Its arguments are the formula step, the packed mixing ratios before and after it, and the amounts clipped in each block
[lat][block][species], None if unknown. For cells and sums the formula step is None, and both mixing ratios are those
after the part.
"""


@dataclass(frozen=True)
class AdjointOptions:
    """Options of the adjoint of steps.

    read       compute the adjoints of fields and numbers that operators read
    reactions  compute the adjoints of factors on reaction rates; Rosenbrock methods always compute them
    frozen     treat the limiters of transport as constant
    """

    threads: int = 1
    read: bool = True
    reactions: bool = True
    frozen: bool = False


@dataclass(frozen=True)
class ReverseStep:
    """Step to reverse: its record, time levels n-1, n and n+1, and the previous step or its tendency T(n-1)."""

    record: StepRecord
    levels: tuple[TimeLevel, TimeLevel, TimeLevel]
    before: StepRecord | AnyArray


@dataclass(frozen=True)
class Totals:
    """Adjoints summed over steps, see :class:`airshed.kernels.backend.Reverser`; `read` is None if not computed."""

    boundary: Mapping[float, Array]
    boundary_profile: Array
    top: Array
    reactions: Array
    read: InputAdjoints | None


@dataclass(frozen=True)
class FormulaLevels:
    """Formula stage to reverse.

    levels    levels n-1 and n of the first step, and the level after each step; without a history n-1 is n
    tendency  tendency T of the last step
    before    forcing of the step before the first one, or its tendency; None for a formula without history
    """

    steps: Sequence[FormulaStep]
    levels: Sequence[TimeLevel]
    tendency: AnyArray | None = None
    before: StepForcing | AnyArray | None = None


class FormulaRecomputation:
    """Runner that repeats recorded steps of a formula, and stores the levels between them."""

    def __init__(self, stepper: Stepper) -> None:
        self._stepper = stepper

    def run(self, number: int, stage: Stage, given: MoveRecord) -> FormulaLevels:
        """Advance the state; return its levels."""
        stepper, state = self._stepper, self._stepper.state
        levels = [_copied_level(state)]
        for step in given.steps:
            stepper.advance([step.forcing])
            levels.append(_copied_level(state))
        return FormulaLevels(given.steps, [levels[0], *levels], aligned_copy(state.tendency))

    def close(self) -> None:
        """Stop the threads."""
        self._stepper.close()


class FormulaReplay:
    """Runner that repeats recorded steps of a formula with inputs perturbed by a multiple of a direction.

    with_rates  function that returns the forcing of a step with perturbed reaction rates
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
                kernel, q, clipped = self._stepper.kernel, state.q, None
                if kernel.shape.vertical:  # sums of horizontal transport alone have no blocks
                    terms, species = len(kernel.terms), q.shape[2]
                    by_term = sums[:, : terms * species].reshape(*q.shape[:2], terms, species)
                    clipped = np.asarray(by_term[:, :, TERMS.index("clipped")])
                self.observer(step, state.q_other, q, clipped)

    def close(self) -> None:
        """Stop the threads."""
        self._stepper.close()


class FormulaTangent:
    """Runner that repeats recorded steps of a formula together with their tangent."""

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
        """Stop the threads."""
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
            shares = [(share, self.sources[begin]) for begin, share in step.emission]
            self.reverser.reverse(step.forcing, given.levels[index : index + 3], earlier[index], shares)
        if given.before is None:
            self.reverser.finish(given.levels[1])

    def close(self) -> None:
        """Stop the threads."""
        self.reverser.close()


def _copied_level(state: State) -> TimeLevel:
    return TimeLevel(aligned_copy(state.q), aligned_copy(state.air))


_SIZE: Final = "size_of_rate_changes"


def with_rates(
    kernel: StepKernel, changes: Array | None, size: float, layout: Layout
) -> tuple[StepKernel, Callable[[StepForcing], StepForcing]]:  # fmt: skip
    """Return a kernel with rates perturbed by `size` times `changes` (reaction,), and a function for its forcing.

    A kernel without reactions is returned unchanged.
    """
    if changes is None or size == 0.0 or not kernel.network.reactions:
        return kernel, lambda forcing: forcing
    network, shape = kernel.network, kernel.shape
    reactions = tuple(
        replace(each, rate=_times(each.rate, float(change)))
        for each, change in zip(network.reactions, changes, strict=True)
    )
    faster = replace(network, reactions=reactions)
    place = [each.name for each in faster.parameters].index(_SIZE)
    made = backend().compile_mechanism(faster, shape.levels, shape.precision, operators=shape.operators)
    added: dict[int, tuple[AnyArray | None, AnyArray]] = {}

    def longer(given: AnyArray | None, like: AnyArray) -> AnyArray:
        """Return the open parameters with the size of changes inserted; stored, so that ids remain unique."""
        if id(given) not in added:
            before = layout.zeros(0, shape.levels) if given is None else given
            found = layout.zeros(before.shape[2] + 1, shape.levels)
            found[...] = np.insert(before, place, like.dtype.type(size), axis=2)
            added[id(given)] = given, found
        return added[id(given)][1]

    def forcing_of(forcing: StepForcing) -> StepForcing:
        column = forcing.column
        assert column is not None
        first, last = column.parameters or (None, None)
        both = longer(first, column.temperature[0]), longer(last, column.temperature[1])
        return replace(forcing, column=replace(column, parameters=both))

    return made, forcing_of


def _times(rate: Expression, change: float) -> Expression:
    """Return a rate times 1 + e d."""
    return Binary("*", rate, Binary("+", Number(1.0), Binary("*", Number(change), Parameter(_SIZE))))


_DENSITY = AIR_INPUTS.index("M")


@dataclass(frozen=True)
class CellsSteps:
    """Cells stage to reverse: its record, its air, and the accepted steps of each cell."""

    record: CellsRecord
    air: Air
    accepted: AcceptedSteps


class CellsRecomputation:
    """Runner that repeats recorded chemistry bitwise identically, and stores the accepted steps of each cell."""

    def __init__(self, chemistry: CellChemistry, density_factor: Array, state: State) -> None:
        self.chemistry, self._density_factor, self._state = chemistry, density_factor, state

    def run(self, number: int, stage: Stage, given: CellsRecord) -> CellsSteps:
        """Advance the state; return the steps."""
        state = self._state
        air = given.weather.with_density(state.air * self._density_factor)
        accepted = integrate_again(self.chemistry, given.integrated, air, state.q, state.q_other, state.tendency)
        state.q, state.q_other = state.q_other, state.q
        return CellsSteps(given, air, accepted)

    def close(self) -> None:
        """Stop the threads."""
        self.chemistry.solver.close()


class CellsReplay:
    """Runner that repeats recorded chemistry with the recorded step lengths.

    factors  factors on rates (reaction,), or one factor for all reactions
    """

    observer: Observer | None = None

    def __init__(self, chemistry: CellChemistry, density_factor: Array, state: State, factors: Array | float) -> None:
        self._chemistry, self._density_factor, self._state = chemistry, density_factor, state
        self._solver, self._factors = chemistry.solver.tangent(), of_each_reaction(chemistry, factors)

    def run(self, number: int, stage: Stage, given: CellsRecord) -> None:
        """Advance the state."""
        assert given.integrated.lengths is not None
        q = self._state.q
        air = given.weather.with_density(self._state.air * self._density_factor)
        inputs = self._chemistry.inputs_in(air)
        y, density = cells_of(q, len(self._chemistry.solver.kernel.network.species)), inputs[:, :, _DENSITY]
        y *= density
        self._solver.repeat(y, inputs, given.integrated.lengths, self._factors)
        y /= density
        put_cells(y, q)
        if self.observer is not None:
            self.observer(None, q, q, None)

    def close(self) -> None:
        """Stop the threads."""
        self._chemistry.solver.close()


class CellsTangent:
    """Runner that repeats recorded chemistry bitwise identically, together with its tangent."""

    changes: Changes

    def __init__(self, chemistry: CellChemistry, density_factor: Array, states: StateAndChanges) -> None:
        self._chemistry, self._density_factor, self._states = chemistry, density_factor, states
        self._solver = chemistry.solver.tangent()

    def run(self, number: int, stage: Stage, given: CellsRecord) -> None:
        """Advance the state and its change."""
        # Repeat the accepted steps.
        state, changes, chemistry = self._states.state, self._states.changes, self._chemistry
        before, result, clipped = (aligned_copy(state.q) for _ in range(3))
        air = given.weather.with_density(state.air * self._density_factor)
        accepted = integrate_again(chemistry, given.integrated, air, before, result, clipped)

        # Integrate the tangent along these steps, in number densities.
        inputs = chemistry.inputs_in(air)
        change, density = cells_of(changes.q, len(chemistry.solver.kernel.network.species)), inputs[:, :, _DENSITY]
        change *= density
        rates = self.changes.direction.rates
        self._solver.along(change, inputs, accepted, of_each_reaction(chemistry, 0.0 if rates is None else rates))
        change /= density
        put_cells(change, changes.q)
        state.q[...] = result

    def close(self) -> None:
        """Stop the threads."""
        self._chemistry.solver.close()


class CellsAdjoint:
    """Runner that reverses chemistry.

    reactions  adjoints of factors on rates, summed over steps [lat][block][reaction]
    """

    def __init__(self, chemistry: CellChemistry, x: AnyArray) -> None:
        self._chemistry, self._x, self._reverser = chemistry, x, chemistry.solver.reversed()
        layout = chemistry.layout
        self.reactions = np.zeros((layout.rows, layout.blocks, len(chemistry.network.reactions)))

    def run(self, number: int, stage: Stage, given: CellsSteps) -> None:
        """Reverse the stage."""
        chemistry, interval = self._chemistry, given.record.integrated
        inputs = chemistry.inputs_in(given.air)
        density = inputs[:, :, _DENSITY]
        adjoint = cells_of(self._x, len(chemistry.solver.kernel.network.species))
        adjoint /= density
        found = self._reverser.reverse(adjoint, inputs, given.accepted, 0.0, interval.end - interval.begin)
        put_cells(found.adjoint * density, self._x)
        rows, blocks, reactions = self.reactions.shape
        self.reactions += found.rates.reshape(rows, blocks, chemistry.levels, reactions, -1).sum(axis=(2, 4))


def of_each_reaction(chemistry: CellChemistry, values: Array | float) -> Array:
    """Return values (reaction,); a single value is repeated."""
    return np.broadcast_to(np.asarray(values, np.float64), (len(chemistry.network.reactions),))


def cells_of(packed: AnyArray, species: int) -> AnyArray:
    """Return [lat][block][species][level][W] as (pack, species, W); additional species are zero."""
    rows, blocks, known, levels, width = packed.shape
    cells = aligned_zeros((rows * blocks * levels, species, width), np.float64)
    cells.reshape(rows, blocks, levels, species, width)[:, :, :, :known] = np.moveaxis(packed, 2, 3)
    return cells


def put_cells(cells: AnyArray, packed: AnyArray) -> None:
    """Fill [lat][block][species][level][W] from cells, without additional species."""
    rows, blocks, known, levels, width = packed.shape
    split = cells.reshape(rows, blocks, levels, cells.shape[1], width)[:, :, :, :known]
    packed[...] = np.moveaxis(split, 3, 2)
