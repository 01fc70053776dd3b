"""Adjoint sensitivities: gradients of receptors and costs, 4D-Var, and tests of the derivatives."""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from airshed.inverse.cost import Cost, CostOfFunction
from airshed.inverse.gradient import Gradient, Options, gradient
from airshed.inverse.receptors.box import box_sensitivity
from airshed.inverse.receptors.receptor import Receptor
from airshed.inverse.receptors.sensitivity import sensitivity
from airshed.inverse.reverse.direction import Direction
from airshed.inverse.verify.derivative_tests import dot_product_test, finite_difference_check, taylor_test
from airshed.inverse.verify.replay import tangent

__all__ = [
    "Cost", "CostOfFunction", "Direction", "Gradient", "Options", "Receptor", "box_sensitivity",
    "dot_product_test", "finite_difference_check", "gradient", "sensitivity", "tangent", "taylor_test",
]  # fmt: skip


def __getattr__(name: str) -> ModuleType:
    """Import a module of this package when it is first used: ``airshed.inverse.fourdvar``."""
    if name.startswith("_") or find_spec(f"{__name__}.{name}") is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
