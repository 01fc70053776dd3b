"""The inputs of the pasture model: a prepared store of classes, state and weather, stations, or weather made up.

    inputs = open_inputs("queensland.inputs")            # what does not change with time; see `Inputs`
    domain = Domain.even(inputs.grid.axes, ranks)        # packed land cells, cut by count
    weather = inputs.stream(domain.box, ranks)           # read ahead; see `Stream`
    weather.day(n)                                       # {"rain": (cells,), ..., "day_of_year": 32.0, "month": 2.0}
    weather.days(n, 8)                                   # {"rain": (8, cells), ..., "day_of_year": (8,), ...}
    inputs.weather(domain.box, first_day, days)          # the same, without reading ahead

`airshed pasture prepare` makes a store (`store`); `synthetic_inputs` are inputs of the same interface without files.
"""

from pathlib import Path

from airshed.models.pasture.inputs.contents import Inputs
from airshed.models.pasture.inputs.stations import RECIPE, inputs_of_stations
from airshed.models.pasture.inputs.store import MANIFEST, open_store

__all__ = ["Inputs", "open_inputs"]


def open_inputs(path: Path | str) -> Inputs:
    """Return the inputs in a folder; the weather is read, or made of that of stations, when it is requested.

    A folder with `stations.toml` holds stations (see `stations`); any other must be a store, as `airshed pasture
    prepare` makes it. Both give the same values.
    Raises DataError, with the file and what to do, for what is missing, truncated, damaged or no such folder.
    """
    path = Path(path)
    if (path / RECIPE).is_file() and not (path / MANIFEST).exists():
        return inputs_of_stations(path).inputs
    return open_store(path)
