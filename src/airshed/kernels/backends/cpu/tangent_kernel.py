"""The compiler pipeline of the tangent of a step, on demand: a run that asks for no change never waits for it."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from airshed.kernels.backends.cpu.compiled import CompiledKernel, compile_and_load, timed
from airshed.kernels.backends.cpu.kernel import ALIKE, MechanismKernel, units_of
from airshed.kernels.layout import Layout, MechanismShape
from airshed.kernels.step.data import StateAndChanges, StepConstants, Swap
from airshed.kernels.step.emit import Source, emit

if TYPE_CHECKING:
    from airshed.kernels.backends.cpu.tangent_stepper import TangentStepper


@dataclass(frozen=True)
class TangentKernel(CompiledKernel[MechanismShape, Source]):
    """The tangent of a mechanism's step as compiled code; forward is the kernel of that step."""

    forward: MechanismKernel

    def stepper(
        self, layout: Layout, constants: StepConstants, *, threads: int = 1, states: StateAndChanges | None = None,
        swap: Swap | None = None,
    ) -> "TangentStepper":  # fmt: skip
        """Return what advances a state of this layout and its changes."""
        from airshed.kernels.backends.cpu.tangent_stepper import TangentStepper

        return TangentStepper(self, layout, constants, threads=threads, states=states, swap=swap)


def compile_tangent(forward: MechanismKernel) -> TangentKernel:
    """Return the tangent of the step of a kernel.

    Raises KernelError when there is no compiler or it refuses the code.
    """
    seconds: dict[str, float] = {}
    network = forward.network
    shape = replace(forward.shape, families=())  # atoms are counted by the step itself
    source = timed(seconds, "emit", lambda: emit(network, forward.schedule, shape, tangent=True))
    name = f"{network.name}-{shape.levels}-{shape.precision}-tangent"
    alike = () if network.reactions else ALIKE
    library, functions = compile_and_load(units_of(source), seconds, name=name, extra_flags=alike)
    return TangentKernel(network, shape, source, library, functions, seconds, forward)
