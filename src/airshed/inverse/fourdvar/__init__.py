"""4D-Var: estimate the emission factors and initial state that best fit the observations of a window.

The protocol of a model is in :mod:`airshed.inverse.fourdvar.cost`.
"""

from airshed.inverse.fourdvar.control import Block, ControlVector, Covariance
from airshed.inverse.fourdvar.cost import FieldModel, ObservationModel, SampledFieldModel
from airshed.inverse.fourdvar.minimise import Analysis, FourDVar, Stop
from airshed.inverse.fourdvar.operator import Domain, ObservationOperator
from airshed.observations.observation import Observations

__all__ = [
    "Analysis", "Block", "ControlVector", "Covariance", "Domain", "FieldModel", "FourDVar", "ObservationModel",
    "ObservationOperator", "Observations", "SampledFieldModel", "Stop",
]  # fmt: skip
