"""What a model asks of compiled code: a backend compiles a mechanism, and the kernel does the rest.

A backend is a folder of ``backends/`` with files of the same names, whose ``backend.py`` has a ``BACKEND``. It keeps
arrays where NumPy can read and write them too, in memory of its own (*allocate* and *view*: ``Layout.memory``); its
kernels make steppers and solvers of cells (*step*) and exact sums (*reduce*).
"""

import ctypes
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import import_module
from typing import Protocol, cast

import numpy as np
import numpy.typing as npt

from airshed.kernels.cell_backend import CellKernel
from airshed.kernels.derivatives import ReverseKernel, TangentKernel
from airshed.kernels.host import AnyArray
from airshed.kernels.layout import Layout, MechanismShape
from airshed.kernels.operators import ADVECTION, Operator
from airshed.kernels.schedule import Schedule
from airshed.kernels.step.data import (
    NO_OTHERS,
    ColumnForcing,
    Directions,
    Neighbours,
    OtherRanks,
    Pair,
    State,
    StepConstants,
    StepForcing,
    StepObserver,
    TransportForcing,
)
from airshed.mechanism.network import ReactionNetwork
from airshed.program.weights import StageWeights

Array = npt.NDArray[np.float64]


class Sums(Protocol):
    """Sums with the same bits in any order, see :mod:`airshed.core.exact_sum`."""

    def magnitudes(self, values: Array) -> Array:
        """Return the greatest magnitudes (..., column) of (..., summand, column)."""
        ...

    def parts(self, values: Array, greatest: Array) -> npt.NDArray[np.int64]:
        """Return the sums (..., 2, column) of the integers that the summands are cut into."""
        ...

    def value(self, sums: npt.NDArray[np.int64], greatest: Array) -> Array:
        """Return the sums (..., column) that the integers (..., 2, column) stand for."""
        ...


class Stepper(Protocol):
    """Advances a :class:`State` by the compiled code of a mechanism.

    pool    threads for what is done beside the steps; None for none
    batch   how many steps :meth:`advance` may be asked for at once
    waited  wall time [s] in which there was nothing to do, as the edges of neighbours were not here
    observer  called before each step with its forcing and the state that it starts from; None for none
    """

    layout: Layout
    state: State
    neighbours: Neighbours | None
    threads: int
    pool: ThreadPoolExecutor | None
    batch: int
    observer: StepObserver | None

    @property
    def kernel(self) -> "StepKernel":
        """The code that it runs."""
        ...

    def step(self, weights: StageWeights, transport: TransportForcing, column: ColumnForcing | None) -> Array:
        """Advance the state from n to n+1; return the sums of the budget terms (term, species) of the kernel.

        column  None where the kernel has no vertical part; the sums are then (term, species, level).
        """
        ...

    def advance(self, steps: Sequence[StepForcing]) -> Array:
        """Advance the state by the steps of a batch; return what is to be summed up, (step, block, sum).

        See :meth:`by_term`. The array stays as it is until the next call.
        """
        ...

    def set_boundary(self, profile: Array, top: Array) -> None:
        """Change the lateral profile (species, level) and the top (species,) from the next step on."""
        ...

    def total(self, sums: Array) -> Array:
        """Return sums (block, ...) over all blocks, those of other ranks too: (...)."""
        ...

    def by_term(self, totals: Array) -> tuple[Array, Array]:
        """Return the sums (sum,) of a step as those of the budget terms (term, species), and of the families."""
        ...

    @property
    def imbalance(self) -> Array:
        """Atoms of each family that unbalanced reactions made in the last :meth:`step` [mol/s]."""
        ...

    @property
    def seconds(self) -> dict[str, float]:
        """Time that the threads have spent in each part of the step, added up over threads [s]."""
        ...

    @property
    def waited(self) -> float:
        """See above."""
        ...

    def close(self) -> None:
        """End the threads and the exchange with neighbours."""
        ...


class StepKernel(Protocol):
    """A mechanism's step over columns as compiled code.

    key      a digest of what it computes
    terms    names of the terms that a step sums for budgets [mol/s], clipped in [mol]
    seconds  wall time of each stage of its making by its name
    """

    @property
    def key(self) -> str:
        """See above."""
        ...

    @property
    def network(self) -> ReactionNetwork:
        """The mechanism."""
        ...

    @property
    def shape(self) -> MechanismShape:
        """What the code was compiled for."""
        ...

    @property
    def schedule(self) -> Schedule:
        """The order of a sweep over species."""
        ...

    @property
    def terms(self) -> tuple[str, ...]:
        """See above."""
        ...

    @property
    def seconds(self) -> dict[str, float]:
        """See above."""
        ...

    @property
    def sums(self) -> Sums:
        """Exact sums, for those of every step."""
        ...

    def layout(self, rows: int, columns: int) -> Layout:
        """Return how a grid of rows x columns lies in memory."""
        ...

    def stepper(
        self, layout: Layout, constants: StepConstants, *, threads: int = 1, others: OtherRanks = NO_OTHERS,
        state: State | None = None, batch: int = 1,
    ) -> Stepper:  # fmt: skip
        """Return what advances a state of this layout.

        others  what it has of other ranks
        state   that of another stepper, to be advanced by both in turn; None for one of its own
        batch   how many steps it may be asked for at once
        """
        ...

    def reversed(self, *, frozen: bool = False) -> ReverseKernel:
        """Return the adjoint of the step, compiled when it is first asked for.

        frozen  whether limiters of the transport stay as they were, rather than change with the mixing ratios
        """
        ...

    def tangent(self) -> TangentKernel:
        """Return the step on values that carry a change, compiled when it is first asked for."""
        ...

    def sunlight(self, places: AnyArray, limits: Array, suns: AnyArray) -> Callable[[Array, Pair | None, Array], None]:
        """Return what fills the sun over columns, see ``air.light``."""
        ...


class Backend(Protocol):
    """Compiled code on one kind of processor.

    width    columns in a pack
    devices  names of the devices that run stages, such as "cuda"
    """

    devices: tuple[str, ...]

    @property
    def width(self) -> int:
        """See above."""
        ...

    def compile_mechanism(
        self, network: ReactionNetwork, levels: int, precision: str = "double", *, families: tuple[str, ...] = (),
        directions: Directions = "all", operators: tuple[Operator, ...] = (ADVECTION,),
    ) -> StepKernel:  # fmt: skip
        """Return the compiled code of a mechanism for `levels` levels, in "double" or "single" precision.

        What the mechanism leaves open takes its default where it has one, else it is a field that steps are given.

        families    elements whose atoms a step counts where reactions do not balance them
        directions  where transport goes: "all"; "horizontal", each level by itself, with nothing implicit; "vertical"
        operators   what acts on species besides reactions, the wind alone unless said; those that act where transport
                    does not go are left out
        Raises KernelError when it cannot be compiled, or for operators that no code can be made of.
        """
        ...

    def compile_chemistry(
        self, network: ReactionNetwork, precision: str = "double", *, width: int | None = None
    ) -> CellKernel:
        """Return the compiled chemistry of a mechanism for independent cells, in "double" or "single" precision.

        width  cells in a pack; without it those that fill a register of the widest vectors
        Raises KernelError when it cannot be compiled.
        """
        ...


def host_functions(text: str, *, name: str) -> ctypes.CDLL:
    """Return the functions of C++ text for arrays of this machine, with the roundings of NumPy; raises KernelError."""
    from airshed.kernels.backends.cpu import compiled

    return compiled.host_functions(text, name=name)


@cache
def backend(name: str = "cpu") -> Backend:
    """Return the backend of a name."""
    return cast(Backend, import_module(f"airshed.kernels.backends.{name}.backend").BACKEND)
