"""Initial and boundary concentrations: profiles of clean air in the model's species, and datasets of the user."""

from airshed.models.air.boundary.initial import initial_from_dataset, record_of_a_run
from airshed.models.air.boundary.profiles import ZERO, BoundaryProfiles

__all__ = ["ZERO", "BoundaryProfiles", "initial_from_dataset", "record_of_a_run"]
