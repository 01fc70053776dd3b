"""Backward pass over steps: fills the structure ``Reverse`` for threads that share its rows."""

import ctypes
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from airshed.core.arrays import Array
from airshed.kernels import abi
from airshed.kernels.backends.cpu.argument_table import ArgumentTable
from airshed.kernels.boundary import PackedBoundary, empty_edges, empty_sides, fetch, sides_of, sum_of_cells
from airshed.kernels.column.operator_code import adjoint_members
from airshed.kernels.host import AnyArray, address, aligned_empty, aligned_zeros
from airshed.kernels.layout import Layout
from airshed.kernels.operators import Member, members
from airshed.kernels.step.arguments import (
    SIDES,
    EmissionShare,
    FieldAdjoint,
    HaloExchange,
    Pair,
    Side,
    State,
    StepConstants,
    StepForcing,
    TimeLevel,
    TransportForcing,
)

if TYPE_CHECKING:
    from airshed.kernels.backends.cpu.kernel import StepDerivative

_ALONG: Final[Mapping[str, tuple[Side, ...]]] = {"flux_x": ("west", "east"), "flux_y": ("south", "north")}
_OF_FACES: Final = {"west faces": "flux_x", "south faces": "flux_y"}


class NeighbourEdges:
    """The halo of steps in reverse, exchanged pass by pass.

    sides  the open ones
    """

    def __init__(self, layout: Layout, middle: tuple[int, int], halo_exchange: HaloExchange | None) -> None:
        self._layout, self.halo_exchange, self.sides = layout, halo_exchange, sides_of(halo_exchange)
        self.newest, self.older, self.adjoint = (empty_edges(layout, middle, self.sides) for _ in range(3))
        self._fields: dict[int, tuple[AnyArray, dict[Side, AnyArray]]] = {}

    def fill(
        self, table: ArgumentTable, rows: Mapping[Side, int], step: TransportForcing, read: Sequence[Member]
    ) -> None:
        """Set the rows of a table, by side, to the air fluxes of a step in the halo, and to fields of faces."""
        pairs = {"flux_x": ("flux_x", step.flux_x), "flux_y": ("flux_y", step.flux_y)}
        pairs |= {each.name: (_OF_FACES[each.shape], step.fields[each.key]) for each in read if each.shape in _OF_FACES}
        wanted = {id(end) for _, pair in pairs.values() for end in pair}
        self._fields = {key: kept for key, kept in self._fields.items() if key in wanted}
        found: dict[Side, dict[str, Pair]] = {side: {} for side in self.sides}
        for name, (along, (start, end)) in pairs.items():
            first, last = self._of_faces(start, along), self._of_faces(end, along)
            for side in first:
                found[side][name] = first[side], last[side]
        for side, fields in found.items():
            table.fill_strip(rows[side], fields, step)

    def _of_faces(self, field: AnyArray, along: str) -> dict[Side, AnyArray]:
        """Return a field of faces at an instant, one face beyond each open side; each instant is exchanged once."""
        kept = self._fields.get(id(field))
        if kept is None:
            rows, blocks = self._layout.rows, self._layout.blocks
            places: dict[Side, AnyArray] = {
                "west": field[:, 0], "east": field[:, blocks - 1], "south": field[1:2], "north": field[rows - 1 : rows],
            }  # fmt: skip
            outgoing = {side: places[side] for side in _ALONG[along] if side in self.sides}
            incoming = {side: aligned_empty(each.shape, field.dtype) for side, each in outgoing.items()}
            if self.halo_exchange is not None and outgoing:
                self.halo_exchange(outgoing, incoming)
            kept = self._fields[id(field)] = field, incoming
        return kept[1]


Structure = Any
"""The C structure, whose last members depend on the operators of the kernel."""


class SummedInputAdjoints:
    """Adjoints of all inputs of operators.

    numbers  by the member name of each number, [lat][block][value]; summed over steps
    passes   number of passes over the area
    """

    def __init__(self, layout: Layout, members: Sequence[Member]) -> None:
        self._layout, self._members = layout, members
        columns = layout.rows, layout.blocks
        self.numbers = {each.key: np.zeros((*columns, max(each.species, 1))) for each in members if each.shape is None}
        self._fields: dict[tuple[str, int], FieldAdjoint] = {}
        self._used: dict[tuple[str, int], int] = {}
        self.passes = 0

    @property
    def fields(self) -> list[FieldAdjoint]:
        """The sensitivities to fields at each instant."""
        return list(self._fields.values())

    @property
    def last_passes(self) -> list[int]:
        """The number of the last pass that read each of these fields."""
        return [self._used[key] for key in self._fields]

    def restore(self, fields: Sequence[tuple[FieldAdjoint, int]], passes: int) -> None:
        """Restore fields with the number of their last pass, and the number of passes."""
        for each, last in fields:
            key = each.name, id(each.field)
            self._fields[key], self._used[key] = each, last
        self.passes = passes

    def clear(self) -> None:
        """Set all adjoints to zero."""
        self._fields.clear()
        self._used.clear()
        for each in self.numbers.values():
            each[...] = 0.0

    def place(self, call: Structure, implicit: Mapping[str, Pair] | None, explicit: Mapping[str, Pair] | None) -> None:
        """Set the addresses of a pass: fields of columns in this step, and fields of transport in the next step."""
        self.passes += 1
        for member in self._members:
            name = f"adjoint_{member.name}"
            if member.shape is None:
                setattr(call, name, address(self.numbers[member.key]))
                continue
            fields = explicit if member.explicit else implicit
            if fields is not None:
                ends = [address(self._of(member.key, each)) for each in fields[member.key]]
                setattr(call, name, tuple(ends))

    def _of(self, name: str, field: AnyArray) -> AnyArray:
        """Return the adjoint of a packed field at an instant, shared by steps of the two adjacent intervals."""
        key = name, id(field)
        if key not in self._fields:
            self._fields[key] = FieldAdjoint(name, field, aligned_zeros(field.shape, field.dtype))
        self._used[key] = self.passes
        return self._fields[key].adjoint


_NEXT, _ADJOINT, _NOW, _BEFORE = range(4)

_FACES: Final = 3
"""Faces of a cell whose branches are stored: east, north and upper."""

_NUMBER: Final = "number."
"""Prefix of the names of stored adjoints of numbers."""

_BOUNDARY: Final = "boundary."
"""Prefix of the names of stored adjoints of boundary concentrations; the side, a dot and the instant follow."""

_STRIPS: Final = dict(zip(SIDES, range(4, 8), strict=True))
"""Rows of the table with the air fluxes beyond each side."""


class Reverser:
    """Reverse steps, from the last one to the first.

    halo_exchange            exchange of halos; None where the tile has no neighbour

    x               adjoint of the mixing ratios of the current level, to which costs add their derivatives: that of n+1
                    before :meth:`reverse`, then that of n without its transport, which the next call or :meth:`finish`
                    adds
    older           contribution of the last reversed step to the adjoint of level n-1;  older_tendency  to its tendency
    top             adjoint of mixing ratios above the area, [lat][block][species]
    reactions       of a factor on each reaction's rate, [lat][block][reaction], zero if not requested; these add up
                    over steps
    input_adjoints  adjoints of the inputs of operators; None if not requested
    """

    def __init__(
        self, kernel: "StepDerivative", layout: Layout, constants: StepConstants, *, threads: int = 1,
        input_adjoints: bool = False, reactions: bool = True, halo_exchange: HaloExchange | None = None,
    ) -> None:  # fmt: skip
        self.kernel, self.layout, self._sweeps = kernel, layout, constants.sweeps
        self._pool = ThreadPoolExecutor(threads - 1) if threads > 1 else None
        shape, network = kernel.shape, kernel.network
        species, levels = len(network.species), shape.levels
        self.x, self.older, self.older_tendency, self._b, self._b_after = (
            layout.zeros(species, levels) for _ in range(5)
        )
        self._tendency, self._tendency_before = (layout.zeros(species, levels) for _ in range(2))
        self._branches = _Branches((layout.rows, layout.blocks, species, levels, _FACES))
        columns = layout.rows, layout.blocks
        self._of_profile = empty_sides(layout, species, levels)
        self._of_instants: dict[float, dict[Side, Array]] = {}
        self.top = np.zeros((*columns, species))
        self._no_sums = np.zeros(0)
        self.reactions = np.zeros((*columns, len(network.reactions)))
        self._beyond = NeighbourEdges(layout, (species, levels), halo_exchange)
        self._table = ArgumentTable(layout, 8, self._beyond.sides, constants, shape.operators, levels)
        self._nothing = aligned_zeros((species * levels * layout.width,), layout.dtype)
        self._nowhere = aligned_zeros((levels, layout.width), layout.dtype)
        self._after: StepForcing | None = None
        self.input_adjoints = SummedInputAdjoints(layout, members(shape.operators)) if input_adjoints else None
        self._call = self._structure(reactions)
        rows = _cuts(layout.rows, threads)
        self._rows, self._not_begun = (
            np.array([first | last << 32 for first, last in rows]),
            np.zeros(len(rows), np.int64),
        )
        size = kernel.functions.airshed_reverser_bytes(layout.blocks, constants.sweeps)
        self._memory = [aligned_zeros((size,), np.uint8) for _ in rows]

    def _structure(self, reactions: bool) -> Any:
        call = abi.structure(
            abi.STEP_ADJOINT, "Reverse", tuple(adjoint_members(members(self.kernel.shape.operators)))
        )()
        size = self._table.size
        call.next, call.adjoint, call.now, call.before = (self._table.address + which * size for which in range(4))
        strips = (self._table.address + _STRIPS[side] * size if side in self._beyond.sides else None for side in SIDES)
        call.beyond = tuple(strips)
        self._table.set_sides(_ADJOINT, (address(self._nothing), 0, 0, 0, 1))
        self._table.set_edges(_ADJOINT, self._beyond.adjoint)
        call.own_rates, call.reactions_asked = self.input_adjoints is not None, reactions
        call.top, call.reactions = map(address, (self.top, self.reactions))
        call.boundary = tuple(address(self._of_profile[side]) for side in SIDES)
        return call

    def _fit_boundary(self, step: StepForcing) -> None:
        """Provide arrays for one or two cells beyond each face, as a step has them."""
        given = step.transport.boundary
        species = self.top.shape[-1] if given is None or not given.start.sides else given.start.count
        if species != self._of_profile["west"].shape[1]:
            self._of_profile = empty_sides(self.layout, species, self._of_profile["west"].shape[2])
            self._call.boundary = tuple(address(self._of_profile[side]) for side in SIDES)

    @property
    def boundary(self) -> dict[float, Array]:
        """Adjoints of boundary concentrations (species, level, face cell) by their instants [s].

        The adjoints of the lateral profile of steps without boundary fields are at 0 s.
        """
        found = sorted(self._of_instants.items()) or [(0.0, self._of_profile)]
        return {seconds: PackedBoundary(sides).unpacked(self.layout) for seconds, sides in found}

    @property
    def boundary_profile(self) -> Array:
        """The sum of these adjoints over instants and faces, by the block of a face."""
        layout, found = self.layout, np.zeros((*self.top.shape, self._of_profile["west"].shape[-1]))
        species = self.top.shape[-1]
        for given in (self._of_profile, *self._of_instants.values()):
            sides = {side: sum_of_cells(each, species, 1) for side, each in given.items()}
            found[:, 0] += sides["west"]
            found[:, layout.blocks - 1] += sides["east"]
            found[0] += sides["south"].sum(axis=-1)
            found[layout.rows - 1] += sides["north"].sum(axis=-1)
        return found

    def start(self, tendency: AnyArray) -> None:
        """Start with zero adjoints, after a step with tendency T(n)."""
        for each in (self.x, *self._of_profile.values(), self.top, self.reactions):
            each[...] = 0.0
        self._of_instants.clear()
        if self.input_adjoints is not None:
            self.input_adjoints.clear()
        self.start_after(tendency)

    def start_after(self, tendency: AnyArray) -> None:
        """Continue from a complete `x`, after a step with tendency T(n) that is followed by other stages.

        Sums over steps are not reset. No later step reads older levels.
        """
        for each in (self.older, self.older_tendency):
            each[...] = 0.0
        self._tendency[...] = tendency
        self._after = None
        self._branches.forget()

    def reverse(
        self,
        step: StepForcing,
        levels: Sequence[TimeLevel],
        before: StepForcing | AnyArray,
        sources: Sequence[EmissionShare] = (),
    ) -> None:
        """Reverse the step from n to n+1.

        levels   n-1, n and n+1
        before   the step before, or its tendency T(n-1)
        sources  the periods of its emission, two at most, to whose adjoints the step adds
        """
        older, now, newest = levels
        call, table = self._call, self._table
        if isinstance(before, StepForcing):
            fetch(self._beyond.halo_exchange, older.q, self._beyond.older)
            table.fill(_BEFORE, _moved(older), before, self._beyond.older, self._no_sums, self._sweeps)
        else:
            self._tendency_before[...] = before
        state = State(now.q, older.q, self._tendency_before, now.air, older.air, now.air)
        table.fill(_NOW, state, step, {}, self._no_sums, self._sweeps)
        call.has_columns, call.has_before = 1, isinstance(before, StepForcing)
        call.newest, call.air = address(newest.q), address(newest.air)
        self._place_sources(sources)
        self._place_input_adjoints(step)
        self._work(newest)
        self._b, self._b_after = self._b_after, self._b
        self._tendency, self._tendency_before = self._tendency_before, self._tendency
        self._branches.go_back(written=bool(call.has_before))
        self._after = step

    def finish(self, first: TimeLevel) -> None:
        """Complete the adjoint of the first level by the transport of the step that starts there."""
        self._call.has_columns, self._call.has_before = 0, 0
        self._place_input_adjoints(None)
        self._work(first)
        self._after = None

    def jump(self, now: TimeLevel) -> AnyArray:
        """Return the adjoint of a jump of the mixing ratios just before the last reversed step.

        It is the complete adjoint of level n of that step plus its contribution to level n-1: both levels jump, since
        the two-step formula would treat a jump of one of them as a tendency. Nothing else changes.
        """
        instants = [each for sides in self._of_instants.values() for each in sides.values()]
        changed = self.x, *self._of_profile.values(), *instants, self.top, self.reactions
        before, after, own = [each.copy() for each in changed], self._after, self._call.own_rates
        known = set(self._of_instants)
        self._call.own_rates = 0  # otherwise inputs of transport operators would count twice
        self.finish(now)
        self._call.own_rates = own
        found = self.x + self.older
        for each, was in zip(changed, before, strict=True):
            each[...] = was
        for seconds in set(self._of_instants) - known:
            del self._of_instants[seconds]
        self._after = after
        return np.asarray(found)

    def save(self) -> dict[str, AnyArray]:
        """Return the arrays for :meth:`restore`, except those of fields that operators read."""
        numbers = (
            {}
            if self.input_adjoints is None
            else {_NUMBER + name: each for name, each in self.input_adjoints.numbers.items()}
        )
        by_instant = {f"{_BOUNDARY}{side}": each for side, each in self._of_profile.items()} | {
            f"{_BOUNDARY}{side}.{seconds!r}": each
            for seconds, sides in self._of_instants.items() for side, each in sides.items()
        }  # fmt: skip
        return numbers | by_instant | {
            "x": self.x, "older": self.older, "older_tendency": self.older_tendency, "given": self._b_after,
            "tendency": self._tendency, "top": self.top, "reactions": self.reactions,
        }  # fmt: skip

    def restore(self, saved: Mapping[str, AnyArray], after: StepForcing | None) -> None:
        """Restore arrays saved after a step with forcing `after`; None where the adjoint is complete."""
        self._of_instants.clear()
        for name in saved:
            _, _, seconds = name.removeprefix(_BOUNDARY).partition(".")
            if name.startswith(_BOUNDARY) and seconds:
                self._at_instant(float(seconds))
        for name, array in self.save().items():
            array[...] = saved[name]
        self._after = after
        self._branches.forget()

    def close(self) -> None:
        """Stop the threads."""
        if self._pool is not None:
            self._pool.shutdown()

    def _place_sources(self, sources: Sequence[EmissionShare]) -> None:
        call = self._call
        for place in range(2):
            call.sources[place], call.shares[place] = None, 0.0
            if place < len(sources):
                share, adjoint = sources[place]
                call.sources[place], call.shares[place], call.source_levels = address(adjoint), share, adjoint.shape[-2]

    def _place_input_adjoints(self, step: StepForcing | None) -> None:
        if self.input_adjoints is not None:
            column = None if step is None else step.column
            after = None if self._after is None else self._after.transport.fields
            self.input_adjoints.place(self._call, None if column is None else column.fields, after)

    def _at_instant(self, seconds: float) -> dict[Side, Array]:
        """Return the arrays for the adjoints of the boundary concentrations at an instant."""
        if seconds not in self._of_instants:
            profile = self._of_profile["west"].shape
            self._of_instants[seconds] = empty_sides(self.layout, profile[1], profile[2])
        return self._of_instants[seconds]

    def _share_boundary(self, step: StepForcing) -> None:
        """Distribute the adjoints of the boundary concentrations of a step to the adjacent instants."""
        if step.transport.boundary is None:
            return
        for seconds, share in step.transport.boundary.shares():
            for side, target in self._at_instant(seconds).items():
                target += share * self._of_profile[side]
        for each in self._of_profile.values():
            each[...] = 0.0

    def _work(self, newest: TimeLevel) -> None:
        """Make a pass; newest: the level whose adjoint it completes."""
        # next step, and the halo of the level at its start
        call, table, beyond = self._call, self._table, self._beyond
        call.has_next = self._after is not None
        if self._after is not None:
            self._fit_boundary(self._after)
            fetch(beyond.halo_exchange, newest.q, beyond.newest)
            fetch(beyond.halo_exchange, self._b_after, beyond.adjoint)
            beyond.fill(table, _STRIPS, self._after.transport, members(self.kernel.shape.operators))
            table.fill(_NEXT, _moved(newest), self._after, beyond.newest, self._no_sums, self._sweeps)

        # arrays of this pass
        table.place(_ADJOINT, State(*[self._b_after] * 3, *[self._nowhere] * 3))
        call.tendency, call.tendency_before = address(self._tendency), address(self._tendency_before)
        call.branches, call.branches_before = self._branches.addresses
        call.x, call.z, call.u, call.b = map(address, (self.x, self.older, self.older_tendency, self._b))

        # rows, shared by threads
        self._not_begun[...] = self._rows
        function, threads = self.kernel.functions.airshed_reverse, len(self._memory)
        shared = ctypes.addressof(call), address(self._not_begun), threads
        jobs = [(*shared, me, address(memory)) for me, memory in enumerate(self._memory)]
        others = [self._pool.submit(function, *job) for job in jobs[1:]] if self._pool else []
        try:
            function(*jobs[0])
        finally:
            for other in others:
                other.result()
        if self._after is not None:
            self._share_boundary(self._after)


class _Branches:
    """Branches of the limiters in tendencies of three steps: the reversed step and its neighbours."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._after, self._now, self._before = (aligned_zeros(shape, np.uint16) for _ in range(3))
        self.forget()

    def forget(self) -> None:
        """Discard all branches."""
        self._knows_after = self._knows_now = False

    @property
    def addresses(self) -> tuple[int | None, int]:
        """Addresses of the branches of the next step, None if not stored, and of the step before, for output."""
        return address(self._after) if self._knows_after else None, address(self._before)

    def go_back(self, *, written: bool) -> None:
        """Move to the step before; written: whether the pass wrote its branches."""
        self._after, self._now, self._before = self._now, self._before, self._after
        self._knows_after, self._knows_now = self._knows_now, written


def _moved(level: TimeLevel) -> State:
    """Return a state for a step of which only the transport is computed."""
    return State(*[level.q] * 3, *[level.air] * 3)


def _cuts(rows: int, threads: int) -> list[tuple[int, int]]:
    """Return the initial rows of each thread, of nearly equal number."""
    count = min(threads, rows)
    return list(pairwise(rows * piece // count for piece in range(count + 1)))
