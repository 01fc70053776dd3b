"""A map of a session as a picture."""

import numpy as np

from airshed.plot.state import Cells, Words, draw_state
from airshed.serve.asking import NotThereError
from airshed.serve.session import Copy, Session


def picture_of(session: Session, copy: Copy, level: int, other: str | None) -> bytes:
    """Return a level of a field as PNG; raises NotThereError where it has no map."""
    grid, variable = session.shape.grid, copy.variable
    if grid.kind == "plain" or len(variable.shape) < 2:
        raise NotThereError(f"{variable.name} has no map; ask for its data")
    places = {each.name: np.array(each.values) for each in grid.coordinates}
    values = np.asarray(copy.values if copy.values.ndim == 2 else copy.values[level], np.float64)
    high = f"{grid.levels[level]:.0f} m above the ground, " if copy.values.ndim > 2 and grid.levels else ""
    less = "" if other is None else f" less {other}"
    title = f"{variable.name}{less}: {variable.text}"
    when = copy.state.time[:16].replace("T", " ")
    words = Words(variable.name, variable.unit, title, f"{session.state.title}, {high}{when} UTC")
    return draw_state(Cells(places["lon"], places["lat"]), values, words)
