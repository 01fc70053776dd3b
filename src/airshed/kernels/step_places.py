"""Tells the compiled code of a step where everything lies: fills the structure :class:`Step`, most of it only once."""

import ctypes
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from airshed.kernels.layout import AnyArray, Layout, aligned_zeros
from airshed.kernels.pieces import SIDES, Side
from airshed.kernels.step_arguments import FLUX_WEIGHTS, STATE, WEIGHTS, Ends, Ghost, Step, address
from airshed.kernels.step_data import ColumnForcing, Pair, State, TransportForcing, TwoStepWeights

Array = npt.NDArray[np.float64]


class StepPlaces:
    """Where the constants of a :class:`Stepper`, its state and the forcing of a step lie.

    address  of the structure, for the compiled code
    beyond   what neighbours hold, see :class:`Neighbours`
    seconds  (block, part) [s] wall time of the parts of steps, to which the code adds
    The others are those of :class:`Stepper`.
    """

    def __init__(
        self, layout: Layout, beyond: Mapping[Side, tuple[AnyArray, ...]], seconds: Array, *, ghosts: Array, top: Array,
        density_factor: Array, vertical_weights: Array, deposited: Sequence[int], emitted: Sequence[int],
        oxygen: float, nitrogen: float,
    ) -> None:  # fmt: skip
        self._beyond = {side: [_beside(each, side) for each in edges] for side, edges in beyond.items()}
        self._kept = {
            "top": top.astype(layout.dtype),
            "vertical_weights": np.ascontiguousarray(vertical_weights, layout.dtype),
            "density_factor": np.ascontiguousarray(density_factor.T, np.float64),
            "deposited": np.asarray(deposited, np.int32),
            "emitted": np.asarray(emitted, np.int32),
            "seconds": seconds,
        }
        self._ghost = _splat(ghosts, layout)
        step = self._step = Step(rows=layout.rows, blocks=layout.blocks, last_lanes=layout.last_lanes)
        for side in SIDES:
            setattr(step, side, self._beyond[side][0] if side in self._beyond else _outside(self._ghost))
        for name, array in self._kept.items():
            setattr(step, name, address(array))
        step.deposited_count, step.emitted_count = len(deposited), len(emitted)
        step.oxygen, step.nitrogen = oxygen, nitrogen
        self.address = ctypes.addressof(step)
        memory = memoryview(step).cast("B")
        self._words, self._numbers = np.frombuffer(memory, np.uint64), np.frombuffer(memory, np.float64)
        self._addresses: dict[int, tuple[AnyArray, int]] = {}
        self._placed: dict[str, Pair] = {}

    def fill(
        self, state: State, weights: TwoStepWeights, transport: TransportForcing, column: ColumnForcing | None,
        sums: Array, sweeps: int,
    ) -> None:  # fmt: skip
        """Tell where a step finds its state and forcing, and where it puts the sums of blocks (block, sum)."""
        step, w = self._step, weights
        parts = state.q, state.q_other, state.tendency, state.air, state.air_other, state.air_tendency
        self._words[STATE] = [self._address_of(each) for each in parts]
        self._place("flux_x", transport.flux_x)
        self._place("flux_y", transport.flux_y)
        self._place("flux_z", transport.flux_z)
        self._numbers[FLUX_WEIGHTS] = transport.weight, transport.weight_z
        if column is not None:
            self._fill_column(column)
        self._numbers[WEIGHTS] = w.c0, w.c1, w.t0, w.t1, w.g, w.s0, w.s1
        step.sums = self._address_of(sums)
        step.sweeps, step.number = sweeps, step.number + 1

    def look_beyond(self, turn: int) -> None:
        """Tell where the newest edges of neighbours lie."""
        for side, places in self._beyond.items():
            setattr(self._step, side, places[turn % len(places)])

    def _fill_column(self, column: ColumnForcing) -> None:
        step = self._step
        self._place("temperature", column.temperature)
        self._place("water", column.water)
        self._place("exchange", column.exchange)
        self._place("deposition", column.deposition)
        if column.parameters is not None:
            self._place("parameters", column.parameters)
        step.column_weight = column.weight
        step.emission, step.emission_levels = address(column.emission), column.emission.shape[-2]
        step.photolysis_sun = address(column.sun)

    def _address_of(self, array: AnyArray) -> int:
        """The address of an array that is there as long as this is: asked for once."""
        found = self._addresses.get(id(array))
        if found is None:
            found = self._addresses[id(array)] = array, address(array)
        return found[1]

    def _place(self, name: str, pair: Pair) -> None:
        """Tell where a field lies, where it does not lie at the place of the last step."""
        start, end = self._placed.get(name, (None, None))
        if start is not pair[0] or end is not pair[1]:
            setattr(self._step, name, Ends(*map(address, pair)))
            self._placed[name] = pair


def _splat(values: Array, layout: Layout) -> AnyArray:
    """The same values (species, level) in all lanes."""
    block = aligned_zeros((*values.shape, layout.width), layout.dtype)
    block[...] = values[..., None]
    return block


def _outside(ghost: AnyArray) -> Ghost:
    """The same air along the whole edge."""
    return Ghost(address(ghost), 0, 0, 0, 1)


def _beside(buffer: AnyArray, side: Side) -> Ghost:
    """The neighbour's packs, which lie one after the other."""
    pack = int(np.prod(buffer.shape[-3:]))
    if side in ("west", "east"):
        return Ghost(address(buffer), pack, 0, 0, 0)
    row = pack * buffer.shape[1]
    return Ghost(address(buffer[1]), 0, pack, -row, 0) if side == "south" else Ghost(address(buffer), 0, pack, row, 0)
