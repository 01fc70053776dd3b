"""Maps of a session: pictures, land, coasts, borders, graticule and cities, for clients without other servers."""

from typing import Literal

import numpy as np

from airshed.grid.coordinates import faces_around
from airshed.grid.projected import MapProjection
from airshed.grid.world import ENGLISH
from airshed.plot.basemap import graticule, near, surroundings
from airshed.plot.cells import MapCells
from airshed.plot.geography import City, cities
from airshed.serve.fields.published import Copy, Selection, Session, frame_header
from airshed.serve.protocol import types
from airshed.serve.protocol.errors import NotThereError
from airshed.serve.protocol.frames import encode, frame

Lines = Literal["land", "coast", "borders"]
_CITIES = 400
"""Most cities of the map, and of its surroundings."""
_ALSO = {english: other for other, english in ENGLISH.items()}


def cells_of(grid: types.GridInfo) -> MapCells:
    """Return the cells of a map; raises NotThereError for a model without a map."""
    if grid.kind == "plain":
        raise NotThereError("this model has no map, and thus no coast lines and cities")
    lines = {each.name: np.array(each.values, np.float64) for each in grid.coordinates}
    if grid.kind != "projected":
        return MapCells.around(lines["lon"], lines["lat"])
    attributes = {name: tuple(each) if isinstance(each, list) else each for name, each in grid.projection.items()}
    y, x = (faces_around(lines[name]) for name in ("y", "x"))
    return MapCells(x, y, MapProjection(attributes))


def lines_frame(session: Session, which: Lines) -> bytes:
    """Return closed outlines of land, coasts or borders as a frame of points, with a row of NaN between lines.

    They are in the coordinates of the map, and continue beyond it.
    """
    area = cells_of(session.shape.grid).area
    found = surroundings(area)
    between = np.full((1, 2), np.nan)
    lines = {"land": found.land, "coast": found.coasts, "borders": found.borders}[which]
    parts = [part for line in lines for part in (line, between)]
    points = np.concatenate(parts[:-1] or [np.zeros((0, 2))]).astype(np.float32)
    payload, dims = encode(points, "float32"), ["point", "xy" if area.is_projected else "lonlat"]
    header = frame_header(session.state, which, area.mapping.unit, dims, points.shape, payload, Selection())
    return frame(header, payload.data)


def graticule_of(session: Session) -> list[types.GraticuleLine]:
    """Return meridians and parallels of a projected map; raises NotThereError for other maps."""
    area = cells_of(session.shape.grid).area
    if not area.is_projected:
        raise NotThereError("meridians and parallels of this map are straight lines; see its description")
    return [
        types.GraticuleLine(
            kind="meridian" if each.is_meridian else "parallel", degrees=each.degrees,
            points=[(float(x), float(y)) for x, y in each.points],
        )
        for each in graticule(area)
    ]  # fmt: skip


def places_frame(session: Session) -> bytes:
    """Return longitude, latitude, and the angle from east to x [degrees] of each cell of a projected map as a frame."""
    cells = cells_of(session.shape.grid)
    if not cells.is_projected:
        raise NotThereError("the rows and columns of this map have a latitude and a longitude; see its description")
    planes = np.stack([*cells.places, np.degrees(cells.rotation)]).astype(np.float32)
    payload = encode(planes, "float32")
    dims = ["lonlatangle", "y", "x"]
    header = frame_header(session.state, "places", "degrees", dims, planes.shape, payload, Selection())
    return frame(header, payload.data)


def cities_of(session: Session) -> list[types.City]:
    """Return the largest cities of the map, in descending order of population; then those of its surroundings."""
    area = cells_of(session.shape.grid).area
    inside = cities(area)
    known = {(each.longitude % 360.0, each.latitude) for each in inside}
    around = [each for each in cities(near(area)) if (each.longitude % 360.0, each.latitude) not in known]
    found: list[City] = [*inside[:_CITIES], *around[:_CITIES]]
    return [
        types.City(
            name=each.name,
            also=_ALSO.get(each.name, ""),
            lon=each.longitude,
            lat=each.latitude,
            x=each.x,
            y=each.y,
            population=each.population,
        )
        for each in found
    ]


def picture_of(session: Session, copy: Copy, level: int, other: str | None) -> bytes:
    """Return a level of a field as PNG; raises NotThereError for a field without a map."""
    from airshed.plot.state import Words, draw_state

    grid, variable = session.shape.grid, copy.variable
    if grid.kind == "plain" or len(variable.shape) < 2:
        raise NotThereError(f"{variable.name} has no map; request its data")
    values = np.asarray(copy.values if copy.values.ndim == 2 else copy.values[level], np.float64)
    high = f"{grid.levels[level]:.0f} m above the ground, " if copy.values.ndim > 2 and grid.levels else ""
    minus = "" if other is None else f" minus {other}"
    title = f"{variable.name}{minus}: {variable.text}"
    when = copy.state.time[:16].replace("T", " ")
    words = Words(variable.name, variable.unit, title, f"{session.state.title}, {high}{when} UTC")
    return draw_state(cells_of(grid), values, words)
