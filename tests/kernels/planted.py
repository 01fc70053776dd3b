"""Errors that tests plant in generated code: all are compiled at once, and one is selected while the code runs."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

DECLARATION = """\
#ifndef AIRSHED_PLANTED
#define AIRSHED_PLANTED
extern "C" { __attribute__((weak)) volatile int airshed_planted = -1; }
#endif
"""
"""C++ text in front of code with planted errors: ``airshed_planted`` is the number of the active error."""


def without(number: int, statement: str) -> str:
    """Return a statement of C++ that is left out where the error of a number acts."""
    return f"if (airshed_planted != {number}) {statement}"


@contextmanager
def acting(functions: Any, number: int) -> Iterator[None]:
    """Activate a planted error in a loaded library."""
    selected = ctypes.c_int.in_dll(functions, "airshed_planted")
    selected.value = number
    try:
        yield
    finally:
        selected.value = -1
