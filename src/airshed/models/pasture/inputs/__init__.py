"""Inputs of the pasture model: a prepared store of classes, state and weather, stations, or synthetic weather.

    inputs = open_inputs("queensland.inputs")            # constant inputs; see `Inputs`
    domain = Domain.even(inputs.grid.axes, ranks)        # packed land cells, divided by count
    weather = inputs.stream(domain.box, ranks)           # read ahead; see `Stream`
    weather.day(n)                                       # {"rain": (cells,), ..., "day_of_year": 32.0, "month": 2.0}
    weather.days(n, 8)                                   # {"rain": (8, cells), ..., "day_of_year": (8,), ...}
    inputs.weather(domain.box, first_day, days)          # the same, without reading ahead

`airshed pasture prepare` writes a store (`store`); `synthetic_inputs` have the same interface without files.
"""

from pathlib import Path

from airshed.models.pasture.inputs.contents import Inputs
from airshed.models.pasture.inputs.stations import RECIPE, inputs_from_stations
from airshed.models.pasture.inputs.store import MANIFEST, open_store

__all__ = ["Inputs", "open_inputs"]


def open_inputs(path: Path | str) -> Inputs:
    """Return the inputs in a folder; the weather is read or interpolated from stations when it is requested.

    A folder with `stations.toml` contains stations (see `stations`); any other must be a store, see `airshed pasture
    prepare`. Both give the same values. Raises DataError, with the file and advice, for missing, truncated or damaged
    files and other folders.
    """
    path = Path(path)
    if (path / RECIPE).is_file() and not (path / MANIFEST).exists():
        return inputs_from_stations(path).inputs
    return open_store(path)
