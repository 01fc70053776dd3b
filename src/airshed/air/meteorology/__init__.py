"""Meteorological forcing: from data on its own grid to the state of the air on the model's grid."""

from airshed.air.meteorology.series import RepeatedDay
from airshed.air.meteorology.state import Meteorology, MetState, interpolate

__all__ = ["MetState", "Meteorology", "RepeatedDay", "interpolate"]
