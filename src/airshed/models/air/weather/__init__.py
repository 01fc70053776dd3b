"""Meteorological forcing: from data on its own grid to the state of the air on the model's grid."""

from airshed.models.air.weather.dataset import DatasetMeteorology
from airshed.models.air.weather.function import CallableMeteorology, Calls
from airshed.models.air.weather.state import Meteorology, MetState, interpolate
from airshed.models.air.weather.wrapped import RepeatedDay, WindowOf

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
