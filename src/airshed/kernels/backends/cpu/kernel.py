"""Compiler pipeline of a mechanism: network -> schedule -> emit -> compile -> load, each stage timed.

Parsing precedes it (``airshed.mechanism``). The result is a library of C functions for one mechanism, one number of
levels and one precision.
"""

import ctypes
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from hashlib import sha256
from math import prod
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.kernels.abi import TERMS
from airshed.kernels.backends.cpu.argument_table import ArgumentTable
from airshed.kernels.backends.cpu.compiled import CompiledKernel, Units, compiled, timed
from airshed.kernels.backends.cpu.reverser import Reverser
from airshed.kernels.backends.cpu.stepper import Stepper
from airshed.kernels.backends.cpu.tangent import TangentStepper
from airshed.kernels.backends.cpu.work_sharing import StepQueue, ThreadTeam, cut
from airshed.kernels.host import AnyArray, address, vector_doubles
from airshed.kernels.layout import Layout, MechanismShape
from airshed.kernels.operators import ADVECTION, Operator, active_operators, check, own_terms
from airshed.kernels.schedule import Schedule, schedule
from airshed.kernels.step.arguments import Directions, Pair, Side, StepConstants
from airshed.kernels.step.emit import TANGENT, Source, emit, emit_reverse
from airshed.kernels.toolchain import keeping_lock
from airshed.mechanism.network import ReactionNetwork

LARGEST_GROUP: Final = 3
"""Species solved together; measured: see docs/history/performance.md."""

WIDTH: Final = vector_doubles()
"""Columns per pack: a register of doubles, half a register of floats; twice and half as many are slower."""


UNITS: Final[Units] = {"step": (1, ()), "sweeps": (2, ("-O2",))}
"""Translation units of a kernel, each the whole text compiled with its number: two compilers take half the time of one.

The sweeps are explicitly vectorised: -O3 only doubles their compile time over -O2.
"""


NO_CONTRACTION: Final = ("-ffp-contract=off",)
"""Further options of kernels without reactions: ranks run different kernels, for a part of the species or levels.

Compilers contract products and sums depending on the number of species. Without contraction each operation is rounded
as written; a fused multiply-add is written as ``fused``.
"""


@dataclass(frozen=True)
class ExactSums:
    """Exact sums of summands (..., summand, column) in double, C order, by the code of a kernel."""

    functions: ctypes.CDLL

    def magnitudes(self, values: Array) -> Array:
        """Return the greatest magnitude in each column (..., column); infinite where a value is not finite."""
        *several, count, columns = values.shape
        result = np.empty((*several, columns))
        self.functions.airshed_magnitudes(address(values), prod(several), count, columns, address(result))
        return result

    def parts(self, values: Array, greatest: Array) -> npt.NDArray[np.int64]:
        """Return the sums (..., 2, column) of the integer parts of the summands."""
        *several, count, columns = values.shape
        result = np.empty((*several, 2, columns), np.int64)
        self.functions.airshed_exact_parts(
            address(values), prod(several), count, columns, address(greatest), address(result)
        )
        return result

    def value(self, sums: npt.NDArray[np.int64], greatest: Array) -> Array:
        """Return the sums (..., column) from sums of integer parts (..., 2, column); NaN for values not finite."""
        *several, columns = greatest.shape
        result = np.empty(greatest.shape)
        self.functions.airshed_exact_value(address(sums), address(greatest), prod(several), columns, address(result))
        return result

    def total(self, values: Array) -> Array:
        """Return the sums (column,) of all summands."""
        greatest = self.magnitudes(values)
        return self.value(self.parts(values, greatest), greatest)


@dataclass(frozen=True)
class StepKernel(CompiledKernel[MechanismShape, Source]):
    """The step of a mechanism over columns as compiled code.

    terms  names of the budget terms of a step [mol/s], clipped in [mol]
    """

    schedule: Schedule
    terms: tuple[str, ...]

    @property
    def key(self) -> str:
        """A digest of the source text, independent of compiler and processor."""
        return sha256(self.source.text.encode()).hexdigest()

    @cached_property
    def sums(self) -> ExactSums:
        """Exact sums for the budgets of steps."""
        return ExactSums(self.functions)

    def largest(self, array: AnyArray) -> float:
        """Return the largest value of an array of the state, which has none below zero; NaN if any is not a number."""
        return float(array.max(initial=0.0))

    def layout(self, rows: int, columns: int) -> Layout:
        """Return the memory layout of a grid of rows x columns."""
        return Layout(rows, columns, self.shape.width, self.dtype)

    def stepper(self, layout: Layout, constants: StepConstants, **options: Any) -> Stepper:
        """Return a stepper for a state of this layout; options: keywords of :class:`.stepper.Stepper`."""
        return Stepper(self, layout, constants, **options)

    def step_queue(
        self, table: ArgumentTable, layout: Layout, sides: Collection[Side], *, threads: int,
        pool: ThreadPoolExecutor | None,
    ) -> StepQueue:  # fmt: skip
        """Return the queue of the steps of an argument table: threads that share pieces of the area."""
        pieces = cut(layout.rows, layout.blocks, threads, sides)
        return ThreadTeam(self, table, pieces, layout.blocks, threads=threads, pool=pool, edges=bool(sides))

    def reverser(
        self, layout: Layout, constants: StepConstants, *, frozen: bool = False, **options: Any
    ) -> Reverser:  # fmt: skip
        """Return the adjoint of steps of this layout, compiled on first use.

        frozen   whether limiters of the transport are frozen: their dependence on mixing ratios is not differentiated
        options  keywords of :class:`.reverser.Reverser`
        """
        return Reverser(compile_reverse(self, frozen=frozen), layout, constants, **options)

    def tangent_stepper(self, layout: Layout, constants: StepConstants, **options: Any) -> TangentStepper:
        """Return the tangent-linear step, compiled on first use; options: keywords of its class."""
        return TangentStepper(compile_tangent(self), layout, constants, **options)

    def sunlight(self, places: AnyArray, limits: Array, suns: AnyArray) -> Callable[[Array, Pair | None, Array], None]:
        """Return a function of the secant of the zenith angle and the light factor, [time][lat][block][2][W].

        places  [lat][block][3][W] unit vectors to the zenith of each column
        limits  smallest cosine of the zenith angle, light under an overcast sky over it, smallest cosine for that light
        suns    array for the result

        The function has three arguments: the directions to the sun (time, 3); the packed cloud cover at both ends of
        an interval, None for a clear sky; the weights of the second end at each time. The formulas are in
        ``control.hpp`` and ``air/light.py``.
        """
        function, blocks = keeping_lock(self.functions.airshed_sunlight), places.shape[0] * places.shape[1]

        def fill(directions: Array, cloud: Pair | None, weights: Array) -> None:
            ends = [None, None] if cloud is None else [address(each) for each in cloud]
            function(
                address(places), address(directions), *ends, address(weights), len(weights), address(limits), blocks,
                address(suns),
            )  # fmt: skip

        return fill


@dataclass(frozen=True)
class StepDerivative(CompiledKernel[MechanismShape, Source]):
    """The adjoint or the tangent of the step of a mechanism as compiled code; forward: the kernel of that step."""

    forward: StepKernel


@dataclass(frozen=True)
class StepPlan:
    """Inputs of the code of a step: network, shape, order of the species, and names of the budget terms."""

    network: ReactionNetwork
    shape: MechanismShape
    schedule: Schedule
    terms: tuple[str, ...]
    seconds: dict[str, float]

    @classmethod
    def of(
        cls, network: ReactionNetwork, levels: int, precision: str, *, families: tuple[str, ...],
        directions: Directions, operators: tuple[Operator, ...], tuning: tuple[int, int],
    ) -> "StepPlan":  # fmt: skip
        """Return the plan of a step; the parameters are those of :func:`compile_mechanism`."""
        seconds: dict[str, float] = {}
        network, (width, largest_group) = network.with_defaults(), tuning
        check(operators, len(network.species))
        horizontal, vertical = directions != "vertical", directions != "horizontal"
        act = active_operators(operators, horizontal=horizontal, vertical=vertical)
        terms = own_terms(operators)
        shape = MechanismShape(width, precision, levels, families, horizontal, vertical, act, terms)
        with timed(seconds, "schedule"):
            order = schedule(network, largest_group)
        return cls(network, shape, order, (*TERMS, *terms), seconds)

    @property
    def name(self) -> str:
        """A name for files."""
        directions = {(True, False): "-horizontal", (False, True): "-vertical"}
        suffix = directions.get((self.shape.horizontal, self.shape.vertical), "")
        return f"{self.network.name}-{self.shape.levels}-{self.shape.precision}{suffix}"


def compile_mechanism(
    network: ReactionNetwork,
    levels: int,
    precision: str = "double",
    *,
    families: tuple[str, ...] = (),
    directions: Directions = "all",
    operators: tuple[Operator, ...] = (ADVECTION,),
    tuning: tuple[int, int] = (WIDTH, LARGEST_GROUP),
) -> StepKernel:
    """Return the compiled code of a mechanism for `levels` levels, in "double" or "single" precision.

    Open parameters with a default have that value; the others are fields of the forcing.

    families    elements whose atoms are counted where reactions do not conserve them
    directions  of transport: "all"; "horizontal", with independent levels and nothing implicit; or "vertical"
    operators   terms other than reactions, by default advection; operators in other directions are omitted
    tuning      columns per pack, and species solved together: they affect only the speed
    Raises KernelError without a compiler, on a compiler error, or for operators that cannot be compiled.
    """
    plan = StepPlan.of(
        network, levels, precision, families=families, directions=directions, operators=operators, tuning=tuning
    )
    return compiled(
        partial(StepKernel, plan.network, plan.shape, schedule=plan.schedule, terms=plan.terms),
        lambda: emit(plan.network, plan.schedule, plan.shape), name=plan.name, units=UNITS,
        flags=() if plan.network.reactions else NO_CONTRACTION, seconds=plan.seconds,
    )  # fmt: skip


ADJOINT_UNITS: Final[Units] = {
    "sweeps": (4, ("-O2", "-ffp-contract=fast")), "transport": (3, ()), "rates": (5, ("-O1", "-ffp-contract=fast")),
}  # fmt: skip
"""Translation units of the adjoint. Its numbers differ from those of the step, of which it compiles only the head.

``rates`` are the reverse sweeps compiled once more with the sensitivity to rate constants; -O2 would take twice as long
to compile and is not faster.

Two threads may compute one face of transport by different code, with the same bits, so transport is not contracted. The
sweeps of a block are computed once, and need no :data:`airshed.kernels.backends.cpu.kernel.NO_CONTRACTION`.
"""


def compile_reverse(forward: StepKernel, *, frozen: bool = False) -> StepDerivative:
    """Compile the adjoint of the step of a kernel; raises KernelError without a compiler, or on a compiler error."""
    network, shape, order, text = forward.network, forward.shape, forward.schedule, forward.source
    return compiled(
        partial(StepDerivative, network, shape, forward=forward),
        lambda: emit_reverse(network, order, shape, text, frozen=frozen),
        name=f"{network.name}-{shape.levels}-{shape.precision}-reverse", units=ADJOINT_UNITS, flags=NO_CONTRACTION,
    )  # fmt: skip


def compile_tangent(forward: StepKernel) -> StepDerivative:
    """Compile the tangent of the step of a kernel; raises KernelError without a compiler, or on a compiler error."""
    network, order = forward.network, forward.schedule
    shape = replace(forward.shape, families=())  # the forward step counts atoms
    return compiled(
        partial(StepDerivative, network, shape, forward=forward), lambda: emit(network, order, shape, TANGENT),
        name=f"{network.name}-{shape.levels}-{shape.precision}-tangent", units=UNITS,
        flags=() if network.reactions else NO_CONTRACTION,
    )  # fmt: skip
