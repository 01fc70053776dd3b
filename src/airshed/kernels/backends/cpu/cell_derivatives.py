"""Compiles the tangent and the adjoint of a mechanism's chemistry on demand: who asks for neither never waits."""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from airshed.kernels.backends.cpu.cell_kernel import FLAGS, ChemistryKernel
from airshed.kernels.backends.cpu.compiled import CompiledKernel, Signatures, compile_and_load, timed
from airshed.kernels.cells.adjoint import emit_reverse
from airshed.kernels.cells.emit import ChemistryShape, ChemistrySource
from airshed.kernels.cells.tangent import emit_tangent

_TANGENT: Final[Signatures] = {
    "airshed_along_bytes": (ctypes.c_int64, [ctypes.c_int64]),
    "airshed_along": (None, [*[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 2, ctypes.c_void_p]),
}
_REVERSE: Final[Signatures] = {
    "airshed_reversed_bytes": (ctypes.c_int64, [ctypes.c_int64] * 2),
    "airshed_reverse": (None, [*[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 2, ctypes.c_void_p]),
}


@dataclass(frozen=True)
class ChemistryDerivative(CompiledKernel[ChemistryShape, ChemistrySource]):
    """The tangent or the adjoint of accepted steps as compiled code."""


def compile_tangent(forward: ChemistryKernel) -> ChemistryDerivative:
    """Return the tangent of the steps of a kernel; raises KernelError without a compiler, or for code it refuses."""
    return _compiled(forward, "tangent", lambda: emit_tangent(forward.network, forward.source), _TANGENT)


def compile_reverse(forward: ChemistryKernel) -> ChemistryDerivative:
    """Return the adjoint of the steps of a kernel; raises KernelError without a compiler, or for code it refuses."""
    return _compiled(forward, "reverse", lambda: emit_reverse(forward.network, forward.shape, forward.source), _REVERSE)


def _compiled(
    forward: ChemistryKernel, what: str, make: Callable[[], ChemistrySource], signatures: Signatures
) -> ChemistryDerivative:
    seconds: dict[str, float] = {}
    source = timed(seconds, "emit", make)
    name = f"{forward.network.name}-cells-{forward.shape.precision}-{what}"
    library, functions = compile_and_load(source.text, signatures, seconds, name=name, extra_flags=FLAGS)
    return ChemistryDerivative(forward.network, forward.shape, source, library, functions, seconds)
