"""Meteorological forcing: from data on its own grid to the state of the air on the model's grid."""

from airshed.models.air.weather.dataset import CallableMeteorology, Calls, DatasetMeteorology
from airshed.models.air.weather.state import Meteorology, MetState, RepeatedDay, WindowOf, interpolate

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
