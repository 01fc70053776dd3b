"""The argument table of the compiled code: a ring of structures :class:`Step`, most of whose members are set once."""

import ctypes
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.core.errors import KernelError
from airshed.kernels import abi
from airshed.kernels.boundary import BoundaryForcing, PackedBoundary
from airshed.kernels.host import AnyArray, address
from airshed.kernels.layout import Layout
from airshed.kernels.operators import Member, Operator, members
from airshed.kernels.step.arguments import (
    SIDES,
    ColumnForcing,
    Pair,
    Side,
    State,
    StepConstants,
    StepForcing,
    TransportForcing,
)

Ghost = tuple[int, int, int, int, int]
"""Members of the structure: address, strides of rows, of blocks and to the second row, whether the area ends here."""

_STEP: Final = abi.structure(abi.STEP, "Step")


def _words(first: str, last: str) -> slice:
    """Return the eight-byte words from one member of a step to another: one assignment is ten times as fast."""
    return slice(getattr(_STEP, first).offset // 8, getattr(_STEP, last).offset // 8 + 1)


_STATE: Final = _words("q", "air_tendency")
_FLUX_WEIGHTS: Final = _words("flux_weight", "boundary_weight")
_WEIGHTS: Final = _words("c0", "s1")


class ArgumentTable:
    """Argument table of steps: addresses of constants, state and forcing, for the compiled code.

    address     of a ring of `capacity` structures of `size` bytes: step n is at n % capacity
    open_sides  sides with a neighbouring rank
    parts       count of numbers per value in memory
    """

    parts = 1

    def __init__(
        self, layout: Layout, capacity: int, open_sides: Collection[Side], constants: StepConstants,
        operators: Sequence[Operator], levels: int,
    ) -> None:  # fmt: skip
        self.capacity, self._layout = capacity, layout
        thickness = np.ones(levels) if constants.thickness is None else constants.thickness
        self._kept = {
            "top": placed(layout, constants.top, layout.dtype),
            "vertical_weights": placed(layout, constants.vertical_weights, layout.dtype),
            "density_factor": replace(layout, dtype=np.float64).pack(constants.density_factor),
            "thickness": placed(layout, thickness, np.float64),
            "emitted": placed(layout, np.array(constants.emitted), np.int32),
        }
        self._open = open_sides
        self._edge_sides = tuple(side for side in SIDES if side not in open_sides)
        self._no_neighbour = layout.array((*constants.profile.shape, self.parts, layout.width), layout.dtype)
        self._species = len(constants.profile)
        self._profile = self._of_profile(constants.profile)
        self._boundaries: dict[int, tuple[PackedBoundary, PackedBoundary]] = {}
        self._edges: dict[int, tuple[AnyArray, Ghost]] = {}
        self._members, self._levels = self._all_members(operators), levels
        structure = abi.structure(abi.STEP, "Step", tuple(each.declaration for each in self._members))
        self._memory = layout.array((capacity, ctypes.sizeof(structure)), np.uint8)
        self.address, self.size = address(self._memory), ctypes.sizeof(structure)
        self._steps = [structure.from_buffer(row) for row in self._memory]
        self._values = [self._place_numbers(step) for step in self._steps]
        for step in self._steps:
            self._fill_constants(step, constants)
        self._words, self._numbers = self._memory.view(np.uint64), self._memory.view(np.float64)
        self._placed: dict[tuple[int, str], Pair] = {}

    def _all_members(self, operators: Sequence[Operator]) -> tuple[Member, ...]:
        """Return the members of the structure that follow the common ones."""
        return members(operators)

    def _place_numbers(self, step: Any) -> dict[str, Array]:
        """Set the addresses of the numbers of operators in a step; return the numbers by name."""
        found = {}
        for each in self._members:
            if each.shape is None:
                found[each.key] = placed(self._layout, np.array(each.values), np.float64).view(np.float64)
                setattr(step, each.name, address(found[each.key]))
        return found

    def _of_profile(self, profile: Array) -> PackedBoundary:
        """Pack boundary concentrations that are the same along all faces."""
        return PackedBoundary.of(self._layout, profile, sides=self._edge_sides)

    def set_boundary(self, profile: Array, top: Array) -> None:
        """Set the lateral profile (species, level) and the mixing ratios above the model (species,)."""
        self._profile = self._of_profile(profile)
        if top.size:
            self._kept["top"][...] = top

    def _fill_constants(self, step: Any, constants: StepConstants) -> None:
        step.rows, step.blocks, step.last_lanes = self._layout.rows, self._layout.blocks, self._layout.last_lanes
        for side in self._edge_sides:
            setattr(step, side, (address(self._no_neighbour), 0, 0, 0, 1))
        for name, array in self._kept.items():
            setattr(step, name, address(array))
        row, block = (stride // 8 for stride in self._kept["density_factor"].strides[:2])
        step.density_row, step.density_block = row, block if constants.density_factor.shape[2] > 1 else 0
        step.emitted_count = len(constants.emitted)
        step.oxygen, step.nitrogen = constants.oxygen, constants.nitrogen

    def fill(
        self, which: int, state: State, forcing: StepForcing, edges: Mapping[Side, AnyArray], sums: Array, sweeps: int
    ) -> None:
        """Set the addresses of state, forcing, edges and block sums (block, sum) for a step with a number."""
        row, w, transport, column = which % self.capacity, forcing.weights, forcing.transport, forcing.column
        step = self._steps[row]
        self.place(row, state)
        self._place(row, "flux_x", transport.flux_x)
        self._place(row, "flux_y", transport.flux_y)
        self._place(row, "flux_z", transport.flux_z)
        self._fill_boundary(row, transport)
        self._fill_operators(row, transport, column)
        self.set_edges(row, edges)
        if column is not None:
            self._fill_column(row, column)
        self._numbers[row, _WEIGHTS] = w.c0, w.c1, w.t0, w.t1, w.g, w.s0, w.s1
        step.sums = address(sums)
        step.sweeps, step.number = sweeps, which

    def set_workspace(self, workspace: AnyArray) -> None:
        """Set the working memory of a device, the same for all steps."""
        self._kept["workspace"] = workspace
        for step in self._steps:
            step.workspace = address(workspace)

    def place(self, row: int, state: State) -> None:
        """Set only the addresses of the state."""
        parts = state.q, state.q_other, state.tendency, state.air, state.air_other, state.air_tendency
        self._words[row, _STATE] = [address(each) for each in parts]

    def set_sides(self, row: int, beyond: Ghost) -> None:
        """Set the cells beyond all sides."""
        for side in SIDES:
            setattr(self._steps[row], side, beyond)

    def set_edges(self, row: int, edges: Mapping[Side, AnyArray]) -> None:
        """Set the cells beyond some sides to the halo from neighbours."""
        for side, edge in edges.items():
            setattr(self._steps[row], side, self._beside(edge, side))

    def fill_strip(self, row: int, fields: Mapping[str, Pair], transport: TransportForcing) -> None:
        """Set the addresses of fields of transport for a strip: one row of blocks, or one block of each row."""
        self._steps[row].blocks = 0  # then a row of faces has the length of one block
        for name, pair in fields.items():
            self._place(row, name, pair)
        self._fill_boundary(row, transport)
        self._fill_numbers(row, transport.numbers)

    def _fill_boundary(self, row: int, transport: TransportForcing) -> None:
        """Set the weights of transport, and the addresses of the boundary concentrations if they have changed."""
        forcing = transport.boundary or BoundaryForcing(self._profile, self._profile, 0.0)
        self._numbers[row, _FLUX_WEIGHTS] = transport.weight, transport.weight_z, forcing.weight
        start, end = self._boundaries.get(row, (None, None))
        if start is forcing.start and end is forcing.end:
            return
        self._boundaries[row] = forcing.start, forcing.end
        for side in self._edge_sides:
            first, last = forcing.start.sides[side], forcing.end.sides[side]
            if first.shape != last.shape or first.dtype != self._layout.dtype:
                raise KernelError(f"boundary concentrations are {first.dtype} {first.shape} and {last.shape}")
            stride = 0 if len(first) == 1 else first[0].size // self.parts
            two_cells = first.shape[1] > self._species
            setattr(self._steps[row], f"boundary_{side}", (address(first), address(last), stride, two_cells))

    def _fill_column(self, row: int, column: ColumnForcing) -> None:
        step = self._steps[row]
        self._place(row, "temperature", column.temperature)
        self._place(row, "water", column.water)
        if column.parameters is not None:
            self._place(row, "parameters", column.parameters)
        step.column_weight = column.weight
        step.emission, step.emission_levels = address(column.emission), column.emission.shape[-2]
        step.photolysis_sun = address(column.sun)

    def _fill_operators(self, row: int, transport: TransportForcing, column: ColumnForcing | None) -> None:
        self._fill_numbers(row, {**transport.numbers, **(column.numbers if column else {})})
        for member in self._members:
            if member.shape is None:
                continue
            fields = transport.fields if member.explicit or column is None else column.fields
            if member.key not in fields:
                raise KernelError(f"the forcing of a step has no {member.key}, which operators of its kernel read")
            self._place(row, member.name, fields[member.key], self._shape_of(member))

    def _fill_numbers(self, row: int, numbers: Mapping[str, npt.ArrayLike]) -> None:
        for member in self._members:
            if member.shape is None:
                self._values[row][member.key][...] = numbers.get(member.key, member.values)

    def _shape_of(self, member: Member) -> tuple[int, ...]:
        rows = self._layout.rows + (member.shape == "south faces")
        blocks = self._layout.blocks + (member.shape == "west faces")
        return (rows, blocks, *member.middle(self._levels), self._layout.width)

    def _place(self, row: int, name: str, pair: Pair, shape: tuple[int, ...] | None = None) -> None:
        """Set the address of a field of a given shape, if it differs from the address in the previous step."""
        start, end = self._placed.get((row, name), (None, None))
        if start is not pair[0] or end is not pair[1]:
            for each in pair if shape else ():
                if each.shape != shape or each.dtype != self._layout.dtype:
                    raise KernelError(f"{name} of a step is {each.dtype} {each.shape}; operators expect {shape}")
            setattr(self._steps[row], name, tuple(map(address, pair)))
            self._placed[row, name] = pair

    def _beside(self, edge: AnyArray, side: Side) -> Ghost:
        """Return the address of the edge of a neighbour; computed once for each array."""
        found = self._edges.get(id(edge))
        if found is None:
            found = self._edges[id(edge)] = edge, self._place_of(edge, side)
        return found[1]

    def _place_of(self, edge: AnyArray, side: Side) -> Ghost:
        """Compute the address of the contiguous packs of a neighbour."""
        along_rows = side in ("west", "east")
        pack = int(np.prod(edge.shape[1 if along_rows else 2 :])) // self.parts
        if along_rows:
            return address(edge), pack, 0, 0, 0
        row = pack * edge.shape[1]
        nearest, farther = (edge[-1], -row) if side == "south" else (edge[0], row)
        return address(nearest), 0, pack, farther, 0


def placed(layout: Layout, values: npt.NDArray[np.generic], dtype: npt.DTypeLike) -> AnyArray:
    """Return the values as an array aligned for the kernel, of length one if there are none."""
    result = layout.array(values.shape if values.size else (1,), dtype)
    if values.size:
        result[...] = values
    return result
