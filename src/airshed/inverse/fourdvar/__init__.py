"""4D-Var: estimate the emission factors and initial state that best fit the observations of a window.

:mod:`airshed.inverse.fourdvar.cost` has the protocol of a model;
docs/how-to/assimilation.md describes the cost function.
"""

from airshed.inverse.fourdvar.control import Block, ControlVector, Covariance
from airshed.inverse.fourdvar.cost import FieldModel, Observed, Sampled
from airshed.inverse.fourdvar.minimise import Analysis, FourDVar, Stop
from airshed.inverse.fourdvar.operator import Domain, Operator
from airshed.observations.observation import Observations

__all__ = [
    "Analysis", "Block", "ControlVector", "Covariance", "Domain", "FieldModel", "FourDVar", "Observations", "Observed",
    "Operator", "Sampled", "Stop",
]  # fmt: skip
