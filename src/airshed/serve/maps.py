"""Maps of a session: pictures, coast lines, borders and cities, for clients without access to other servers."""

from typing import Literal

import numpy as np

from airshed.plot.geography import Area, cities, coasts_and_borders
from airshed.serve import types
from airshed.serve.frames import encode, frame
from airshed.serve.published import Copy, Selection, Session, frame_header
from airshed.serve.requests import NotThereError

Lines = Literal["coast", "borders"]
_AROUND = 1.0
"""Margin [degrees] of lines around the map."""

_CITIES = 400


def area_of(grid: types.GridInfo, around: float = 0.0) -> Area:
    """Return the bounds of a map [degrees]; raises NotThereError for a model without a map."""
    if grid.kind == "plain":
        raise NotThereError("this model has no map, and thus no coast lines and cities")
    places = {each.name: each for each in grid.coordinates}
    west, east = _ends(places["lon"], around)
    south, north = _ends(places["lat"], around)
    return Area(west, east, max(south, -90.0), min(north, 90.0))


def _ends(coordinate: types.Coordinate, around: float) -> tuple[float, float]:
    values = coordinate.values
    half = 0.5 * abs(values[-1] - values[0]) / max(len(values) - 1, 1)
    low, high = min(values[0], values[-1]) - half, max(values[0], values[-1]) + half
    return low - around, high + around


def lines_frame(session: Session, which: Lines) -> bytes:
    """Return coasts or borders as a frame: points (lon, lat) [degrees], a row of NaN between lines."""
    coasts, borders = coasts_and_borders(area_of(session.shape.grid, _AROUND))
    between = np.full((1, 2), np.nan)
    parts = [part for line in (coasts if which == "coast" else borders) for part in (line, between)]
    points = np.concatenate(parts[:-1] or [np.zeros((0, 2))]).astype(np.float32)
    payload, dims = encode(points, "float32"), ["point", "lonlat"]
    return frame(frame_header(session.state, which, "degrees", dims, points.shape, payload, Selection()), payload.data)


def cities_of(session: Session) -> list[types.City]:
    """Return the largest cities of the map, in descending order of population."""
    found = cities(area_of(session.shape.grid))[:_CITIES]
    return [
        types.City(name=each.name, lon=each.longitude, lat=each.latitude, population=each.population) for each in found
    ]


def picture_of(session: Session, copy: Copy, level: int, other: str | None) -> bytes:
    """Return a level of a field as PNG; raises NotThereError for a field without a map."""
    from airshed.plot.cells import MapCells
    from airshed.plot.state import Words, draw_state

    grid, variable = session.shape.grid, copy.variable
    if grid.kind == "plain" or len(variable.shape) < 2:
        raise NotThereError(f"{variable.name} has no map; request its data")
    places = {each.name: np.array(each.values) for each in grid.coordinates}
    values = np.asarray(copy.values if copy.values.ndim == 2 else copy.values[level], np.float64)
    high = f"{grid.levels[level]:.0f} m above the ground, " if copy.values.ndim > 2 and grid.levels else ""
    minus = "" if other is None else f" minus {other}"
    title = f"{variable.name}{minus}: {variable.text}"
    when = copy.state.time[:16].replace("T", " ")
    words = Words(variable.name, variable.unit, title, f"{session.state.title}, {high}{when} UTC")
    return draw_state(MapCells.around(places["lon"], places["lat"]), values, words)
