"""Initial and boundary concentrations: profiles of clean air, files of other models, outer runs, and Datasets."""

from airshed.models.air.boundary.initial import initial_from_dataset, record_of_a_run
from airshed.models.air.boundary.profiles import ZERO, BoundaryProfiles

__all__ = ["ZERO", "BoundaryProfiles", "initial_from_dataset", "record_of_a_run"]
