"""Meteorological forcing: input data, interpolated to the model grid, as the state of the air."""

from airshed.models.air.weather.dataset import CallableMeteorology, Calls, DatasetMeteorology
from airshed.models.air.weather.state import Meteorology, MeteorologyWindow, MetState, RepeatedDay, interpolate

__all__ = [
    "CallableMeteorology",
    "Calls",
    "DatasetMeteorology",
    "MetState",
    "Meteorology",
    "MeteorologyWindow",
    "RepeatedDay",
    "interpolate",
]
