"""The compiler pipeline of a mechanism: network -> schedule -> emit -> compile -> load, each stage timed.

Parsing comes before (``airshed.mechanism``); what comes out is a library of C functions for one mechanism, one number
of levels and one precision.
"""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from hashlib import sha256
from math import prod
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import Array
from airshed.kernels.abi import TERMS
from airshed.kernels.backends.cpu.compiled import CompiledKernel, Units, compiled, timed
from airshed.kernels.backends.cpu.reverser import Reverser
from airshed.kernels.backends.cpu.stepper import Stepper
from airshed.kernels.backends.cpu.tangent import TangentStepper
from airshed.kernels.host import AnyArray, address, vector_doubles
from airshed.kernels.layout import Layout, MechanismShape
from airshed.kernels.operators import ADVECTION, Operator, active_operators, check, own_terms
from airshed.kernels.schedule import Schedule, schedule
from airshed.kernels.step.arguments import Directions, Pair, StepConstants
from airshed.kernels.step.emit import Source, emit, emit_reverse
from airshed.kernels.toolchain import keeping_lock
from airshed.mechanism.network import ReactionNetwork

LARGEST_GROUP: Final = 3
"""Species solved together; measured: see docs/history/performance.md."""

WIDTH: Final = vector_doubles()
"""Columns in a pack: a register of doubles, half of one of floats; twice and half as many measured slower."""


UNITS: Final[Units] = {"step": (1, ()), "sweeps": (2, ("-O2",))}
"""Translation units of a kernel, each the whole text under its number: two compilers take half the time of one.

The sweeps are written as vectors: -O3 only doubles their compile time over -O2.
"""


NO_CONTRACTION: Final = ("-ffp-contract=off",)
"""Further options of kernels without reactions, of which ranks with some species or levels run different ones.

Compilers contract products into sums depending on the number of species. Without contraction each operation is rounded
as it is written; a single rounding is written as ``fused``.
"""


@dataclass(frozen=True)
class ExactSums:
    """Magnitudes and parts of summands (..., summand, column) in double, C order, by the code of a kernel."""

    functions: ctypes.CDLL

    def magnitudes(self, values: Array) -> Array:
        """Return the greatest magnitude in each column (..., column), infinite where one is not finite."""
        *several, count, columns = values.shape
        result = np.empty((*several, columns))
        self.functions.airshed_magnitudes(address(values), prod(several), count, columns, address(result))
        return result

    def parts(self, values: Array, greatest: Array) -> npt.NDArray[np.int64]:
        """Return the sums (..., 2, column) of the integers into which the summands are divided."""
        *several, count, columns = values.shape
        result = np.empty((*several, 2, columns), np.int64)
        self.functions.airshed_exact_parts(
            address(values), prod(several), count, columns, address(greatest), address(result)
        )
        return result

    def value(self, sums: npt.NDArray[np.int64], greatest: Array) -> Array:
        """Return the sums (..., column) that the integers (..., 2, column) represent; NaN where one was not finite."""
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
    """A mechanism's step over columns as compiled code.

    terms  names of the terms that a step sums for budgets [mol/s], clipped in [mol]
    """

    schedule: Schedule
    terms: tuple[str, ...]

    @property
    def key(self) -> str:
        """A digest of its text, whatever the compiler and the processor."""
        return sha256(self.source.text.encode()).hexdigest()

    @cached_property
    def sums(self) -> ExactSums:
        """Exact sums, for those of every step."""
        return ExactSums(self.functions)

    def layout(self, rows: int, columns: int) -> Layout:
        """Return the memory layout of a grid of rows x columns."""
        return Layout(rows, columns, self.shape.width, self.dtype)

    def stepper(self, layout: Layout, constants: StepConstants, **options: Any) -> Stepper:
        """Return a stepper for a state of this layout; options: keywords of :class:`.stepper.Stepper`."""
        return Stepper(self, layout, constants, **options)

    def reverser(
        self, layout: Layout, constants: StepConstants, *, frozen: bool = False, **options: Any
    ) -> Reverser:  # fmt: skip
        """Return the adjoint of steps of this layout, compiled on first use.

        frozen   whether limiters of the transport stay as they were, rather than change with the mixing ratios
        options  keywords of :class:`.reverser.Reverser`
        """
        return Reverser(compile_reverse(self, frozen=frozen), layout, constants, **options)

    def tangent_stepper(self, layout: Layout, constants: StepConstants, **options: Any) -> TangentStepper:
        """Return the step on values that carry a change, compiled on first use; options: those of its class."""
        return TangentStepper(compile_tangent(self), layout, constants, **options)

    def sunlight(self, places: AnyArray, limits: Array, suns: AnyArray) -> Callable[[Array, Pair | None, Array], None]:
        """Return a function that fills the secant of the zenith angle and the light factor, [time][lat][block][2][W].

        places  [lat][block][3][W] unit vectors to the zenith of each column
        limits  smallest cosine of the zenith angle, light under an overcast sky over it, smallest cosine for that
        suns    the array to be filled

        The function takes the directions to the sun (time, 3), the packed cloud cover at both ends of an interval,
        None for a clear sky, and the weights of the second end at each time. Its formulas are in ``control.hpp`` and
        ``air/light.py``.
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
    """The adjoint or the tangent of a mechanism's step as compiled code; forward is the kernel of that step."""

    forward: StepKernel


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

    An open parameter takes its default if it has one, else it is a field of the forcing.

    families    elements whose atoms a step counts where reactions do not balance them
    directions  where transport goes: "all"; "horizontal", each level by itself, with nothing implicit; or "vertical"
    operators   what acts on species besides reactions, by default the wind alone; those that act in other directions
                than transport are left out
    tuning      columns in a pack, and species solved together: they change speed
    Raises KernelError when there is no compiler or it refuses the code, or for operators that no code can be made of.
    """
    seconds: dict[str, float] = {}
    network, (width, largest_group) = network.with_defaults(), tuning
    check(operators, len(network.species))
    horizontal, vertical = directions != "vertical", directions != "horizontal"
    act = active_operators(operators, horizontal=horizontal, vertical=vertical)
    terms = own_terms(operators)
    shape = MechanismShape(width, precision, levels, families, horizontal, vertical, act, terms)
    with timed(seconds, "schedule"):
        order = schedule(network, largest_group)
    name = f"{network.name}-{levels}-{precision}" + ("" if directions == "all" else f"-{directions}")
    return compiled(
        partial(StepKernel, network, shape, schedule=order, terms=(*TERMS, *terms)),
        lambda: emit(network, order, shape), name=name, units=UNITS, flags=() if network.reactions else NO_CONTRACTION,
        seconds=seconds,
    )  # fmt: skip


ADJOINT_UNITS: Final[Units] = {
    "sweeps": (4, ("-O2", "-ffp-contract=fast")), "transport": (3, ()), "rates": (5, ("-O1", "-ffp-contract=fast")),
}  # fmt: skip
"""Translation units, as those of a step, whose numbers these are not: of the step they have the head alone.

``rates`` are the sweeps back once more, which also make what rates are worth; -O2 would take twice as long to compile
them and gains nothing.

A face of transport may be computed twice, by different code, with the same bits, so nothing there is contracted; sweeps
of a block are computed once, and need not be :data:`airshed.kernels.backends.cpu.kernel.ALIKE`.
"""


def compile_reverse(forward: StepKernel, *, frozen: bool = False) -> StepDerivative:
    """Return the adjoint of the step of a kernel; raises KernelError without a compiler, or for code it refuses."""
    network, shape, order, text = forward.network, forward.shape, forward.schedule, forward.source
    return compiled(
        partial(StepDerivative, network, shape, forward=forward),
        lambda: emit_reverse(network, order, shape, text, frozen=frozen),
        name=f"{network.name}-{shape.levels}-{shape.precision}-reverse", units=ADJOINT_UNITS, flags=NO_CONTRACTION,
    )  # fmt: skip


def compile_tangent(forward: StepKernel) -> StepDerivative:
    """Return the tangent of the step of a kernel; raises KernelError without a compiler, or for code it refuses."""
    network, order = forward.network, forward.schedule
    shape = replace(forward.shape, families=())  # atoms are counted by the step itself
    return compiled(
        partial(StepDerivative, network, shape, forward=forward), lambda: emit(network, order, shape, tangent=True),
        name=f"{network.name}-{shape.levels}-{shape.precision}-tangent", units=UNITS,
        flags=() if network.reactions else NO_CONTRACTION,
    )  # fmt: skip
