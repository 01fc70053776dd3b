"""The inputs of the pasture model: a prepared store of classes, state and weather, stations, or weather made up.

    inputs = open_inputs("queensland.inputs")            # what does not change with time; see `Inputs`
    domain = Domain.even(inputs.grid.axes, ranks)        # packed land cells, cut by count
    weather = inputs.stream(domain.box, ranks)           # read ahead; see `Stream`
    weather.day(n)                                       # {"rain": (cells,), ..., "day_of_year": 32.0, "month": 2.0}
    weather.days(n, 8)                                   # {"rain": (8, cells), ..., "day_of_year": (8,), ...}
    inputs.weather(domain.box, first_day, days)          # the same, without reading ahead

`airshed pasture prepare` makes a store (`prepare`); `synthetic_inputs` are inputs of the same interface without files.
"""

from airshed.models.pasture.inputs.contents import Inputs
from airshed.models.pasture.inputs.opening import open_inputs

__all__ = ["Inputs", "open_inputs"]
