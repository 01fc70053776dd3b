"""The case file of the air-quality model: its sections, validation and display."""

from airshed.models.air.case.case import Case
from airshed.models.air.case.estimate import case_notices, idle_settings
from airshed.models.air.case.species import check_receptor, check_species

__all__ = ["Case", "case_notices", "check_receptor", "check_species", "idle_settings"]
