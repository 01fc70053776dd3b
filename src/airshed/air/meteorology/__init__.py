"""Meteorological forcing: from data on its own grid to the state of the air on the model's grid."""

from airshed.air.meteorology.dataset import DatasetMeteorology
from airshed.air.meteorology.function import CallableMeteorology, Calls
from airshed.air.meteorology.state import Meteorology, MetState, interpolate
from airshed.air.meteorology.wrapped import RepeatedDay, WindowOf

__all__ = [
    "CallableMeteorology",
    "Calls",
    "DatasetMeteorology",
    "MetState",
    "Meteorology",
    "RepeatedDay",
    "WindowOf",
    "interpolate",
]
