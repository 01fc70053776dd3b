"""Exact gradients: adjoints of the steps that ran, sensitivities of receptors, and tools that verify both."""

from airshed.adjoint.box import box_sensitivity
from airshed.adjoint.cost import Cost, CostOfFunction
from airshed.adjoint.differences import finite_difference_check
from airshed.adjoint.direction import Direction
from airshed.adjoint.dot_products import dot_product_test
from airshed.adjoint.gradient import Gradient, gradient
from airshed.adjoint.options import Options
from airshed.adjoint.receptor import Receptor
from airshed.adjoint.sensitivity import sensitivity
from airshed.adjoint.tangent import tangent
from airshed.adjoint.taylor import taylor_test

__all__ = [
    "Cost", "CostOfFunction", "Direction", "Gradient", "Options", "Receptor", "box_sensitivity",
    "dot_product_test", "finite_difference_check", "gradient", "sensitivity", "tangent", "taylor_test",
]  # fmt: skip
