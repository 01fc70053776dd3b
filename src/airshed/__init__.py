"""Airshed: a three-dimensional air-quality model; ``Case``, ``Simulation``, ``box``, ``open_run`` for its users."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from airshed.core.version import __version__ as __version__

if TYPE_CHECKING:
    from airshed.air.case import Case as Case
    from airshed.io.results import open_run as open_run
    from airshed.runtime.box import box as box
    from airshed.runtime.simulation import Simulation as Simulation
    from airshed.runtime.two_groups import only_moves as only_moves
    from airshed.runtime.two_groups import serve as serve

_LAZY = {
    "Case": "airshed.air.case", "Simulation": "airshed.runtime.simulation", "box": "airshed.runtime.box",
    "open_run": "airshed.io.results", "only_moves": "airshed.runtime.two_groups", "serve": "airshed.runtime.two_groups",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import the user's classes when they are first asked for, so that ``import airshed`` stays light."""
    if name in _LAZY:
        with _without_collection():
            return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'airshed' has no attribute {name!r}")


@contextmanager
def _without_collection() -> Iterator[None]:
    """Look for no garbage meanwhile: imports make hundreds of thousands of objects, and nearly all of them stay."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def __dir__() -> list[str]:
    return sorted([*globals(), *_LAZY])
