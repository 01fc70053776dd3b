"""Exact gradients: adjoints of the steps that ran, sensitivities of receptors, and tools that verify both."""

from airshed.inverse.box import box_sensitivity
from airshed.inverse.cost import Cost, CostOfFunction
from airshed.inverse.differences import finite_difference_check
from airshed.inverse.direction import Direction
from airshed.inverse.dot_products import dot_product_test
from airshed.inverse.gradient import Gradient, gradient
from airshed.inverse.options import Options
from airshed.inverse.receptor import Receptor
from airshed.inverse.sensitivity import sensitivity
from airshed.inverse.tangent import tangent
from airshed.inverse.taylor import taylor_test

__all__ = [
    "Cost", "CostOfFunction", "Direction", "Gradient", "Options", "Receptor", "box_sensitivity",
    "dot_product_test", "finite_difference_check", "gradient", "sensitivity", "tangent", "taylor_test",
]  # fmt: skip
