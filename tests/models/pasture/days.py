"""Days of the pasture model for tests: a model with some options, parameters of cells, states, and results."""

from collections.abc import Mapping
from typing import Any

import numpy as np

import airshed.models.pasture.processes
from airshed.models.pasture.classes import Land, cell_parameters, read_class
from airshed.models.pasture.fields import LAYERS, STATE, cell_fields
from airshed.process.discovery import processes_of, section_of
from airshed.process.points import Points

PROCESSES = processes_of(airshed.models.pasture.processes)
_MODELS: dict[str, Points] = {}
HUMID = ("vapour_pressure_deficit",)

DAY = {
    "rain": 0.0, "pan_evaporation": 6.0, "radiation": 20.0, "max_temperature": 34.0, "min_temperature": 22.0,
    "vapour_pressure_deficit": 15.0, "day_of_year": 20.0, "month": 1.0,
}  # fmt: skip
"""A warm day of summer."""


def model(optional: tuple[str, ...] = HUMID, only: tuple[str, ...] = (), **settings: Mapping[str, Any]) -> Points:
    """Return a model of all processes or of those in `only`; weather has the deficit unless settings change it."""
    settings = {"humidity": {"given": "deficit"}, **settings}
    key = repr((optional, sorted(only), settings))
    if key not in _MODELS:
        chosen = [each for each in PROCESSES if not only or each.__name__ in only]
        acting = [each(section_of(each)(**settings.get(each.section, {}))) for each in chosen]
        _MODELS[key] = Points(acting, cell_fields(optional))
    return _MODELS[key]


def land(soil: str = "site67", pasture: str = "site67", **changes: Any) -> dict[str, Any]:
    """Return the parameters of a cell, with some changed."""
    found = cell_parameters(Land([read_class("soil", {"set": soil})], [read_class("pasture", {"set": pasture})]), 0, 0)
    return {**found, **changes}


def start(parameters: Mapping[str, Any], wetness: float = 0.5, **changes: float) -> dict[str, Any]:
    """Return a state without plants; each layer has a fraction of the water between its limits."""
    state: dict[str, Any] = {spec.name: 0.0 for spec in STATE}
    for layer in LAYERS:
        least, most = parameters[f"lower_limit_{layer}"], parameters[f"drained_upper_limit_{layer}"]
        state[f"water_{layer}"] = least + wetness * (most - least)
    return {**state, **changes}


def day(points: Points, parameters: Mapping[str, Any], state: Mapping[str, Any], **weather: Any) -> dict[str, Any]:
    """Return the state and all fluxes after a day."""
    return {**state, **points.reference({**DAY, **weather, **parameters, **state, **points.numbers})}


def plain(values: Mapping[str, Any], *names: str) -> list[float]:
    """Return some of the values as numbers."""
    return [float(np.asarray(values[name])) for name in names]
