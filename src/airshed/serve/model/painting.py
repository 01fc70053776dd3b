"""Painting: set, add to or multiply the cells of a field within a window or a polygon of the map."""

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import AnyArray
from airshed.core.errors import CaseError
from airshed.core.text import suggestion
from airshed.grid.land import within
from airshed.grid.projected import MapProjection
from airshed.runtime.simulation import Simulation
from airshed.serve.protocol import types


def painted(simulation: Simulation, command: types.Paint) -> AnyArray:
    """Return the values of a field after a paint command; raises CaseError where no cell is inside.

    Collective over all ranks.
    """
    fields = simulation.model.fields
    if command.variable not in fields or not fields[command.variable].dims:
        raise CaseError(f"there is no field {command.variable!r} to paint; {suggestion(command.variable, fields)}")
    values = np.array(simulation.values(command.variable))
    dims = simulation.model.domain.axes.divided
    levelled = len(fields[command.variable].dims) > len(dims)
    if levelled and command.level is not None and command.level >= values.shape[0]:
        raise CaseError(f"{command.variable} has no level {command.level}; levels count from 0, at the ground")
    inside = _inside(simulation, command)
    if not inside.any():
        raise CaseError("the painted area contains no cell; paint a larger area")
    part = values[command.level] if levelled and command.level is not None else values
    part[..., inside] = _changed(part[..., inside], command)
    return values


def _changed(values: AnyArray, command: types.Paint) -> AnyArray:
    match command.operation:
        case "set":
            return np.full_like(values, command.value)
        case "add":
            return np.maximum(values + command.value, 0.0) if values.min(initial=0.0) >= 0.0 else values + command.value
        case "multiply":
            return values * command.value


def _inside(simulation: Simulation, command: types.Paint) -> npt.NDArray[np.bool_]:
    """Return a mask of the painted cells, along the dimensions that ranks divide."""
    axes = simulation.model.domain.axes
    places = {each.name: each for each in axes.coordinates}
    if not {"lat", "lon"} <= set(places):
        raise CaseError("this model has no map to paint on; set numbers instead")
    if (command.window is None) == (command.polygon is None):
        raise CaseError("give a window or a polygon, one of the two")
    lat, lon = places["lat"].values, places["lon"].values
    packed = places["lat"].dims == places["lon"].dims and not axes.mapping
    ring = np.array([*(command.polygon or []), *(command.polygon or [])[:1]], np.float64).reshape(-1, 2)
    if axes.mapping:
        rows, columns = places["y"].values, places["x"].values
        ring = np.stack(MapProjection(axes.mapping).from_lonlat(*ring.T), axis=1)
    else:
        rows, columns = (np.unique(lat), np.unique(lon)) if packed else (lat, lon)
    if command.window is not None:
        first, last, left, right = command.window
        mask = np.zeros((len(rows), len(columns)), np.bool_)
        mask[first:last, left:right] = True
    else:
        mask = within([[ring]], rows, columns)
    if not packed:
        return mask
    return np.asarray(mask[np.searchsorted(rows, lat), np.searchsorted(columns, lon)])
