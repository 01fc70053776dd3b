"""Tangent-linear step: advances a state together with its tangent.

Values with a tangent are stored as [..][value, change][W].
"""

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.core.errors import KernelError
from airshed.kernels.backends.cpu.argument_table import ArgumentTable
from airshed.kernels.backends.cpu.work_sharing import ThreadTeam, cut
from airshed.kernels.boundary import BoundaryForcing, PackedBoundary, empty_edges, fetch, sides_of
from airshed.kernels.host import AnyArray, address, aligned_zeros
from airshed.kernels.layout import Layout, MechanismShape
from airshed.kernels.operators import Member, Operator, members
from airshed.kernels.step.arguments import (
    CHANGE,
    VALUE,
    ColumnForcing,
    HaloExchange,
    Pair,
    Side,
    State,
    StateAndChanges,
    StepChanges,
    StepConstants,
    StepForcing,
)
from airshed.kernels.step.emit import factors_of
from airshed.mechanism.network import ReactionNetwork

if TYPE_CHECKING:
    from airshed.kernels.backends.cpu.kernel import StepDerivative


_ROW: Final = 0  # one step at a time


class TangentTable(ArgumentTable):
    """Argument table of one step, with tangents of its inputs."""

    parts = 2

    def __init__(
        self, layout: Layout, open_sides: Collection[Side], constants: StepConstants, operators: Sequence[Operator],
        network: ReactionNetwork, levels: int,
    ) -> None:  # fmt: skip
        self._factors = factors_of(network)
        self._changes: dict[str, Array] = {}
        super().__init__(layout, 1, open_sides, constants, operators, levels)
        self._top = aligned_zeros((max(constants.top.size, 1), 2), layout.dtype)
        self._top[: constants.top.size, VALUE] = constants.top
        self._steps[_ROW].top = address(self._top)
        self._packed: dict[str, AnyArray] = {}

    def _all_members(self, operators: Sequence[Operator]) -> tuple[Member, ...]:
        return (*members(operators), self._factors)

    def _place_numbers(self, step: Any) -> dict[str, Array]:
        found = {}
        for each in self._members:
            if each.shape is None:
                count = len(each.values)
                both = aligned_zeros((max(count, 1), 2), np.float64).view(np.float64)
                both[:count, VALUE] = each.values
                setattr(step, each.name, address(both))
                found[each.key], self._changes[each.key] = both[:count, VALUE], both[:count, CHANGE]
        return found

    def _of_profile(self, profile: Array) -> PackedBoundary:
        return super()._of_profile(profile).with_changes(self._layout, None)

    def set_changes(self, changes: StepChanges) -> None:
        """Set the tangents of inputs that are not packed fields."""
        for side, both in self._profile.sides.items():
            target = both[..., CHANGE] if side in ("west", "east") else np.moveaxis(both[..., CHANGE, :], -1, 0)
            target[...] = 0.0 if changes.boundary_profile is None else changes.boundary_profile
        self._top[..., CHANGE] = 0.0
        if changes.top is not None:
            self._top[: len(changes.top), CHANGE] = changes.top
        given = dict(changes.numbers)
        if changes.reactions is not None:
            given[self._factors.key] = changes.reactions
        self._refuse_unknown(given, self._changes)
        for name, change in self._changes.items():
            change[...] = given.get(name, 0.0)

    def both(self, forcing: StepForcing, changes: StepChanges) -> StepForcing:
        """Return the forcing of a step in which packed fields are interleaved with their tangents."""
        fields = {each.key for each in self._members if each.shape is not None}
        self._refuse_unknown(changes.fields, fields)

        def with_changes(given: Mapping[str, Pair]) -> dict[str, Pair]:
            return {name: self._pair(name, given[name], changes.fields.get(name)) for name in fields & set(given)}

        transport = replace(
            forcing.transport, fields=with_changes(forcing.transport.fields),
            boundary=self._boundary(forcing.transport.boundary, changes.boundary),
        )  # fmt: skip
        if forcing.column is None:
            return replace(forcing, transport=transport)
        column = replace(
            forcing.column, fields=with_changes(forcing.column.fields),
            emission=self._with_change("emission", forcing.column.emission, changes.emission),
        )  # fmt: skip
        return replace(forcing, transport=transport, column=column)

    def _boundary(self, values: BoundaryForcing | None, changes: BoundaryForcing | None) -> BoundaryForcing | None:
        """Return boundary concentrations with their tangents."""
        if values is None:
            return None
        start, end = (None, None) if changes is None else (changes.start, changes.end)
        first, last = values.start.with_changes(self._layout, start), values.end.with_changes(self._layout, end)
        return BoundaryForcing(first, last, values.weight)

    def _refuse_unknown(self, given: Mapping[str, object], known: Collection[str]) -> None:
        for name in set(given) - set(known):
            raise KernelError(f"there is a change of {name}, which no operator of the kernel reads")

    def _pair(self, name: str, values: Pair, changes: Pair | None) -> Pair:
        first, last = changes or (None, None)
        return self._with_change(f"{name}, start", values[0], first), self._with_change(f"{name}, end", values[1], last)

    def _with_change(self, name: str, values: AnyArray, change: AnyArray | None) -> AnyArray:
        """Return packed values with their change, in a buffer reserved for the name."""
        if change is not None and change.shape != values.shape:
            raise KernelError(f"the change of {name} is {change.shape}; it must be {values.shape}, as the values")
        shape = (*values.shape[:-1], 2, values.shape[-1])
        if name not in self._packed or self._packed[name].shape != shape:
            self._packed[name] = self._layout.empty(*shape)
        both = self._packed[name]
        both[..., VALUE, :] = values
        both[..., CHANGE, :] = 0.0 if change is None else change
        return both

    def _fill_column(self, row: int, column: ColumnForcing) -> None:
        super()._fill_column(row, column)
        self._steps[row].emission_levels = column.emission.shape[-3]

    def _shape_of(self, member: Member) -> tuple[int, ...]:
        *others, width = super()._shape_of(member)
        return (*others, 2, width)


class TangentStepper:
    """Advance a state and its tangent: the step and its tangent-linear model in one pass.

    states          state and tangent of another stepper, advanced by both; None for new ones
    halo_exchange   exchange of halos; None for a tile without neighbours
    state, changes  state, and tangents of its mixing ratios and tendencies, to be set before a step; views of `states`
    """

    def __init__(
        self, kernel: "StepDerivative", layout: Layout, constants: StepConstants, *, threads: int = 1,
        states: StateAndChanges | None = None, halo_exchange: HaloExchange | None = None,
    ) -> None:  # fmt: skip
        self.kernel, self.layout, self._sweeps = kernel, layout, constants.sweeps
        shape, network = kernel.shape, kernel.network
        species, levels = len(network.species), shape.levels
        self.states = states or StateAndChanges.zeros(layout, species, levels)
        self._halo_exchange, sides = halo_exchange, sides_of(halo_exchange)
        self._edges = empty_edges(layout, (species, levels, 2), sides)
        self._table = TangentTable(layout, sides, constants, shape.operators, network, levels)
        self._sums: npt.NDArray[np.float64] = aligned_zeros(
            (layout.rows * layout.blocks, _sums(shape, species)), np.float64
        ).view(np.float64)
        threads = max(1, min(threads, layout.rows))
        self._pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None
        pieces = cut(layout.rows, layout.blocks, threads, sides)
        self._work = ThreadTeam(kernel, self._table, pieces, layout.blocks, threads=threads, pool=self._pool)

    @property
    def state(self) -> State:
        """The state."""
        return self.states.state

    @property
    def changes(self) -> State:
        """The tangents of its mixing ratios and tendencies."""
        return self.states.changes

    def step(self, forcing: StepForcing, changes: StepChanges | None = None) -> None:
        """Advance state and changes from n to n+1."""
        changes = changes or StepChanges()
        self._table.set_changes(changes)
        both = self._table.both(forcing, changes)
        fetch(self._halo_exchange, self.states.both.q, self._edges)
        self._table.fill(self._work.steps + 1, self.states.both, both, self._edges, self._sums, self._sweeps)
        self.states.rotate()
        self._work.work(1)

    def close(self) -> None:
        """Stop the threads."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)


def _sums(shape: MechanismShape, species: int) -> int:
    """Return the number of sums of a block: `SUMS` of ``step/layout.hpp``, without families."""
    return (4 + len(shape.own_terms)) * species if shape.vertical else 3 * species * shape.levels
