"""The inputs of the pasture model: a prepared store of classes, state and weather, or weather made on the fly.

    inputs = open_inputs("queensland.inputs")            # what does not change with time; see `Inputs`
    domain = Domain.even(inputs.grid.axes, ranks)        # packed land cells, cut by count
    weather = inputs.stream(domain.box, ranks)           # read ahead; see `Stream`
    weather.day(n)                                       # {"rain": (cells,), ..., "day_of_year": 32.0, "month": 2.0}
    inputs.weather(domain.box, first_day, days)          # {"rain": (days, cells), ...}

`airshed pasture prepare` makes a store (`prepare`); `SyntheticWeather` is weather of the same interface without one.
"""

from airshed.pasture.inputs.reader import Inputs, open_inputs

__all__ = ["Inputs", "open_inputs"]
