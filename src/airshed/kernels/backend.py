"""What a model asks of compiled code: a backend compiles a mechanism, and the kernel does the rest.

A backend is a folder beside ``cpu/`` with files of the same names, whose ``backend.py`` has a ``BACKEND``. It keeps
arrays where NumPy can read and write them too, in memory of its own (*allocate* and *view*: ``Layout.memory``); its
kernels make steppers and solvers of cells (*step*) and exact sums (*reduce*).
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import import_module
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from airshed.kernels.chemistry import Place, Sources, Tableau, Tolerances
from airshed.kernels.chemistry.data import NO_SOURCES, AcceptedSteps, CellAdjoints, CellSteps
from airshed.kernels.derivatives import ReverseKernel, TangentKernel
from airshed.kernels.layout import Layout
from airshed.kernels.memory import AnyArray
from airshed.kernels.step.data import (
    ColumnForcing,
    Directions,
    Neighbours,
    Pair,
    State,
    StepConstants,
    StepForcing,
    TransportForcing,
    TwoStepWeights,
)
from airshed.kernels.step.operators import ADVECTION, Operator
from airshed.kernels.step.shape import MechanismShape, Shape
from airshed.mechanism.network import ReactionNetwork

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
    """

    layout: Layout
    state: State
    neighbours: Neighbours | None
    threads: int
    pool: ThreadPoolExecutor | None
    batch: int

    @property
    def kernel(self) -> "StepKernel":
        """The code that it runs."""
        ...

    def step(self, weights: TwoStepWeights, transport: TransportForcing, column: ColumnForcing | None) -> Array:
        """Advance the state from n to n+1; return the sums of the budget terms (term, species) of the kernel.

        column  None where the kernel has no vertical part; the sums are then (term, species, level).
        """
        ...

    def advance(self, steps: Sequence[StepForcing]) -> Array:
        """Advance the state by the steps of a batch; return what is to be summed up, (step, block, sum).

        See :meth:`by_term`. The array stays as it is until the next call.
        """
        ...

    def set_outside(self, ghosts: Array, top: Array) -> None:
        """Change the mixing ratios outside the area (species, level) and above it (species,) from the next step on."""
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
        self, layout: Layout, constants: StepConstants, *, threads: int = 1, neighbours: Neighbours | None = None,
        total: Callable[[Array], Array] | None = None, state: State | None = None, batch: int = 1,
    ) -> Stepper:  # fmt: skip
        """Return what advances a state of this layout.

        neighbours  what lies beyond the sides where the area goes on; None where it ends on all of them
        total       sums over the first axis of the sums of blocks, of all ranks; the same bits in any order
        state       that of another stepper, to be advanced by both in turn; None for one of its own
        batch       how many steps it may be asked for at once
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


class CellReverser(Protocol):
    """The adjoint of what a :class:`CellSolver` does, along the steps that it has accepted."""

    def reverse(
        self, adjoint: AnyArray, inputs: AnyArray, record: AcceptedSteps, start: float, end: float
    ) -> CellAdjoints:
        """Take the adjoint of concentrations, (pack, species, width), back from `end` to `start` [s].

        inputs  those of the solver, and behind them what each emission, then each loss rate, gains as a factor grows
        record  the steps that were accepted: their lengths count as given, since step control is not differentiated
        """
        ...


class CellTangent(Protocol):
    """The steps that a :class:`CellSolver` has accepted once more, in their lengths, and their tangent.

    The solver has no emission and loss, and its inputs, (pack, 1, inputs, width), stay as they are.
    """

    def repeat(self, y: AnyArray, inputs: AnyArray, record: AcceptedSteps, factors: Array) -> None:
        """Take concentrations (pack, species, width) through recorded steps, in place.

        record   the lengths of steps: the states between them do not matter
        factors  on rates of reactions (reaction,)
        """
        ...

    def along(self, change: AnyArray, inputs: AnyArray, record: AcceptedSteps, of_factors: Array) -> None:
        """Take changes of concentrations (pack, species, width) through recorded steps, in place.

        of_factors  changes of a factor of one on rates of reactions (reaction,)
        """
        ...


class CellSolver(Protocol):
    """Advances dy/dt = P(y) - L(y) y + E - D y in every cell, see :mod:`airshed.kernels.chemistry.tableau`.

    inputs  the number of inputs of a cell: those of the kernel, emissions, loss rates
    A cell's result does not depend on which cells stand beside it, nor on the number of threads.
    """

    @property
    def kernel(self) -> "CellKernel":
        """The compiled chemistry."""
        ...

    @property
    def method(self) -> Tableau:
        """The method."""
        ...

    @property
    def tolerances(self) -> Tolerances:
        """When a step is accepted."""
        ...

    @property
    def most_steps(self) -> int:
        """Steps of a cell in one call, after which it counts as failed."""
        ...

    @property
    def inputs(self) -> int:
        """See above."""
        ...

    def advance(
        self, y: AnyArray, result: AnyArray, place: Place, inputs: AnyArray, steps: CellSteps, start: float,
        end: float, *, clipped: AnyArray | None = None, extra: AnyArray | None = None,
        record: AcceptedSteps | None = None,
    ) -> None:  # fmt: skip
        """Integrate packed cells from `start` to `end` [s].

        reads   y       concentrations, as `place` says
                inputs  (pack, degree + 1, inputs, width) Chebyshev coefficients over [start, end], see :attr:`inputs`
        writes  result  concentrations at the end, where `steps.reached` says so; may be y itself
                clipped what was added to keep them from getting negative
                extra   (pack, species, width): the last species of the mechanism, which begin at zero and are not
                        among those of y and result
                record  the accepted steps, as many of each cell as it has room for
        """
        ...

    def reversed(self) -> "CellReverser":
        """Return the adjoint of what it does, compiled when it is first asked for; raises KernelError."""
        ...

    def tangent(self) -> "CellTangent":
        """Return its steps with changes of what they are given, compiled when first asked for; raises KernelError."""
        ...

    def with_more_steps(self, factor: int) -> "CellSolver":
        """Return a solver on one thread that may take so many times as many steps, for cells that have failed."""
        ...

    def close(self) -> None:
        """End the threads."""
        ...


class CellKernel(Protocol):
    """A mechanism's chemistry of independent cells as compiled code.

    inputs   names of a cell's inputs: its air, then what the mechanism leaves open
    dtype    of concentrations
    seconds  wall time of each stage of its making by its name
    """

    @property
    def network(self) -> ReactionNetwork:
        """The mechanism."""
        ...

    @property
    def shape(self) -> Shape:
        """What the code was compiled for."""
        ...

    @property
    def inputs(self) -> tuple[str, ...]:
        """See above."""
        ...

    @property
    def dtype(self) -> type[np.floating]:
        """See above."""
        ...

    @property
    def seconds(self) -> dict[str, float]:
        """See above."""
        ...

    def solver(
        self, method: Tableau, tolerances: Tolerances, sources: Sources = NO_SOURCES, *, threads: int = 1, **limits: Any
    ) -> CellSolver:  # fmt: skip
        """Return what integrates cells; limits: `longest` step [s], `most_steps` of a cell in one call."""
        ...


class Backend(Protocol):
    """Compiled code on one kind of processor.

    width  columns in a pack
    """

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


@cache
def backend(name: str = "cpu") -> Backend:
    """Return the backend of a name."""
    return cast(Backend, import_module(f"airshed.kernels.{name}.backend").BACKEND)
