"""The case file of the air-quality model: its settings, and how they are read, checked and shown."""

from airshed.models.air.case.case import Case, check_receptor, check_species
from airshed.models.air.case.estimate import case_notices, idle_settings

__all__ = ["Case", "case_notices", "check_receptor", "check_species", "idle_settings"]
