"""4D-Var: emission factors and initial states by which a model is nearest to observations of a window.

:mod:`seam` says what a model has to be; docs/assimilation.md tells what is minimised.
"""

from airshed.assimilate.control import Block, ControlVector
from airshed.assimilate.covariance import Covariance
from airshed.assimilate.fourdvar import Analysis, FourDVar, Stop
from airshed.assimilate.operator import Domain, Operator
from airshed.assimilate.seam import FieldModel, Observed, Sampled
from airshed.observations.observation import Observations

__all__ = [
    "Analysis", "Block", "ControlVector", "Covariance", "Domain", "FieldModel", "FourDVar", "Observations", "Observed",
    "Operator", "Sampled", "Stop",
]  # fmt: skip
