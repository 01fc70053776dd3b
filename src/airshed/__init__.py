"""Airshed: a parallel, differentiable and steerable model of air quality.

The public names are in ``airshed.__all__``; docs/how-to/library.md describes them. They are imported on first use,
so that ``import airshed`` takes a few hundredths of a second.
"""

import gc as _gc
import sys as _sys
from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

from airshed.core.version import __version__ as __version__
from airshed.runtime.registry import register as _register

if TYPE_CHECKING:
    from airshed import bmi as bmi
    from airshed import evaluate as evaluate
    from airshed import inverse as inverse
    from airshed import mechanism as mechanism
    from airshed import plot as plot
    from airshed.core.errors import AirshedError as AirshedError
    from airshed.io.results import open_run as open_run
    from airshed.models.air.boundary.field import face_cells as face_cells
    from airshed.models.air.case import Case as Case
    from airshed.models.air.kind import only_transports as only_transports
    from airshed.models.air.kind import transport_for_others as transport_for_others
    from airshed.models.box.run import box as box
    from airshed.runtime.registry import load_case as load_case
    from airshed.runtime.simulation import Simulation as Simulation
    from airshed.serve.client import connect as connect

__all__ = [
    "AirshedError", "Case", "Simulation", "__version__", "bmi", "box", "connect", "evaluate", "face_cells", "inverse",
    "load_case", "mechanism", "only_transports", "open_run", "plot", "transport_for_others",
]  # fmt: skip

_register("air", "airshed.models.air.kind:KIND", default=True)
_register("box", "airshed.models.box.model:KIND")
_register("pasture", "airshed.models.pasture.model:KIND")

if "xarray" in _sys.modules:  # its arrays get `.airshed`, see io/accessor.py
    _import_module("airshed.io.accessor")

_MODULES = {
    "AirshedError": "core.errors", "Case": "models.air.case", "Simulation": "runtime.simulation",
    "box": "models.box.run", "connect": "serve.client", "face_cells": "models.air.boundary.field",
    "load_case": "runtime.registry", "only_transports": "models.air.kind", "open_run": "io.results",
    "transport_for_others": "models.air.kind",
}  # fmt: skip
"""Module of each public class and function; the other public names are packages."""


def __getattr__(name: str) -> _Any:
    """Import a public name on first use."""
    if name not in __all__:
        raise AttributeError(f"module 'airshed' has no attribute {name!r}")
    # Imports create hundreds of thousands of objects, and nearly all of them live until exit.
    enabled = _gc.isenabled()
    _gc.disable()
    try:
        module = _import_module(f"airshed.{_MODULES.get(name, name)}")
        return getattr(module, name) if name in _MODULES else module
    finally:
        if enabled:
            _gc.enable()


def __dir__() -> list[str]:
    return sorted(__all__)
