"""Dry deposition: what the surface takes out of the lowest layer, as velocities by species and place."""

from airshed.models.air.deposition.dry import SCHEMES, DryDeposition
from airshed.models.air.deposition.tables import season

__all__ = ["SCHEMES", "DryDeposition", "season"]
