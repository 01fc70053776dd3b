"""Compiles the adjoint of a mechanism's chemistry on demand: boxes that ask for no gradient never wait for it."""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from airshed.core.errors import KernelError
from airshed.kernels.cpu.chemistry.emit import ChemistryShape, ChemistrySource
from airshed.kernels.cpu.chemistry.kernel import FLAGS, ChemistryKernel
from airshed.kernels.cpu.chemistry.reverse.emit import emit_reverse
from airshed.kernels.cpu.compiled import CompiledKernel, Signatures, compile_and_load, timed

_SIGNATURES: Final[Signatures] = {
    "airshed_reversed_bytes": (ctypes.c_int64, [ctypes.c_int64] * 2),
    "airshed_reverse": (None, [*[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 2, ctypes.c_void_p]),
}


@dataclass(frozen=True)
class ReverseChemistry(CompiledKernel[ChemistryShape, ChemistrySource]):
    """The adjoint of accepted steps as compiled code."""


def compile_reverse(forward: ChemistryKernel) -> ReverseChemistry:
    """Return the adjoint of the steps of a kernel in double precision.

    Raises KernelError for another precision, when there is no compiler, or when it refuses the code.
    """
    network, shape = forward.network, forward.shape
    if shape.precision != "double":
        raise KernelError("chemistry has an adjoint in double precision alone")
    seconds: dict[str, float] = {}
    make: Callable[[], ChemistrySource] = lambda: emit_reverse(network, shape, forward.source)  # noqa: E731
    source = timed(seconds, "emit", make)
    name = f"{network.name}-cells-{shape.precision}-reverse"
    library, functions = compile_and_load(source.text, _SIGNATURES, seconds, name=name, extra_flags=FLAGS)
    return ReverseChemistry(network, shape, source, library, functions, seconds)
