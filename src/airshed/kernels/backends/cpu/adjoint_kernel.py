"""The compiler pipeline of a step in reverse, on demand: a run that asks for no gradient never waits for it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from airshed.kernels.backends.cpu.compiled import CompiledKernel, compile_and_load, timed
from airshed.kernels.backends.cpu.kernel import ALIKE, MechanismKernel
from airshed.kernels.backends.cpu.toolchain import Unit
from airshed.kernels.layout import Layout, MechanismShape
from airshed.kernels.step.adjoint import emit_reverse
from airshed.kernels.step.data import StepConstants, Swap
from airshed.kernels.step.emit import Source

if TYPE_CHECKING:
    from airshed.kernels.backends.cpu.reverser import Reverser

UNITS: Final[dict[str, tuple[int, tuple[str, ...]]]] = {
    "sweeps": (4, ("-O2", "-ffp-contract=fast")), "transport": (3, ()), "rates": (5, ("-O1", "-ffp-contract=fast")),
}  # fmt: skip
"""Translation units, as those of a step, whose numbers these are not: of the step they have the head alone.

``rates`` are the sweeps back once more, which also make what rates are worth; -O2 would take twice as long to compile
them and gains nothing.

A face of transport may be computed twice, by different code, with the same bits, so nothing there is contracted; sweeps
of a block are computed once, and need not be :data:`airshed.kernels.backends.cpu.kernel.ALIKE`.
"""


@dataclass(frozen=True)
class ReverseKernel(CompiledKernel[MechanismShape, Source]):
    """The adjoint of a mechanism's step as compiled code."""

    def reverser(
        self, layout: Layout, constants: StepConstants, *, threads: int = 1, read: bool = False,
        reactions: bool = True, swap: Swap | None = None,
    ) -> "Reverser":  # fmt: skip
        """Return what takes adjoints back over steps of this layout."""
        from airshed.kernels.backends.cpu.reverser import Reverser

        return Reverser(self, layout, constants, threads=threads, read=read, reactions=reactions, swap=swap)


def compile_reverse(forward: MechanismKernel, *, frozen: bool = False) -> ReverseKernel:
    """Return the adjoint of the step of a kernel.

    Raises KernelError when there is no compiler or it refuses the code.
    """
    seconds: dict[str, float] = {}
    network, shape = forward.network, forward.shape
    make: Callable[[], Source] = lambda: emit_reverse(  # noqa: E731
        network, forward.schedule, shape, forward.source, frozen=frozen
    )
    source = timed(seconds, "emit", make)
    name = f"{network.name}-{shape.levels}-{shape.precision}-reverse"
    units = [Unit(each, f"#define UNIT {number}\n{source.text}", flags) for each, (number, flags) in UNITS.items()]
    library, functions = compile_and_load(units, seconds, name=name, extra_flags=ALIKE)
    return ReverseKernel(network, shape, source, library, functions, seconds)
