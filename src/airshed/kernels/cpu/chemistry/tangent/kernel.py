"""Compiles the tangent of a mechanism's chemistry on demand: who asks for no change never waits for it."""

import ctypes
from dataclasses import dataclass
from typing import Final

from airshed.core.errors import KernelError
from airshed.kernels.cpu.chemistry.emit import ChemistryShape, ChemistrySource
from airshed.kernels.cpu.chemistry.kernel import FLAGS, ChemistryKernel
from airshed.kernels.cpu.chemistry.tangent.emit import emit_tangent
from airshed.kernels.cpu.compiled import CompiledKernel, Signatures, compile_and_load, timed

_SIGNATURES: Final[Signatures] = {
    "airshed_along_bytes": (ctypes.c_int64, [ctypes.c_int64]),
    "airshed_along": (None, [*[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 2, ctypes.c_void_p]),
}


@dataclass(frozen=True)
class TangentChemistry(CompiledKernel[ChemistryShape, ChemistrySource]):
    """Accepted steps with changes of what they are given, as compiled code."""


def compile_tangent(forward: ChemistryKernel) -> TangentChemistry:
    """Return the tangent of the steps of a kernel in double precision.

    Raises KernelError for another precision, when there is no compiler, or when it refuses the code.
    """
    network, shape = forward.network, forward.shape
    if shape.precision != "double":
        raise KernelError("chemistry has a tangent in double precision alone")
    seconds: dict[str, float] = {}
    source = timed(seconds, "emit", lambda: emit_tangent(network, forward.source))
    name = f"{network.name}-cells-{shape.precision}-tangent"
    library, functions = compile_and_load(source.text, _SIGNATURES, seconds, name=name, extra_flags=FLAGS)
    return TangentChemistry(network, shape, source, library, functions, seconds)
