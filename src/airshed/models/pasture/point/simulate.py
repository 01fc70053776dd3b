"""The pasture model of one cell, at a station, and the run of it that records every state and flux of every day."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from airshed.case.case import RunCase
from airshed.case.sections import OutputSection, RestartSection, TimeSection
from airshed.core.errors import CaseError, DataError
from airshed.core.fields import FieldSpec
from airshed.core.settings import measured
from airshed.core.units import Quantity
from airshed.grid.axes import Axes, Coordinate
from airshed.models.pasture.balance import Balance
from airshed.models.pasture.classes import read_class
from airshed.models.pasture.events import burnt_fraction
from airshed.models.pasture.fields import CELLS, DAY, LAYERS, STATE, USUAL_START, WEATHER, cell_fields
from airshed.models.pasture.model import PastureModel
from airshed.models.pasture.parameters import Land, cell_parameters
from airshed.models.pasture.point.case import PROCESSES, of_day
from airshed.models.pasture.weather.calendar import day_of_year
from airshed.models.pasture.weather.station import Humidity, Station
from airshed.models.points.model import PointModel, PointValues
from airshed.parallel.communicator import Alone, Communicator
from airshed.parallel.domain import Domain
from airshed.process.points import Points
from airshed.runtime.registry import Built, ModelKind, register
from airshed.runtime.simulation import Simulation

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


class _Days(TimeSection):
    """The days of the weather, of any years."""

    start: datetime
    length: Annotated[Quantity, measured("s", least="1 day", most="1e5 year")]


class StationRun(RunCase):
    """The days of a run at a station; `Simulation` is given the rest, see :func:`simulate`."""

    model: Literal["station"] = "station"
    time: _Days
    output: tuple[OutputSection, ...] = ()
    restart: RestartSection = Field(default_factory=lambda: RestartSection(every="1000 year"))  # type: ignore[arg-type]


class StationModel(PointModel):
    """Soil water and pasture of one cell; fields of the state are set on the days of a case."""

    program = PastureModel.program

    def __init__(self, case: Any, station: Station, litter: Array | None) -> None:
        self.weather_of_days = _weather(case, station, litter)
        points = Points(
            [each(getattr(case, each.section)) for each in PROCESSES], cell_fields(tuple(self.weather_of_days))
        )
        parameters = _parameters(case)
        state = _start(case, parameters)
        self.start = {name: float(value[0]) for name, value in state.items()}
        self.set_on_days = of_day(case.events.set, station.dates)
        changes = {DAY * day: values for day, values in self.set_on_days.items()}
        domain = Domain.even(Axes((Coordinate(*CELLS, np.zeros(1), {}),), divided=CELLS))
        super().__init__(
            points, domain, PointValues(state, parameters, self._days_from, changes), step=DAY,
            precision=case.precision, batch=station.days,
        )  # fmt: skip

    def _days_from(self, begins: Sequence[float]) -> dict[str, Array]:
        first = round(begins[0] / DAY)
        return {name: values[first : first + len(begins)] for name, values in self.weather_of_days.items()}

    def recorded(self, days: int) -> dict[str, Array]:
        """Return state and fluxes as (days,), which the next days fill: those of the whole run."""
        rows = {name: np.zeros((days, 1)) for name in self.points.outputs}
        self.record(rows)
        found = {name: array[:, 0] for name, array in rows.items()}
        for name in self.start.keys() - rows.keys():  # no day changes it
            found[name] = np.full(days, self.start[name])
            for day, values in sorted(self.set_on_days.items()):
                found[name][day:] = values.get(name, found[name][day])
        return found


def simulate(case: Any, station: Station, litter: Array | None = None) -> Series:
    """Return a run at a station over all days of its weather.

    litter  (days,) of each day at its end [kg ha-1], None where the model makes it
    Raises CaseError for options that the weather does not allow, DataError for weather that is not there.
    """
    station = as_declared(case, station)
    days = {"start": station.dates[0].astype("datetime64[s]").item(), "length": f"{station.days} day"}
    with Simulation(StationRun.from_dict({"time": days}), case, station, litter, ranks=Alone()) as simulation:
        model: StationModel = simulation.model
        values = model.recorded(station.days)
        simulation.run()
        given = {name: float(more[0]) for name, more in model.was_set.items()}
    specs = (*STATE, *model.points.fluxes, *(spec for spec in WEATHER if spec.name in model.weather_of_days))
    return Series(station.dates, specs, values | model.weather_of_days, model.start, given)


def _build(
    run: StationRun, ranks: Communicator, check: Callable[[Communicator], None], case: Any, station: Station,
    litter: Array | None,
) -> Built:  # fmt: skip
    check(ranks)
    return Built(StationModel(case, station, litter))


register("station", ModelKind(StationRun, _build))


def as_declared(case: Any, station: Station) -> Station:
    """Return the weather with its column of humidity as a case declares it, whatever its label says."""
    return station.with_humidity(_COLUMNS[case.humidity.given])


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
