"""Observations of stations and satellites: file layouts, screening, and the selection for a grid and a time window.

`airshed assimilate` and `airshed evaluate` read their observations here.
"""

from airshed.observations.observation import ErrorModel, Kernel, Observation, Observations
from airshed.observations.selection import ObservationSelection, RejectedRow, SelectionRules

__all__ = [
    "ErrorModel", "Kernel", "Observation", "ObservationSelection", "Observations", "RejectedRow", "SelectionRules",
]  # fmt: skip
