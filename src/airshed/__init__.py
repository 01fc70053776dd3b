"""Airshed: a three-dimensional air-quality model; ``Case``, ``Simulation``, ``box``, ``open_run`` for its users."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from airshed.core.version import __version__ as __version__
from airshed.runtime.registry import register

if TYPE_CHECKING:
    from airshed import evaluate as evaluate
    from airshed import inverse as inverse
    from airshed import mechanism as mechanism
    from airshed.io.results import open_run as open_run
    from airshed.models.air.boundary.field import face_cells as face_cells
    from airshed.models.air.case import Case as Case
    from airshed.models.air.kind import only_transports as only_transports
    from airshed.models.air.kind import transport_for_others as transport_for_others
    from airshed.models.box.run import box as box
    from airshed.runtime.registry import load_case as load_case
    from airshed.runtime.simulation import Simulation as Simulation
    from airshed.serve.client import connect as connect

register("air", "airshed.models.air.kind:KIND", default=True)
register("box", "airshed.models.box.model:KIND")
register("pasture", "airshed.models.pasture.model:KIND")

_LAZY = {
    "Case": "airshed.models.air.case", "Simulation": "airshed.runtime.simulation", "box": "airshed.models.box.run",
    "face_cells": "airshed.models.air.boundary.field", "connect": "airshed.serve.client",
    "open_run": "airshed.io.results", "load_case": "airshed.runtime.registry",
    "only_transports": "airshed.models.air.kind", "transport_for_others": "airshed.models.air.kind",
}  # fmt: skip
_PACKAGES = ("evaluate", "inverse", "mechanism")


def __getattr__(name: str) -> Any:
    """Import what users ask for when they first do, so that ``import airshed`` stays light."""
    if name in _PACKAGES:
        with _without_collection():
            return import_module(f"airshed.{name}")
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
    return sorted([*globals(), *_LAZY, *_PACKAGES])
