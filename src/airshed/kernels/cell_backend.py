"""What a model asks of the compiled chemistry of independent cells; part of :mod:`airshed.kernels.backend`."""

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from airshed.kernels.cells import Sources, Tableau, Tolerances
from airshed.kernels.cells.data import (
    NO_EXTRAS,
    NO_SOURCES,
    AcceptedSteps,
    CellAdjoints,
    CellExtras,
    CellSteps,
    Concentrations,
)
from airshed.kernels.host import AnyArray
from airshed.kernels.layout import Shape
from airshed.mechanism.network import ReactionNetwork

Array = npt.NDArray[np.float64]


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
    """Advances dy/dt = P(y) - L(y) y + E - D y in every cell, see :mod:`airshed.kernels.cells.tableau`.

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
        self, cells: Concentrations, inputs: AnyArray, steps: CellSteps, start: float, end: float,
        extras: CellExtras = NO_EXTRAS,
    ) -> None:  # fmt: skip
        """Integrate packed cells from `start` to `end` [s].

        cells   concentrations; those at the end are those of `end` where `steps.reached` says so
        inputs  (pack, degree + 1, inputs, width) Chebyshev coefficients over [start, end], see :attr:`inputs`
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
