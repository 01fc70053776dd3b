"""Numbers in memory that processes share, by which one shows the others that what it wrote before is there."""

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Final

from airshed.kernels.compiled import Signatures, declared, keeping_lock
from airshed.kernels.template import header
from airshed.kernels.toolchain import build, load

_SIGNATURES: Final[Signatures] = {
    "airshed_show": (None, [ctypes.c_void_p, ctypes.c_int64]),
    "airshed_shown": (ctypes.c_int64, [ctypes.c_void_p, *[ctypes.c_int64] * 3]),
}


@cache
def _functions() -> tuple[Callable[..., None], Callable[..., int]]:
    functions = declared(load(build(header("words.hpp"), name="words")), _SIGNATURES)
    return keeping_lock(functions.airshed_show), keeping_lock(functions.airshed_shown)


def show(word: int, number: int) -> None:
    """Write a number to the address of a word of 8 bytes: whoever sees it sees all that was written before.

    Raises KernelError when there is no compiler.
    """
    _functions()[0](word, number)


def shown(first: int, count: int, apart: int, number: int) -> bool:
    """Return whether so many words, some bytes apart from the first address on, have all come to a number."""
    return bool(_functions()[1](first, count, apart, number))
