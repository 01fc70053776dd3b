"""Pasture at one station: its case, the model of one cell, and a run that records all states and fluxes.

`run_point` implements `airshed pasture point`, from files to a file; `simulate` is the same in memory.
"""

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final, Literal, cast

import numpy as np
import numpy.typing as npt
import xarray as xr
from pydantic import Field, create_model, model_validator

from airshed.case.case import RunCase
from airshed.case.sections import OutputSection, RestartSection, TimeSection
from airshed.case.toml import read_toml
from airshed.core.arrays import Array
from airshed.core.atomic import write_whole
from airshed.core.errors import CaseError, DataError, OutputError
from airshed.core.fields import FieldSpec
from airshed.core.files import read_text
from airshed.core.report import Cell, Report, Table
from airshed.core.settings import Number, Section, quantity_range, refuse, setting
from airshed.core.text import counted
from airshed.core.units import Quantity
from airshed.core.version import __version__
from airshed.grid.axes import Axes, Coordinate
from airshed.models.pasture import processes
from airshed.models.pasture.case import DateText, Day, EventsSection, burnt_fraction
from airshed.models.pasture.classes import Land, Trees, cell_parameters, read_class
from airshed.models.pasture.fields import CELLS, DAY, LAYERS, STATE, USUAL_START, WEATHER, cell_fields
from airshed.models.pasture.model import PastureModel
from airshed.models.pasture.processes.humidity import GIVEN
from airshed.models.pasture.summary import DRY_MATTER, WATER, Balance
from airshed.models.pasture.weather.calendar import day_of_year
from airshed.models.pasture.weather.checks import check
from airshed.models.pasture.weather.met import read_met
from airshed.models.pasture.weather.station import Humidity, Station
from airshed.models.points.model import PointModel, PointValues
from airshed.parallel.communicator import Communicator, SingleRank
from airshed.parallel.domain import Domain
from airshed.process.discovery import processes_of, sections_of
from airshed.process.points import Points
from airshed.runtime.registry import BuiltModel, ModelKind, register
from airshed.runtime.simulation import Simulation

PROCESSES: Final = processes_of(processes)

_COLUMNS: Mapping[str, Humidity] = {
    "vapour_pressure": "vapour_pressure", "deficit": "vapour_pressure_deficit", "temperature": "none",
}  # fmt: skip
"""Quantity of the humidity column of a station, by `humidity.given` of the case."""

_MOST_FINDINGS: Final = 10

_YEARLY: Final = (
    "rain", "runoff", "soil_evaporation", "transpiration", "tree_water_use", "drainage", "growth", "detachment",
    "eaten", "burnt", "litter_decay",
)  # fmt: skip
"""Fluxes in the report, if the run has them."""

_STATES: Final[Mapping[str, Any]] = {
    spec.name: (Number | None, setting(None, spec.text, unit=spec.unit, ge=0.0)) for spec in STATE
}


class _Initial(Section):
    """Initial state; defaults are 0, except for water, the basal area of the pasture, and a live weight of 200 kg."""

    wetness: Number = setting(
        0.9, "Default water of layers: fraction between the lower and the drained upper limit.", unit="1", ge=0.0
    )


class _Set(Section):
    """State variables that are set at the beginning of a day."""

    date: Day = setting(..., 'The day: "09-01" in each year, or "1990-09-01".')


Initial: Any = create_model("Initial", __base__=_Initial, **_STATES)
Set: Any = create_model("Set", __base__=_Set, **_STATES)


class PointEvents(EventsSection):
    """Events on given days."""

    set: tuple[Set, ...] = Field(default_factory=tuple)


class LandSection(Section):
    """Trees and animals."""

    tree_basal_area: Number = setting(0.0, "Basal area of trees.", unit="m2 ha-1", ge=0.0)
    stocking: Number = setting(0.0, "Stocking rate, if grazing is on.", unit="ha-1", ge=0.0)
    trees: Trees = Field(default_factory=Trees)


class WeatherSection(Section):
    """Range of days, and prescribed litter."""

    first: DateText = setting("", 'The first day of the run, "1957-01-01"; by default that of the weather.')
    last: DateText = setting("", "The last day of the run; by default that of the weather.")
    litter: str = setting("", "CSV file with the columns date and litter [kg/ha] at the end of each day.")


class _Days(TimeSection):
    """Days of the weather, in any years."""

    start: datetime
    length: Annotated[Quantity, quantity_range("s", least="1 day", most="1e5 year")]


class _FixedPoint(RunCase):
    title: str = setting("Pasture at a station", "Title of the run.")
    model: Literal["station"] = "station"
    time: _Days = Field(default_factory=lambda: _Days.model_validate({"start": datetime(1, 1, 1), "length": "1 day"}))
    output: tuple[OutputSection, ...] = ()
    restart: RestartSection = Field(default_factory=lambda: RestartSection(every="1000 year"))  # type: ignore[arg-type]
    precision: str = setting("double", "Precision of the computation.", pattern="^(double|single)$")
    soil: Mapping[str, Any] = setting(..., 'Soil: set = "site67", or all numbers, or both.')
    pasture: Mapping[str, Any] = setting(..., "Pasture, in the same form.")
    land: LandSection = Field(default_factory=LandSection)
    initial: Initial = Field(default_factory=Initial)
    events: PointEvents = Field(default_factory=PointEvents)
    weather: WeatherSection = Field(default_factory=WeatherSection)

    @model_validator(mode="before")
    @classmethod
    def _is_fixed(cls, data: Mapping[str, Any]) -> Mapping[str, Any]:
        for key in ("model", "time", "output", "restart", "run"):
            if key in data:
                raise refuse(f"{key} is not a setting of a run at a station: its days are those of the weather")
        return data

    def _check_names(self) -> None:
        """Raise CaseError for classes that do not exist, and for weather without a declared humidity."""
        source, case = str(self._file or "the case"), cast(Any, self)
        if "given" not in case.humidity.model_fields_set:
            words = ", ".join(f'"{word}"' for word in GIVEN)
            raise CaseError(
                f"{source} does not declare the humidity of the weather, and the label of the file may be wrong: set "
                f"humidity.given to one of {words}"
            )
        for kind in ("soil", "pasture"):
            read_class(kind, getattr(self, kind), f"{source}: [{kind}]")


PointCase: Any = create_model("PointCase", __base__=_FixedPoint, **sections_of(PROCESSES))
"""Settings of a run at a station; its weather is in a separate file, which determines the days."""


def values_set_by_day(events: Sequence[Any], dates: Any) -> Mapping[int, Mapping[str, float]]:
    """Return the values that are set at the beginning of days, by the index of the day in dates."""
    written = np.datetime_as_string(np.asarray(dates, "datetime64[D]"))
    found: dict[int, dict[str, float]] = {}
    for event in events:
        values = {spec.name: value for spec in STATE if (value := getattr(event, spec.name)) is not None}
        for day in np.flatnonzero(np.char.endswith(written, event.date)):
            found.setdefault(int(day), {}).update(values)
    return found


@dataclass(frozen=True)
class Series:
    """Run at a station.

    dates   dates (days,)
    specs   specifications of the fields
    values  fields by name (days,): states at the end of days, daily fluxes and weather
    start   initial state
    given   increments by which events set state variables
    """

    dates: npt.NDArray[np.datetime64]
    specs: tuple[FieldSpec, ...]
    values: Mapping[str, Array]
    start: Mapping[str, float]
    given: Mapping[str, float]

    def __getitem__(self, name: str) -> Array:
        return self.values[name]

    def residual(self, balance: Balance) -> float:
        """Return the relative residual of a balance at the end; increments are added to the initial state."""
        now = {name: values[-1] for name, values in self.values.items()}
        begin = {name: value + self.given.get(name, 0.0) for name, value in self.start.items()}
        return float(balance.relative_residual(now, begin))


class StationModel(PointModel):
    """Model of soil water and pasture of one cell, with state variables that are set on given days."""

    program = PastureModel.program

    def __init__(self, case: Any, station: Station, litter: Array | None) -> None:
        self.weather_of_days = _weather(case, station, litter)
        points = Points(
            [each(getattr(case, each.section)) for each in PROCESSES], cell_fields(tuple(self.weather_of_days))
        )
        land = Land([read_class("soil", case.soil)], [read_class("pasture", case.pasture)], [case.land.trees])
        stands = {name: getattr(case.land, name) for name in ("tree_basal_area", "stocking")}
        parameters = cell_parameters(land, 0, 0, **stands)
        state = _start(case, parameters)
        self.start = {name: float(value[0]) for name, value in state.items()}
        self.set_on_days = values_set_by_day(case.events.set, station.dates)
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
        """Return arrays of states and fluxes (days,) that the following run fills."""
        rows = {name: np.zeros((days, 1)) for name in self.points.outputs}
        self.record(rows)
        found = {name: array[:, 0] for name, array in rows.items()}
        for name in self.start.keys() - rows.keys():  # constant, except for events
            found[name] = np.full(days, self.start[name])
            for day, values in sorted(self.set_on_days.items()):
                found[name][day:] = values.get(name, found[name][day])
        return found


def simulate(case: Any, station: Station, litter: Array | None = None) -> Series:
    """Return a run at a station over all days of its weather.

    litter  prescribed litter at the end of each day (days,) [kg ha-1]; None if the model computes it

    Raises CaseError for options that need other weather, DataError for missing weather.
    """
    station = with_declared_humidity(case, station)
    days = {"start": station.dates[0].astype("datetime64[s]").item(), "length": f"{station.days} day"}
    timed = case.model_copy(update={"time": _Days.model_validate(days)})
    with Simulation(timed, station, litter, ranks=SingleRank()) as simulation:
        model: StationModel = simulation.model
        values = model.recorded(station.days)
        simulation.run()
        given = {name: float(more[0]) for name, more in model.increments.items()}
    specs = (*STATE, *model.points.fluxes, *(spec for spec in WEATHER if spec.name in model.weather_of_days))
    return Series(station.dates, specs, values | model.weather_of_days, model.start, given)


def _build(
    case: Any, ranks: Communicator, check: Callable[[Communicator], None], station: Station, litter: Array | None
) -> BuiltModel:
    check(ranks)
    return BuiltModel(StationModel(case, station, litter))


register("station", ModelKind(PointCase, _build))


def with_declared_humidity(case: Any, station: Station) -> Station:
    """Return the weather with the humidity that a case declares, in spite of its label."""
    return station.with_humidity(_COLUMNS[case.humidity.given])


def _weather(case: Any, station: Station, litter: Array | None) -> dict[str, Array]:
    """Return the daily weather by name; raises DataError for a day without a value."""
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
            raise DataError(f"{station.where} has no {name} on {day}; add it, or choose other days")
    return found


def _start(case: Any, parameters: Mapping[str, Any]) -> dict[str, Array]:
    """Return the initial state; raises CaseError for a layer with more water than at saturation."""
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
            raise CaseError(f"initial: layer {layer} has {held:g} mm of water; the maximum is {most:g} mm")
    return {name: np.array([value]) for name, value in state.items()}


def run_point(met: Path, parameters: Path, output: Path, overrides: Sequence[str] = ()) -> Report:
    """Run pasture at the station of a `.met` file, and write all daily states and fluxes to a netCDF file.

    parameters  TOML file with [soil], [pasture], [initial], [events] and options of processes

    Raises CaseError, DataError or OutputError; the file is written atomically.
    """
    if output.suffix.lower() != ".nc":
        raise OutputError(f"{output}: the output is netCDF; its name must end in .nc")
    if not parameters.exists():
        read_toml(parameters)  # raises
    case = PointCase.load(parameters, overrides)
    station = with_declared_humidity(case, _select_days(read_met(met), case))
    problems = check(station)
    errors = [each.text for each in problems if each.kind == "error"]
    if errors:
        raise DataError("\n".join(errors[:_MOST_FINDINGS]))
    litter = _litter(parameters.parent / case.weather.litter, station) if case.weather.litter else None
    with write_whole(output) as part:
        series = simulate(case, station, litter)
        dataset(series, case, station).to_netcdf(part, engine="netcdf4")
    return _report(series, case, station, output, [each.text for each in problems])


def dataset(series: Series, case: Any, station: Station) -> xr.Dataset:
    """Return a run as a dataset over time by the CF conventions."""
    found = xr.Dataset(
        {
            spec.name: ("time", series[spec.name], {"long_name": spec.text, "units": spec.unit})
            for spec in series.specs
        },
        {"time": ("time", series.dates.astype("datetime64[ns]"), {"standard_name": "time"})},
        {
            "Conventions": "CF-1.11", "title": case.title, "source": f"Airshed {__version__}, pasture at a station",
            "station": station.name, "weather": Path(station.where).name,
            "soil": _source("soil", case.soil), "pasture": _source("pasture", case.pasture),
            "comment": "States are those at the end of the day, fluxes those of the day.",
        },
    )  # fmt: skip
    places = {"latitude": station.latitude, "longitude": station.longitude}
    return found.assign_attrs({name: value for name, value in places.items() if value is not None})


def _source(kind: str, values: Any) -> str:
    """Return the description of a class and the source of its numbers."""
    own = [f"{name} = {value}" for name, value in values.items() if name != "set"]
    found = read_class(kind, values)
    changed = f"here {', '.join(own)}" if own and "set" in values else ""
    return "; ".join(filter(None, [found.text, found.source, changed]))


def _select_days(station: Station, case: Any) -> Station:
    """Return the weather of the days of the case; raises CaseError if some are missing."""
    first, last = case.weather.first or station.dates[0], case.weather.last or station.dates[-1]
    try:
        ends = np.datetime64(first, "D"), np.datetime64(last, "D")
    except ValueError as error:
        raise CaseError(f'weather: {first}, {last} are not days; write them as "1957-01-01"') from error
    if not station.dates[0] <= ends[0] <= ends[1] <= station.dates[-1]:
        raise CaseError(
            f"weather: the case needs {ends[0]} to {ends[1]}, but {station.where} has {station.dates[0]} to "
            f"{station.dates[-1]}"
        )
    return station.between(*ends)


def _litter(path: Path, station: Station) -> Array:
    """Return the litter of each day from a CSV file; raises DataError for invalid numbers and missing days."""
    rows = list(csv.DictReader(read_text(path).splitlines()))
    try:
        found = {np.datetime64(row["date"], "D"): float(row["litter"]) for row in rows}
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path} must have the columns date and litter, as in 1957-01-01,50.0") from error
    for date in station.dates:
        if not found.get(date, -1.0) >= 0.0:
            raise DataError(f"{path} has no litter for {date}; give it for each day of the run")
    return np.array([found[date] for date in station.dates])


def _report(series: Series, case: Any, station: Station, output: Path, problems: Sequence[str]) -> Report:
    years = len(series.dates) / 365.25
    units = {spec.name: spec.unit for spec in series.specs}
    rows: list[tuple[Cell, ...]] = [
        (name, units[name], float(series[name].sum() / years)) for name in _YEARLY if name in units
    ]
    balances: list[tuple[Cell, ...]] = [(each.text, series.residual(each)) for each in (WATER, DRY_MATTER)]
    facts: dict[str, Cell] = {
        "station": station.name, "days": counted(len(series.dates), "day"), "output": str(output),
        **{f"weather, {number}": text for number, text in enumerate(problems[:_MOST_FINDINGS], start=1)},
    }  # fmt: skip
    return Report(
        case.title,
        [Table("In a year", ("flux", "unit", "mean"), rows), Table("Balances", ("of", "relative residual"), balances)],
        facts,
    )
