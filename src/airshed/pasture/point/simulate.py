"""Runs the pasture model at a station, day by day, and keeps every state and flux."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from airshed.core.errors import CaseError, DataError
from airshed.fields.spec import FieldSpec
from airshed.pasture.balance import Balance
from airshed.pasture.classes import read_class
from airshed.pasture.events import burnt_fraction
from airshed.pasture.fields import LAYERS, STATE, USUAL_START, WEATHER, cell_fields
from airshed.pasture.parameters import Land, cell_parameters
from airshed.pasture.point.case import PROCESSES, of_day
from airshed.pasture.weather.calendar import day_of_year
from airshed.pasture.weather.station import Humidity, Station
from airshed.process.points import Points

Array = npt.NDArray[np.float64]

_COLUMNS: Mapping[str, Humidity] = {
    "vapour_pressure": "vapour_pressure", "deficit": "vapour_pressure_deficit", "temperature": "none",
}  # fmt: skip
"""What a station's column of humidity is, by the case's `humidity.given`."""


@dataclass(frozen=True)
class Series:
    """A run at a station.

    dates   (days,);  specs  of what there is
    values  (days,) by name: states at the end of days, fluxes and weather of days
    start   states at the beginning;  given  what was set later, more than there was
    """

    dates: npt.NDArray[np.datetime64]
    specs: tuple[FieldSpec, ...]
    values: Mapping[str, Array]
    start: Mapping[str, float]
    given: Mapping[str, float]

    def __getitem__(self, name: str) -> Array:
        return self.values[name]

    def residual(self, balance: Balance) -> float:
        """Return the relative residual of a balance at the end; what was set counts as there from the start."""
        now = {name: values[-1] for name, values in self.values.items()}
        begin = {name: value + self.given.get(name, 0.0) for name, value in self.start.items()}
        return float(balance.relative_residual(now, begin))


def simulate(case: Any, station: Station, litter: Array | None = None) -> Series:
    """Return a run at a station over all days of its weather.

    litter  (days,) of each day at its end [kg ha-1], None where the model makes it
    Raises CaseError for options that the weather does not allow, DataError for weather that is not there.
    """
    station = as_declared(case, station)
    weather = _weather(case, station, litter)
    points = Points([each(getattr(case, each.section)) for each in PROCESSES], cell_fields(tuple(weather)))
    parameters = _parameters(case)
    state = _start(case, parameters)
    start, given = {name: float(value[0]) for name, value in state.items()}, dict[str, float]()
    values = {spec.name: np.zeros((station.days, 1)) for spec in (*STATE, *points.fluxes)}
    step, events = points.compiled(case.precision), of_day(case.events.set, station.dates)
    for first, last in _segments(events, station.days):
        for name, value in events.get(first, {}).items():
            given[name] = given.get(name, 0.0) + value - float(state[name][0])
            state[name] = np.array([value])
        days = {name: array[first:last] for name, array in weather.items()}
        each = {name: values[name][first:last] for name in points.outputs}
        step.advance({**parameters, **days, **points.numbers, **state}, last - first, each=each)
        for name in state:
            if name in points.outputs:
                state[name] = values[name][last - 1].copy()
            values[name][first:last] = values[name][first:last] if name in points.outputs else state[name]
    specs = (*STATE, *points.fluxes, *(spec for spec in WEATHER if spec.name in weather))
    found = {name: array[:, 0] for name, array in values.items()} | weather
    return Series(station.dates, specs, found, start, given)


def as_declared(case: Any, station: Station) -> Station:
    """Return the weather with its column of humidity as a case declares it, whatever its label says."""
    return station.with_humidity(_COLUMNS[case.humidity.given])


def _segments(events: Mapping[int, Any], days: int) -> Iterator[tuple[int, int]]:
    """The days between those at whose beginning something is set."""
    return pairwise(sorted({0, *events, days}))


def _weather(case: Any, station: Station, litter: Array | None) -> dict[str, Array]:
    """The weather of the days, by the names of its fields; raises DataError for a day without a value."""
    dates = station.dates
    found = {name: np.asarray(station[name], np.float64) for name in station}
    found["day_of_year"] = day_of_year(dates).astype(np.float64)
    found["month"] = dates.astype("datetime64[M]").astype(np.float64) % 12 + 1
    if case.events.fire:
        found["burnt_fraction"] = burnt_fraction(case.events, dates)
    if litter is not None:
        found["prescribed_litter"] = litter
    for spec in cell_fields(()).weather:
        if spec.name not in found:
            raise DataError(f"{station.where} has no {spec.name} [{spec.unit}], which the model needs")
    for name, values in found.items():
        if not np.isfinite(values).all():
            day = dates[int(np.argmin(np.isfinite(values)))]
            raise DataError(f"{station.where} has no {name} on {day}; fill it, or choose days that have it")
    return found


def _parameters(case: Any) -> dict[str, Any]:
    land = Land([read_class("soil", case.soil)], [read_class("pasture", case.pasture)], [case.land.trees])
    return cell_parameters(land, 0, 0, tree_basal_area=case.land.tree_basal_area, stocking=case.land.stocking)


def _start(case: Any, parameters: Mapping[str, Any]) -> dict[str, Array]:
    """The state at the beginning of the first day; raises CaseError for more water than a layer can hold."""
    state = dict.fromkeys((spec.name for spec in STATE), 0.0)
    state["basal_area"] = read_class("pasture", case.pasture).basal_area
    state |= USUAL_START
    for layer in LAYERS:
        least, most = (float(parameters[f"{name}_{layer}"]) for name in ("lower_limit", "drained_upper_limit"))
        state[f"water_{layer}"] = least + case.initial.wetness * (most - least)
    state |= {name: value for name in state if (value := getattr(case.initial, name)) is not None}
    for layer in LAYERS:
        held, most = state[f"water_{layer}"], float(parameters[f"saturation_{layer}"])
        if held > most:
            raise CaseError(f"initial: layer {layer} has {held:g} mm of water, and holds {most:g} mm; give it less")
    return {name: np.array([value]) for name, value in state.items()}
