"""Dry deposition: uptake of gases and particles by the ground."""

from airshed.models.air.processes.dry_deposition.velocity import DryDeposition

__all__ = ["DryDeposition"]
