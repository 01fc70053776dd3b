"""Exact gradients: adjoints of the steps that ran, sensitivities of receptors, and tools that verify both."""

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
