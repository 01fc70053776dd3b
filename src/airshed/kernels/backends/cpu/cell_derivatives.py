"""Compiles the tangent and the adjoint of a mechanism's chemistry on demand: who asks for neither never waits."""

from collections.abc import Callable
from dataclasses import dataclass

from airshed.kernels.backends.cpu.cell_kernel import FLAGS, ChemistryKernel
from airshed.kernels.backends.cpu.compiled import CompiledKernel, compile_and_load, timed
from airshed.kernels.cells.adjoint import emit_reverse
from airshed.kernels.cells.emit import ChemistryShape, ChemistrySource
from airshed.kernels.cells.tangent import emit_tangent


@dataclass(frozen=True)
class ChemistryDerivative(CompiledKernel[ChemistryShape, ChemistrySource]):
    """The tangent or the adjoint of accepted steps as compiled code."""


def compile_tangent(forward: ChemistryKernel) -> ChemistryDerivative:
    """Return the tangent of the steps of a kernel; raises KernelError without a compiler, or for code it refuses."""
    return _compiled(forward, "tangent", lambda: emit_tangent(forward.network, forward.source))


def compile_reverse(forward: ChemistryKernel) -> ChemistryDerivative:
    """Return the adjoint of the steps of a kernel; raises KernelError without a compiler, or for code it refuses."""
    return _compiled(forward, "reverse", lambda: emit_reverse(forward.network, forward.shape, forward.source))


def _compiled(forward: ChemistryKernel, what: str, make: Callable[[], ChemistrySource]) -> ChemistryDerivative:
    seconds: dict[str, float] = {}
    source = timed(seconds, "emit", make)
    name = f"{forward.network.name}-cells-{forward.shape.precision}-{what}"
    library, functions = compile_and_load(source.text, seconds, name=name, extra_flags=FLAGS)
    return ChemistryDerivative(forward.network, forward.shape, source, library, functions, seconds)
