"""Names and times the stages of a compiler pipeline."""

import time
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def timed(seconds: dict[str, float], stage: str, work: Callable[[], Result]) -> Result:
    """Do the work of a stage and note its wall time [s] under its name."""
    began = time.perf_counter()
    result = work()
    seconds[stage] = time.perf_counter() - began
    return result
