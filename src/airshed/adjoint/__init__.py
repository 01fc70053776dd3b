"""Exact gradients: adjoints of the steps that ran, sensitivities of receptors, and tools that verify both."""

from airshed.adjoint.box import box_sensitivity
from airshed.adjoint.cost import Cost, CostOfFunction
from airshed.adjoint.gradient import Gradient, gradient
from airshed.adjoint.options import Options
from airshed.adjoint.receptor import Receptor
from airshed.adjoint.sensitivity import sensitivity

__all__ = ["Cost", "CostOfFunction", "Gradient", "Options", "Receptor", "box_sensitivity", "gradient", "sensitivity"]
