"""Threads that compute pieces of steps: of their own rank's, and of neighbours' on the same machine that are late.

The other side of ``cpu/crew.hpp``. A rank publishes steps in a :class:`Slot`, in memory that all ranks of its machine
see; threads of several ranks take pieces of them as they become free, and each waits for nothing but what the piece
needs. Which thread computes a piece changes no bit.
"""

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.core.errors import KernelError
from airshed.kernels.compiled import keeping_lock
from airshed.kernels.layout import aligned_zeros
from airshed.kernels.operator_fields import members
from airshed.kernels.pieces import Pieces, Side
from airshed.kernels.pipeline import MechanismKernel
from airshed.kernels.step_arguments import PARTS, address, pointers, step_structure
from airshed.kernels.step_data import Near, Room

Array = npt.NDArray[np.float64]

ALWAYS: Final = 2**62
"""More steps than there will be, or more turns of waiting."""

_TURNS: Final = 16
"""Turns of waiting, some microseconds each, after which the first thread sees to messages."""

_MOST_NEAR: Final = 4
_MOST_POINTERS: Final = 96
_LINE: Final = 64  # bytes of a cache line


def _lines(number: int, names: Sequence[str]) -> list[tuple[str, type]]:
    """Numbers that begin on a cache line of their own, and what fills their last one up."""
    fields: list[tuple[str, type]] = [(name, ctypes.c_int64) for name in names]
    room = -8 * len(names) % _LINE
    return fields + ([(f"_room{number}", ctypes.c_char * room)] if room else [])


class Slot(ctypes.Structure):
    """What a rank shows of its steps; the meaning of each field stands in ``cpu/crew.hpp``."""

    _fields_ = (
        *_lines(0, ["taken"]), *_lines(1, ["finished"]), *_lines(2, ["published", "messages", "given_up", "open"]),
        ("pieces", ctypes.c_int64), ("inner", ctypes.c_int64), ("room", ctypes.c_int64), ("steps", ctypes.c_void_p),
        ("piece", ctypes.c_void_p), ("near_count", ctypes.c_int64), ("near", ctypes.c_void_p * _MOST_NEAR),
        ("mapping", ctypes.c_void_p), ("mapped", ctypes.c_int64),
        ("pointer_count", ctypes.c_int64), ("pointers", ctypes.c_int64 * _MOST_POINTERS),
    )  # fmt: skip


class _Crew(ctypes.Structure):
    _fields_ = (
        ("own", ctypes.c_void_p), ("near_count", ctypes.c_int64), ("near", ctypes.c_void_p * _MOST_NEAR),
        ("shift", ctypes.c_int64 * _MOST_NEAR),
    )  # fmt: skip


class _Spent(ctypes.Structure):
    _fields_ = (
        ("seconds", ctypes.c_double * len(PARTS)), ("waited", ctypes.c_double),
        ("pieces", ctypes.c_int64), ("helped", ctypes.c_int64),
    )  # fmt: skip


class Crew:
    """The threads of a rank, and its slot.

    steps, count   address of the ring of prepared steps, and how many it has room for: step n at n % count
    pieces, inner  of a step, and how many of them, the first ones, need no neighbour; they stay where they are
    blocks    packs in a row of the widest tile that a thread may meet
    threads   with the one that calls;  pool  the others; None for none
    room      where the slot is to lie, zeroed; None for memory of this process
    messages  whether some come from neighbours that are not near, which are seen to after every piece
    """

    def __init__(
        self, kernel: MechanismKernel, steps: int, count: int, pieces: Pieces, inner: int, blocks: int, *,
        threads: int, pool: ThreadPoolExecutor | None, room: Room | None = None, messages: bool = False,
    ) -> None:  # fmt: skip
        self._functions, self._pool, self._pieces = kernel.functions, pool, pieces
        self._publish = keeping_lock(kernel.functions.airshed_publish)
        self._own = aligned_zeros((ctypes.sizeof(Slot),), np.uint8) if room is None else None
        room = room or Room(address(self._own))  # type: ignore[arg-type]  # one of both is there
        self.address = room.slot
        slot = self._slot = Slot.from_address(room.slot)
        slot.taken, slot.pieces, slot.inner, slot.room = len(pieces), len(pieces), inner, count
        slot.steps, slot.piece = steps, address(pieces)
        slot.messages, self._messages = 0 if messages else ALWAYS, messages
        slot.mapping, slot.mapped = room.mapping
        addresses = pointers(step_structure(members(kernel.shape.operators)))
        slot.pointer_count = len(addresses)
        slot.pointers[: len(addresses)] = addresses
        self._crew = _Crew(own=room.slot)
        self._reference = ctypes.addressof(self._crew)
        size = kernel.functions.airshed_worker_bytes(blocks)
        self._memory = [aligned_zeros((size,), np.uint8) for _ in range(threads)]
        self._first = address(self._memory[0])
        self._spent = [_Spent.from_address(address(memory)) for memory in self._memory]

    def meet(self, near: Mapping[Side, Near]) -> None:
        """Learn who is near, before the first step is published."""
        self._slot.near_count = len(near)
        for number, each in enumerate(near.values()):
            self._slot.near[number] = self._crew.near[number] = each.slot
            self._crew.shift[number] = each.shift
        self._crew.near_count = len(near)

    @property
    def steps(self) -> int:
        """Steps that were published so far."""
        return int(self._slot.published)

    def publish(self, count: int) -> None:
        """Let so many further steps be computed, which are prepared.

        raises  KernelError where earlier ones were broken off, for which everybody would wait for ever
        """
        if self._slot.given_up:
            raise KernelError("a step was broken off, and the state with it; make a new model, or resume the run")
        self._publish(self._reference, self._slot.published + count)

    def messages_are_here(self) -> None:
        """Let the newest step look at what messages brought."""
        self._functions.airshed_messages_are_here(self._reference, self._slot.published)

    def work(self, between: Callable[[], None] | None = None) -> None:
        """Compute until all published steps are done; `between` sees to messages while there is nothing to do."""
        with self._helped():
            self._until(unseen=False, between=between)

    def leave(self, between: Callable[[], None] | None = None) -> None:
        """Return when neighbours look at no state any more that published steps began from; help them meanwhile."""
        self._until(unseen=True, between=between)

    def assist(self) -> float:
        """Compute a piece for a neighbour, if there is one: for the first thread while it waits for something else.

        Returns how long it computed [s], which is in :attr:`seconds`.
        """
        return float(self._functions.airshed_assist(self._reference, self._first))

    @property
    def seconds(self) -> Array:
        """Wall time [s] of each of PARTS, added up over threads."""
        seconds: Array = np.array([list(each.seconds) for each in self._spent]).sum(axis=0)
        return seconds

    @property
    def waited(self) -> float:
        """Wall time [s] in which the first thread had nothing to do."""
        return float(self._spent[0].waited)

    @property
    def helped(self) -> float:
        """The share of pieces computed here that were neighbours'."""
        helped, pieces = (sum(int(getattr(each, name)) for each in self._spent) for name in ("helped", "pieces"))
        return helped / max(pieces, 1)

    def _until(self, *, unseen: bool, between: Callable[[], None] | None) -> None:
        patience, first = ALWAYS if between is None else _TURNS, self._first
        most = 1 if self._messages else ALWAYS
        work, step = self._functions.airshed_work, self.steps
        while not work(self._reference, step, unseen, most, patience, first):
            assert between is not None
            between()

    @contextmanager
    def _helped(self) -> Iterator[None]:
        """Let the other threads work, and wait for them, also after Ctrl-C: what they look at must not go first."""
        others = [] if self._pool is None else self._memory[1:]
        jobs = [self._submit(self._reference, self.steps, 0, ALWAYS, ALWAYS, address(memory)) for memory in others]
        try:
            yield
        except BaseException:
            self._functions.airshed_give_up(self._reference)
            raise
        finally:
            for job in jobs:
                if not job.cancel():  # a thread that was busy with something else all the time has nothing left to do
                    job.result()

    def _submit(self, *arguments: int) -> "Future[int]":
        assert self._pool is not None
        return self._pool.submit(self._functions.airshed_work, *arguments)
