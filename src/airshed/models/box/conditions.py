"""Conditions of box models: the immutable case of the box model, read from a file or a dictionary."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date, datetime
from math import ceil, floor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Field, create_model, field_validator, model_validator

from airshed.case.case import RunCase
from airshed.case.patch import Changes
from airshed.case.process_files import ProcessSection
from airshed.case.sections import Due, OutputSection, RestartSection
from airshed.case.toml import read_toml, write_toml
from airshed.core.alarm import INSTANT
from airshed.core.constants import SECONDS_PER_DAY
from airshed.core.errors import CaseError
from airshed.core.settings import KEY, Number, Section, Whole, quantity_range, refuse, setting
from airshed.core.text import shown
from airshed.core.units import Quantity
from airshed.formula.quantity import FormulaQuantity
from airshed.models.air import processes
from airshed.models.box.values import (
    CONCENTRATION,
    MOST_HUMIDITY,
    Concentration,
    CsvColumn,
    Factor,
    LossRate,
    Pressure,
    Rate,
    Source,
    Temperature,
    Value,
)
from airshed.process.discovery import processes_of, sections_of
from airshed.runtime.clock import MOST_STEPS as MOST_BETWEEN

METHODS: Final = ("ros2", "ros3", "rodas3", "rodas4")
"""Rosenbrock methods with adaptive steps."""

SECONDS_PER_DEGREE: Final = 240.0
"""Change of local time with longitude [s/degree]."""

MOST_STEPS: Final = 20_000_000
JUST_BEFORE: Final = 1e-6
"""Time [s] before a jump at which conditions are evaluated for a step that ends there: their limit from the left."""

_FINEST_SINGLE: Final = 1e-5
Time = Annotated[Quantity, quantity_range("s", least="1e-12 s", most="1e15 s")]
ClockTime = Annotated[Quantity, quantity_range("s", least=0.0, most="1000 year")]
Height = Annotated[Quantity, quantity_range("m", least="1 cm", most="99 km")]
TimeOfDay = Annotated[Quantity, quantity_range("s", least=0.0, most="24 h")]

Tolerance = Annotated[
    Quantity, quantity_range(CONCENTRATION, "mol/mol", above=0.0, most=(f"1e20 {CONCENTRATION}", "1 mol/mol"))
]


def _day(value: object) -> date:
    """Return a calendar day from a TOML date or from text."""
    if isinstance(value, str):
        with suppress(ValueError):
            value = date.fromisoformat(value)
    if isinstance(value, datetime) or not isinstance(value, date):
        raise refuse(f"{KEY} must be a day such as 2022-08-31, not {shown(value)}")
    return value


Day = Annotated[date, BeforeValidator(_day)]


class BoxTime(Section):
    """Start and length of the simulation, in local time since midnight of the first day."""

    start: ClockTime = setting("0 h", "Local time of the start.")
    length: Time = setting(..., "Simulated time.")
    output_every: Time = setting("1 h", "Time between outputs; the start and the end are always output.")
    restarts: tuple[TimeOfDay, ...] = setting(
        (), "Times of day at which conditions jump on each day: the integration restarts there.", unit="s"
    )

    @property
    def whole(self) -> float:
        """Simulated time [s]."""
        return self.length.value

    @property
    def parts(self) -> str:
        """Name of the setting of :attr:`whole`."""
        return "time.length"

    @model_validator(mode="after")
    def _within_a_day(self) -> Self:
        for value in self.restarts:
            if value.value >= SECONDS_PER_DAY:
                raise refuse(f"time.restarts = {value.text!r} is a time of day, before 24 h")
        return self


class Location(Section):
    """Location and first day of the box, for the position of the sun; local time is UTC + lon/15 h."""

    lat: Number = setting(..., "Latitude, north positive.", unit="deg", ge=-90, le=90)
    lon: Number = setting(..., "Longitude, east positive.", unit="deg", ge=-360, le=360)
    date: Day = setting(..., "The first day.")


class BoxEnvironment(Section):
    """Air of the box; values that neither the mechanism nor a formula needs may be omitted."""

    temperature: Temperature | None = setting(None, "Temperature, T in formulas.", unit="K")
    pressure: Pressure | None = setting(None, "Pressure, p in formulas; gives the air density.", unit="Pa")
    humidity: Factor | None = setting(None, "Relative humidity; gives H2O unless it is in [fixed].", unit="1")
    location: Location | None = setting(None, "Gives the position of the sun unless it is in [rates].")
    height: Height | None = setting(None, "Height of the box, for processes such as deposition.")
    land_fraction: Number | None = setting(None, "Land fraction of the ground, for processes.", unit="1", ge=0, le=1)

    @field_validator("humidity")
    @classmethod
    def _a_share(cls, value: Value | None) -> Value | None:
        if isinstance(value, FormulaQuantity) and value.value > MOST_HUMIDITY:
            percent = f"{KEY} = {value.text!r} is {100.0 * value.value:g} %, which is not a possible humidity"
            raise refuse(f'{percent}: a number without a unit is a fraction; write 60 % as "60 %" or 0.6')
        return value


class BoxSolver(Section):
    """Numerical solver."""

    method: Literal["ros2", "ros3", "rodas3", "rodas4", "gauss-seidel"] = setting(
        "rodas4", "Rosenbrock method with adaptive steps, or two-step BDF with Gauss-Seidel iteration over the species."
    )
    relative_tolerance: Number = setting(1e-6, "Relative error tolerance of a step (Rosenbrock).", ge=1e-14, lt=1)
    absolute_tolerance: Tolerance = setting("1 molecules/cm3", "Absolute error tolerance of a step (Rosenbrock).")
    most_steps: Whole = setting(100_000, "Maximum number of steps between two outputs (Rosenbrock).", ge=1, le=10**9)
    step: Time = setting("300 s", "Maximum step length (gauss-seidel).")
    sweeps: Whole = setting(2, "Sweeps of the iteration in each step (gauss-seidel).", ge=1, le=1000)
    precision: Literal["double", "single"] = setting("double", "Precision of the concentrations.")

    @model_validator(mode="after")
    def _above_rounding(self) -> Self:
        if self.method in METHODS and self.precision == "single" and self.relative_tolerance < _FINEST_SINGLE:
            raise refuse(
                f"solver.relative_tolerance = {self.relative_tolerance:g} is below the round-off of single precision: "
                f"give {_FINEST_SINGLE:g} or more, or double precision"
            )
        return self


PROCESSES: Final = {each.section: each for each in processes_of(processes) if each.model is None}
"""Processes of the package that can have a section in conditions, by the name of the section.

Processes with a handwritten section are for the three-dimensional model only: its wind, inventory and mechanism.
"""

_NO_DATE: Final = np.datetime64("2000-01-01", "s")
"""First day of boxes without a location."""

_RESTARTS: Final = 6 * 3600.0
"""Minimum time [s] between two restarts if the conditions do not set it."""
_RUN_SETTINGS: Final = ("model", "mechanism", "states", "output", "restart", "run")
"""Settings that `airshed box` has as options; `airshed run` requires the first two."""


class _FixedConditions(RunCase):
    """Conditions of a box: all inputs except the mechanism, see `docs/how-to/box.md`."""

    insert_before = ""
    label = "the conditions"

    title: str = setting("Airshed box", "Title of the box in files.")
    model: Literal["box"] = setting("box", "The model that runs the case.")
    mechanism: str = setting("", "For `airshed run`: a shipped mechanism or a reaction file.")
    states: str = setting("", "For `airshed run`: a file with the initial states of several boxes.")
    time: BoxTime  # type: ignore[assignment]  # local time, not UTC
    environment: BoxEnvironment = Field(default_factory=BoxEnvironment)
    initial: Mapping[str, Concentration] = setting(
        {}, "Initial concentrations; by default those of the mechanism file, or 0.", unit=CONCENTRATION
    )
    fixed: Mapping[str, Concentration] = setting(
        {}, "Prescribed concentrations: M, O2, N2, H2O, fixed species.", unit=CONCENTRATION
    )
    rates: Mapping[str, Rate] = setting({}, "Open parameters of the mechanism by name; SUN, sec_zenith, daylight.")
    emission: Mapping[str, Source] = setting({}, "Emission rates of species.", unit=f"{CONCENTRATION}/s")
    deposition: Mapping[str, LossRate] = setting({}, "Loss rates of species.", unit="1/s")
    weather: Mapping[str, Any] = setting({}, "Weather fields that processes require, each in its declared unit.")
    process: tuple[ProcessSection, ...] = Field(default_factory=tuple)
    solver: BoxSolver = Field(default_factory=BoxSolver)

    @field_validator("rates", mode="before")
    @classmethod
    def _dotted(cls, rates: object) -> object:
        """Return names with a dot for nested tables, as TOML parses `PHOTO.jNO2 = ...`."""
        if not isinstance(rates, Mapping):
            return rates
        flat: dict[str, object] = {}
        for name, value in rates.items():
            inner = value if isinstance(value, Mapping) and not {"csv", "column"} & set(value) else {"": value}
            flat |= {f"{name}.{key}" if key else name: each for key, each in inner.items()}
        return flat

    @classmethod
    def load(cls, path: str | Path, overrides: Changes = (), **sections: Any) -> Self:
        """Read a conditions file; raises CaseError with file, line and key of each error."""
        if not Path(path).exists():
            read_toml(Path(path))  # raises
        return super().load(path, overrides, **sections)

    @model_validator(mode="after")
    def _one_of_each(self) -> Self:
        if self.environment.pressure is not None and "M" in map(str.upper, self.fixed):
            raise refuse("the air density needs environment.pressure or fixed.M, not both")
        if {"sec_zenith", "sun"} <= set(map(str.casefold, self.rates)):
            raise refuse("rates.sec_zenith and rates.SUN are two forms of the same quantity: give one of them")
        return self

    @model_validator(mode="after")
    def _usual_records(self) -> Self:
        """Set output to every `time.output_every`, and restarts to a multiple of it, unless the conditions set them."""
        every = self.time.output_every
        seconds = ceil(_RESTARTS / every.value) * every.value
        usual = {
            "output": (OutputSection.model_construct(every=every),),
            "restart": RestartSection.model_construct(every=Quantity(f"{seconds:.15g} s", seconds, "s")),
        }
        vars(self).update({name: value for name, value in usual.items() if name not in self.model_fields_set})
        return self

    def _due(self) -> Due:
        """Return the intervals of output and restarts; `time.output_every` has a separate limit."""
        given = {"output": "output.", "restart": "restart."}
        prefixes = tuple(prefix for name, prefix in given.items() if name in self.model_fields_set)
        return [each for each in super()._due() if each[0].startswith(prefixes)]

    @property
    def start(self) -> np.datetime64:
        """Start of the simulation (UTC); without a location midnight is 2000-01-01 00:00 UTC."""
        return midnight(self.environment.location) + np.timedelta64(round(self.time.start.value * 1e3), "ms")

    @contextmanager
    def naming_file(self, other: str = "states") -> Iterator[None]:
        """Prefix messages of a CaseError with the name of the file, unless they start with it or with another file."""
        try:
            yield
        except CaseError as error:
            if self._file is None or str(error).startswith((str(self._file), other)):
                raise
            raise CaseError(f"{self._file}: {error}") from error

    @property
    def folder(self) -> Path:
        """Base folder of relative paths."""
        return self._base if self._file is None else self._file.parent

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain values, defaults included, without the sections of unused processes."""
        unused = set(PROCESSES) - self.model_fields_set | ({"process"} if not self.process else set())
        plain = {name: _plain(value) for name, value in super().to_dict().items() if name not in unused}
        return {name: value for name, value in plain.items() if value != ""}

    def conditions(self) -> dict[str, Any]:
        """Return :meth:`to_dict` without the settings of runs, for `airshed box`."""
        return {name: value for name, value in self.to_dict().items() if name not in _RUN_SETTINGS}

    def conditions_file(self) -> str:
        """Return :meth:`conditions` as the text of a file."""
        return write_toml(self.conditions())


def midnight(location: Location | None) -> np.datetime64:
    """Return the local midnight of the first day (UTC)."""
    if location is None:
        return _NO_DATE
    return np.datetime64(location.date, "s") - np.timedelta64(round(SECONDS_PER_DEGREE * location.lon), "s")


def _plain(value: Any) -> Any:
    """Return a setting as plain values, with columns of files as tables."""
    if isinstance(value, CsvColumn):
        return value.to_dict()
    return {key: _plain(each) for key, each in value.items()} if isinstance(value, dict) else value


if TYPE_CHECKING:

    class BoxConditions(_FixedConditions):
        """Conditions with the declared sections of processes."""

        def __getattr__(self, section: str) -> Section: ...

else:
    BoxConditions = create_model(
        "BoxConditions", __base__=_FixedConditions, __module__=__name__, __doc__=_FixedConditions.__doc__,
        **sections_of(PROCESSES.values()),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Event:
    """Time [s since local midnight of the first day] at which a step ends: a jump, an output, or neither."""

    at: float
    jump: bool = False
    output: bool = False


@dataclass(frozen=True, slots=True)
class BoxStep:
    """Step between two times [s since local midnight of the first day].

    end  end of the step; after a jump the next step starts without a history
    """

    begin: float
    end: Event

    @property
    def at(self) -> float:
        """Time at which the conditions at the end of the step are evaluated."""
        return self.end.at - JUST_BEFORE if self.end.jump else self.end.at


def distance(end: float) -> float:
    """Return the tolerance [s] within which two events are merged, in a run that ends at a time [s]."""
    return max(INSTANT, 1e-12 * end)


def events(conditions: BoxConditions, corners: Iterable[float] = ()) -> list[Event]:
    """Return the events after the start, including the end; raises CaseError for too many steps.

    corners  times at which conditions are not smooth
    """
    # Limit the number of steps and of outputs.
    time, solver = conditions.time, conditions.solver
    length, every = time.length.value, time.output_every.value
    by_steps = solver.method == "gauss-seidel"
    longest = min(solver.step.value, every) if by_steps else every
    between = min(length, every) / solver.step.value if by_steps else 0.0
    if length / longest > MOST_STEPS or between > MOST_BETWEEN:
        counted = f"steps of solver.step = {solver.step.text!r} or outputs" if by_steps else "outputs"
        most = MOST_STEPS if length / longest > MOST_STEPS else MOST_BETWEEN
        raise CaseError(
            f"time.length = {time.length.text!r} has more than {most} {counted}; reduce it or increase their interval"
        )

    # List the end, corners, jumps of each day, and regular outputs; merge events within the tolerance.
    start, end = time.start.value, time.start.value + time.length.value
    days = range(floor(start / SECONDS_PER_DAY), ceil(end / SECONDS_PER_DAY)) if time.restarts else range(0)
    listed = [Event(end, output=True), *(Event(at) for at in corners)]
    listed += [Event(day * SECONDS_PER_DAY + clock.value, jump=True) for day in days for clock in time.restarts]
    due = [(time.output_every.value, True), *((each.every.value, False) for each in conditions.output)]
    for every, output in due:
        count = ceil(time.length.value / every - 1e-9)
        listed += [Event(start + number * every, output=output) for number in range(1, count)]
    same = distance(end)
    merged: list[Event] = []
    for event in sorted(listed, key=lambda event: event.at):
        if event.at <= start + same or event.at > end:
            continue
        if merged and event.at - merged[-1].at < same:
            last = merged[-1]
            at = end if end - event.at < same else event.at
            merged[-1] = Event(at, last.jump or event.jump, last.output or event.output)
        else:
            merged.append(event)
    return merged
