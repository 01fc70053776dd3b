"""Takes adjoints back over steps: fills the structure ``Reverse`` of ``reverse/step.hpp`` and lets threads work on rows."""

import ctypes
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from airshed.kernels.cpu.argument_table import ArgumentTable
from airshed.kernels.cpu.reverse.pipeline import ReverseKernel
from airshed.kernels.cpu.step_structure import Ends, Ghost
from airshed.kernels.layout import Layout
from airshed.kernels.memory import AnyArray, address, aligned_zeros
from airshed.kernels.step.data import State, StepConstants, StepForcing

Array = npt.NDArray[np.float64]

_NEXT, _ADJOINT, _NOW, _BEFORE = range(4)


class _Reverse(ctypes.Structure):
    _fields_ = (
        ("next", ctypes.c_void_p), ("adjoint", ctypes.c_void_p), ("now", ctypes.c_void_p), ("before", ctypes.c_void_p),
        ("beyond", Ends * 4),
        ("has_next", ctypes.c_int64), ("has_columns", ctypes.c_int64), ("has_before", ctypes.c_int64),
        ("newest", ctypes.c_void_p), ("air", ctypes.c_void_p), ("tendency", ctypes.c_void_p),
        ("tendency_before", ctypes.c_void_p),
        ("x", ctypes.c_void_p), ("z", ctypes.c_void_p), ("u", ctypes.c_void_p), ("b", ctypes.c_void_p),
        ("emission", ctypes.c_void_p), ("outside", ctypes.c_void_p), ("top", ctypes.c_void_p),
        ("reactions", ctypes.c_void_p), ("own_rates", ctypes.c_int64),
    )  # fmt: skip


@dataclass(frozen=True)
class Level:
    """The state at one instant: mixing ratios [mol/mol] [lat][block][species][level][W], air [mol] without species."""

    q: AnyArray
    air: AnyArray


class Reverser:
    """Adjoints of a state, taken back step by step, from the last one to the first.

    x           of q(n+1), completed by :meth:`reverse` and :meth:`finish` as far as it is then of q(n): costs are added
    emission    of the emission of the last step taken back [1/mol s], [lat][block][emitted][level][W]
    outside     of mixing ratios outside the area, [lat][block][species][level];  top  above it [lat][block][species]
    reactions   of a factor on each reaction's rate, [lat][block][reaction]
    The last three add up over steps.
    """

    def __init__(
        self, kernel: ReverseKernel, layout: Layout, constants: StepConstants, *, threads: int = 1,
        pool: ThreadPoolExecutor | None = None,
    ) -> None:  # fmt: skip
        self.kernel, self.layout, self._sweeps, self._pool = kernel, layout, constants.sweeps, pool
        shape, network = kernel.shape, kernel.network
        species, levels = len(network.species), shape.levels
        self.x, self._z, self._u, self._b, self._b_after = (layout.zeros(species, levels) for _ in range(5))
        self.tendency, self._tendency_before = (layout.zeros(species, levels) for _ in range(2))
        self._emitted, self.emission = len(constants.emitted), layout.zeros(1)
        columns = layout.rows, layout.blocks
        self.outside, self.top = np.zeros((*columns, species, levels)), np.zeros((*columns, species))
        self.reactions = np.zeros((*columns, len(network.reactions)))
        self._table = ArgumentTable(layout, 4, (), constants, shape.operators, levels)
        self._nothing = aligned_zeros((species * levels * layout.width,), layout.dtype)
        self._nowhere = aligned_zeros((max(columns) + 1, levels, layout.width), layout.dtype)
        self._call = self._structure()
        self._rows = _cuts(layout.rows, 1 if pool is None else 2 * threads)
        size = kernel.functions.airshed_reverser_bytes(layout.blocks, constants.sweeps)
        self._memory = [aligned_zeros((size,), np.uint8) for _ in self._rows]

    def _structure(self) -> _Reverse:
        call = _Reverse()
        assert ctypes.sizeof(call) == self.kernel.functions.airshed_reverse_bytes()
        size = self._table.size
        call.next, call.adjoint, call.now, call.before = (self._table.address + which * size for which in range(4))
        nowhere = address(self._nowhere)
        for side in range(4):
            call.beyond[side] = Ends(nowhere, nowhere)
        self._table.set_sides(_ADJOINT, Ghost(address(self._nothing), 0, 0, 0, 1))
        call.outside, call.top, call.reactions = map(address, (self.outside, self.top, self.reactions))
        return call

    def start(self, tendency: AnyArray) -> None:
        """Begin with adjoints of zero, after a step whose transport tendencies T(n) are given."""
        for each in (self.x, self._z, self._u, self.outside, self.top, self.reactions):
            each[...] = 0.0
        self.tendency[...] = tendency
        self._call.has_next = 0

    def reverse(
        self, step: StepForcing, levels: Sequence[Level], before: StepForcing | None, tendency: AnyArray | None = None
    ) -> None:
        """Take the adjoints back over the step from n to n+1.

        levels    n-1, n and n+1
        before    the forcing of the step before; None where its tendency T(n-1) is given
        """
        older, now, newest = levels
        call, table, column = self._call, self._table, step.column
        assert column is not None
        if self.emission.shape != column.emission.shape:
            self.emission = aligned_zeros(column.emission.shape, self.layout.dtype)
        if before is not None:
            table.fill(_BEFORE, _moved(older), before, {}, self.outside, self._sweeps)
        elif tendency is not None:
            self._tendency_before[...] = tendency
        state = State(now.q, older.q, self._tendency_before, now.air, older.air, now.air)
        table.fill(_NOW, state, step, {}, self.outside, self._sweeps)
        call.has_columns, call.has_before = 1, before is not None
        call.newest, call.air = address(newest.q), address(newest.air)
        self._work()
        table.fill(_NEXT, _moved(now), step, {}, self.outside, self._sweeps)
        self._b, self._b_after = self._b_after, self._b
        self.tendency, self._tendency_before = self._tendency_before, self.tendency
        call.has_next = 1

    def finish(self) -> None:
        """Complete the adjoint of the first level."""
        self._call.has_columns, self._call.has_before = 0, 0
        self._work()
        self._call.has_next = 0

    def _work(self) -> None:
        call = self._call
        self._table.place(_ADJOINT, State(*[self._b_after] * 3, *[self._nowhere] * 3))
        call.tendency, call.tendency_before = address(self.tendency), address(self._tendency_before)
        call.x, call.z, call.u, call.b = map(address, (self.x, self._z, self._u, self._b))
        call.emission = address(self.emission)
        jobs = [(first, last, address(memory)) for (first, last), memory in zip(self._rows, self._memory, strict=True)]

        def work(job: tuple[int, int, int]) -> None:
            self.kernel.functions.airshed_reverse(ctypes.addressof(call), *job)

        if self._pool is None:
            for job in jobs:
                work(job)
        else:
            list(self._pool.map(work, jobs))


def _moved(level: Level) -> State:
    """The state of a step of which transport alone is wanted."""
    return State(*[level.q] * 3, *[level.air] * 3)


def _cuts(rows: int, pieces: int) -> list[tuple[int, int]]:
    """Return so many ranges of rows, as equal as may be."""
    cuts = [rows * piece // min(pieces, rows) for piece in range(min(pieces, rows) + 1)]
    return list(zip(cuts[:-1], cuts[1:], strict=True))
