"""The conditions of a box of air, read from a file or a dictionary, checked, immutable."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, GetCoreSchemaHandler, PrivateAttr, ValidationError, model_validator
from pydantic_core import CoreSchema, core_schema

from airshed.air.case.messages import explain
from airshed.air.case.toml import KeyPath, key_lines, read_toml, write_toml
from airshed.core.errors import CaseError
from airshed.core.formula import Given, given
from airshed.core.settings import KEY, Number, Section, Whole, measured, refuse, setting
from airshed.core.units import Quantity

CONCENTRATION = "molecules/cm3"


@dataclass(frozen=True)
class GivenIn:
    """Annotates a field that holds a constant in one of ``units``, or a formula in the first of them."""

    units: tuple[str, ...]

    def __call__(self, value: object) -> Given:
        """Return the constant or the formula; raises the validator's error."""
        try:
            return given(value, self.units, where=KEY)
        except CaseError as error:
            raise refuse(str(error)) from error

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Make pydantic validate the field by this object alone."""
        return core_schema.no_info_plain_validator_function(self)


Time = Annotated[Quantity, measured("s", above=0.0)]
ClockTime = Annotated[Quantity, measured("s", least=0.0)]
Temperature = Annotated[Given, GivenIn(("K",))]
Pressure = Annotated[Given, GivenIn(("Pa",))]
Factor = Annotated[Given, GivenIn(("1",))]
Concentration = Annotated[Given, GivenIn((CONCENTRATION,))]
StateValue = Annotated[Given, GivenIn((CONCENTRATION, "mol/mol"))]
Source = Annotated[Given, GivenIn((f"{CONCENTRATION}/s",))]
LossRate = Annotated[Given, GivenIn(("1/s",))]


def _day(value: object) -> date:
    """Return a calendar day, given as TOML writes it or as text."""
    if isinstance(value, str):
        with suppress(ValueError):
            value = date.fromisoformat(value)
    if isinstance(value, datetime) or not isinstance(value, date):
        raise refuse(f"{KEY} must be a day such as 2022-08-31, not {value!r}")
    return value


Day = Annotated[date, BeforeValidator(_day)]


class BoxTime(Section):
    """When the box begins and ends; times of day are local ones, counted from midnight."""

    start: ClockTime = setting("0 h", "Local time of day at which it begins.")
    length: Time = setting(..., "How long it lasts.")
    output_every: Time = setting("1 h", "Time between outputs; the start and the end are always there.")
    restarts: tuple[ClockTime, ...] = setting(
        (), "Times of day, each day, at which conditions jump: the integration begins anew there.", unit="s"
    )

    @model_validator(mode="after")
    def _within_a_day(self) -> Self:
        for name, value in (("start", self.start), *(("restarts", value) for value in self.restarts)):
            if value.value >= 86400.0:
                raise refuse(f"time.{name} = {value.text!r} is a time of day, before 24 h")
        return self


class Location(Section):
    """Where and on which day the box stands, for the sun; local time is UTC + lon/15 h."""

    lat: Number = setting(..., "Latitude, north positive.", unit="deg", ge=-90, le=90)
    lon: Number = setting(..., "Longitude, east positive.", unit="deg", ge=-360, le=360)
    date: Day = setting(..., "The first day.")


class BoxEnvironment(Section):
    """The air of the box."""

    temperature: Temperature = setting(..., "Temperature, T in formulas.", unit="K")
    pressure: Pressure | None = setting(None, "Pressure, p in formulas; gives the air density.", unit="Pa")
    humidity: Factor | None = setting(None, "Relative humidity; gives H2O unless [fixed] does.", unit="1")
    location: Location | None = setting(None, "Gives the sun unless [rates] does.")


class BoxFixed(Section):
    """Concentrations that are prescribed."""

    M: Concentration | None = setting(None, "Air density, in place of the pressure.", unit=CONCENTRATION)
    O2: Concentration | None = setting(
        None, "Oxygen, a constant fraction of M; by default 0.2095 M.", unit=CONCENTRATION
    )
    N2: Concentration | None = setting(
        None, "Nitrogen, a constant fraction of M; by default 0.7808 M.", unit=CONCENTRATION
    )
    H2O: Concentration | None = setting(None, "Water vapour.", unit=CONCENTRATION)


class BoxRates(Section):
    """What a mechanism's rates leave open: the sun."""

    sec_zenith: Factor | None = setting(None, "Secant of the solar zenith angle.", unit="1")
    SUN: Factor | None = setting(None, "Its cosine, in place of sec_zenith; 0 at night.", unit="1")
    daylight: Factor | None = setting(
        None, "Factor on photolysis: 0 at night, 1 in clear daylight; by default 1 while the sun is up.", unit="1"
    )


class BoxSolver(Section):
    """How it is integrated."""

    method: Literal["gauss-seidel"] = setting("gauss-seidel", "Two-step BDF, Gauss-Seidel iteration over the species.")
    step: Time = setting("300 s", "Longest step.")
    sweeps: Whole = setting(2, "Sweeps of the iteration in each step.", ge=1, le=1000)


class BoxConditions(Section):
    """Everything that a box needs to know besides its mechanism; `docs/box.md` lists it."""

    title: str = setting("Airshed box", "What the box is called in files.")
    time: BoxTime
    environment: BoxEnvironment
    initial: Mapping[str, StateValue] = setting({}, "Species at the start; those not named are 0.", unit=CONCENTRATION)
    fixed: BoxFixed = Field(default_factory=BoxFixed)
    rates: BoxRates = Field(default_factory=BoxRates)
    emission: Mapping[str, Source] = setting({}, "Sources of species.", unit=f"{CONCENTRATION}/s")
    deposition: Mapping[str, LossRate] = setting({}, "Loss rates of species.", unit="1/s")
    solver: BoxSolver = Field(default_factory=BoxSolver)

    _name: str = PrivateAttr(default="box")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a conditions file; raises CaseError with file, line and key for everything that is wrong with it."""
        file = Path(path)
        data, text = read_toml(file)
        lines = key_lines(text)

        def locate(key: KeyPath) -> str:
            known = next((key[:n] for n in range(len(key), 0, -1) if key[:n] in lines), ())
            return f"{file.name}:{lines[known]}" if known else ""

        conditions = cls._build(data, locate, file)
        conditions._name = file.stem
        return conditions

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Build conditions from nested dictionaries with the keys of a conditions file; raises CaseError."""
        return cls._build(data, lambda key: "", None)

    @classmethod
    def _build(cls, data: Mapping[str, Any], locate: Any, file: Path | None) -> Self:
        try:
            return cls.model_validate(dict(data))
        except ValidationError as error:
            raise CaseError(explain(error, cls, data, locate, file, "the conditions")) from error

    @model_validator(mode="after")
    def _one_of_each(self) -> Self:
        if (self.environment.pressure is None) == (self.fixed.M is None):
            both = "" if self.fixed.M is None else ", not both"
            raise refuse(f"the air density needs environment.pressure or fixed.M{both}")
        if self.rates.sec_zenith is not None and self.rates.SUN is not None:
            raise refuse("rates.sec_zenith and rates.SUN say the same thing: give one of them")
        return self

    @property
    def name(self) -> str:
        """The name of the file without its suffix; "box" without a file."""
        return self._name

    def to_toml(self) -> str:
        """Return the conditions, all defaults filled in, as the text of a conditions file."""
        return write_toml(self.to_dict())
