"""Airshed: a three-dimensional air-quality model; ``Case``, ``Simulation``, ``box``, ``open_run`` for its users."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from airshed.core.version import __version__ as __version__
from airshed.runtime.registry import register

if TYPE_CHECKING:
    from airshed import adjoint as adjoint
    from airshed import assimilate as assimilate
    from airshed import evaluate as evaluate
    from airshed import mechanism as mechanism
    from airshed.air.boundary.field import face_cells as face_cells
    from airshed.air.box.run import box as box
    from airshed.air.case import Case as Case
    from airshed.air.groups import only_transports as only_transports
    from airshed.air.groups import transport_for_others as transport_for_others
    from airshed.io.results import open_run as open_run
    from airshed.runtime.registry import load_case as load_case
    from airshed.runtime.simulation import Simulation as Simulation
    from airshed.serve.client import connect as connect

register("air", "airshed.air.kind:KIND", default=True)
register("box", "airshed.air.box.model:KIND")
register("pasture", "airshed.pasture.kind:KIND")

_LAZY = {
    "Case": "airshed.air.case", "Simulation": "airshed.runtime.simulation", "box": "airshed.air.box.run",
    "face_cells": "airshed.air.boundary.field", "connect": "airshed.serve.client",
    "open_run": "airshed.io.results", "load_case": "airshed.runtime.registry",
    "only_transports": "airshed.air.groups", "transport_for_others": "airshed.air.groups",
}  # fmt: skip
_PACKAGES = ("adjoint", "assimilate", "evaluate", "mechanism")


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
