"""The compiler pipeline of a mechanism: network -> schedule -> emit -> compile -> load, each stage timed.

Parsing comes before (``airshed.mechanism``); what comes out is a library of C functions for one mechanism, one number
of levels and one precision.
"""

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from airshed.kernels.abi import TERMS
from airshed.kernels.backends.cpu.compiled import CompiledKernel, compile_and_load, keeping_lock, timed
from airshed.kernels.backends.cpu.exact_sum import CompiledSums
from airshed.kernels.backends.cpu.toolchain import Unit
from airshed.kernels.host import AnyArray, address, vector_doubles
from airshed.kernels.layout import Layout, MechanismShape
from airshed.kernels.operators import ADVECTION, Operator, acting, check, own_terms
from airshed.kernels.schedule import Schedule, schedule
from airshed.kernels.step.data import NO_OTHERS, Directions, OtherRanks, Pair, State, StepConstants
from airshed.kernels.step.emit import Source, emit
from airshed.mechanism.network import ReactionNetwork

if TYPE_CHECKING:
    from airshed.kernels.backends.cpu.adjoint_kernel import ReverseKernel
    from airshed.kernels.backends.cpu.stepper import Stepper
    from airshed.kernels.backends.cpu.tangent_kernel import TangentKernel

Array = npt.NDArray[np.float64]

LARGEST_GROUP: Final = 3
"""Species solved together; measured: see docs/history/performance.md."""

WIDTH: Final = vector_doubles()
"""Columns in a pack: a register of doubles, half of one of floats; twice and half as many measured slower."""


@dataclass(frozen=True)
class Tuning:
    """What the code is written for: columns in a pack, and species solved together."""

    width: int = WIDTH
    largest_group: int = LARGEST_GROUP


TUNED: Final = Tuning()
"""As it measured fastest."""

UNITS: Final[dict[str, tuple[int, tuple[str, ...]]]] = {"step": (1, ()), "sweeps": (2, ("-O2",))}
"""Translation units of a kernel, each the whole text under its number: two compilers take half the time of one.

The sweeps are written as vectors: -O3 only doubles their compile time over -O2.
"""


ALIKE: Final = ("-ffp-contract=off",)
"""Further options of kernels without reactions, of which ranks with some species or levels run different ones.

Compilers contract products into sums depending on the number of species. Without contraction each operation is rounded
as it is written; a single rounding is written as ``fused``.
"""


def units_of(source: Source) -> list[Unit]:
    """Return the translation units of a step's text."""
    return [Unit(unit, f"#define UNIT {number}\n{source.text}", flags) for unit, (number, flags) in UNITS.items()]


class Sunlight:
    """Fills secant of the zenith angle and light factor [time][lat][block][2][W] of fixed arrays.

    Its formulas are in ``control.hpp`` and ``air/light.py``.

    places  [lat][block][3][W] unit vectors to the zenith of each column
    limits  smallest cosine of the zenith angle, light under an overcast sky over it, smallest cosine for that
    """

    def __init__(self, function: Any, places: AnyArray, limits: Array, suns: AnyArray) -> None:
        self._function = keeping_lock(function)
        self._held, self._blocks = (places, limits, suns), places.shape[0] * places.shape[1]
        self._places, self._limits, self._suns = (address(each) for each in self._held)

    def __call__(self, directions: Array, cloud: Pair | None, weights: Array) -> None:
        """Fill them for each direction to the sun (time, 3).

        cloud    packed cover at both ends of an interval, None for a clear sky
        weights  of the second end at each time
        """
        ends = [None, None] if cloud is None else [address(each) for each in cloud]
        self._function(
            self._places, address(directions), *ends, address(weights), len(weights), self._limits, self._blocks,
            self._suns,
        )  # fmt: skip


@dataclass(frozen=True)
class MechanismKernel(CompiledKernel[MechanismShape, Source]):
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
    def sums(self) -> CompiledSums:
        """Exact sums, for those of every step."""
        return CompiledSums(self.functions)

    def layout(self, rows: int, columns: int) -> Layout:
        """Return the memory layout of a grid of rows x columns."""
        return Layout(rows, columns, self.shape.width, self.dtype)

    def stepper(
        self, layout: Layout, constants: StepConstants, *, threads: int = 1, others: OtherRanks = NO_OTHERS,
        state: State | None = None, batch: int = 1,
    ) -> "Stepper":  # fmt: skip
        """Return a stepper for a state of this layout, see :class:`airshed.kernels.backend.StepKernel`."""
        from airshed.kernels.backends.cpu.stepper import Stepper

        return Stepper(self, layout, constants, threads=threads, others=others, state=state, batch=batch)

    def reversed(self, *, frozen: bool = False) -> "ReverseKernel":
        """Return the adjoint of the step, compiled when it is first asked for."""
        from airshed.kernels.backends.cpu.adjoint_kernel import compile_reverse

        return compile_reverse(self, frozen=frozen)

    def tangent(self) -> "TangentKernel":
        """Return the step on values that carry a change, compiled when it is first asked for."""
        from airshed.kernels.backends.cpu.tangent_kernel import compile_tangent

        return compile_tangent(self)

    def sunlight(self, places: AnyArray, limits: Array, suns: AnyArray) -> Sunlight:
        """Return the function that fills the sun over columns."""
        return Sunlight(self.functions.airshed_sunlight, places, limits, suns)


def compile_mechanism(
    network: ReactionNetwork,
    levels: int,
    precision: str = "double",
    *,
    families: tuple[str, ...] = (),
    directions: Directions = "all",
    operators: tuple[Operator, ...] = (ADVECTION,),
    tuning: Tuning = TUNED,
) -> MechanismKernel:
    """Return the compiled code of a mechanism for `levels` levels, in "double" or "single" precision.

    An open parameter takes its default if it has one, else it is a field of the forcing.

    families    elements whose atoms a step counts where reactions do not balance them
    directions  where transport goes: "all"; "horizontal", each level by itself, with nothing implicit; or "vertical"
    operators   what acts on species besides reactions, by default the wind alone; those that act in other directions
                than transport are left out
    tuning      what the code is written for: it changes speed
    Raises KernelError when there is no compiler or it refuses the code, or for operators that no code can be made of.
    """
    seconds: dict[str, float] = {}
    network = network.with_defaults()
    check(operators, len(network.species))
    horizontal, vertical = directions != "vertical", directions != "horizontal"
    act = acting(operators, horizontal=horizontal, vertical=vertical)
    terms = own_terms(operators)
    shape = MechanismShape(tuning.width, precision, levels, families, horizontal, vertical, act, terms)
    order = timed(seconds, "schedule", lambda: schedule(network, tuning.largest_group))
    source = timed(seconds, "emit", lambda: emit(network, order, shape))
    name = f"{network.name}-{levels}-{precision}" + ("" if directions == "all" else f"-{directions}")
    units = units_of(source)
    alike = () if network.reactions else ALIKE
    library, functions = compile_and_load(units, seconds, name=name, extra_flags=alike)
    return MechanismKernel(network, shape, source, library, functions, seconds, order, (*TERMS, *terms))
