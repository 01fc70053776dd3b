"""The case of a run at a station: soil, pasture, where it starts, what is done on which days, options of processes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from pydantic import Field, ValidationError, create_model

from airshed.case.messages import explain
from airshed.case.places import locator
from airshed.case.toml import KeyPath, key_lines, override, read_toml
from airshed.core.errors import CaseError
from airshed.core.settings import Number, Section, setting
from airshed.models.pasture import processes
from airshed.models.pasture.classes import Trees, read_class
from airshed.models.pasture.events import DateText, Day, EventsSection
from airshed.models.pasture.fields import STATE
from airshed.models.pasture.processes.humidity import GIVEN
from airshed.process.discovery import processes_of, sections_of

PROCESSES: Final = processes_of(processes)

_STATES: Final[Mapping[str, Any]] = {
    spec.name: (Number | None, setting(None, spec.text, unit=spec.unit, ge=0.0)) for spec in STATE
}


class _Initial(Section):
    """Where the run starts; what is not given is 0, but for water, the pasture's basal area, and 200 kg of weight."""

    wetness: Number = setting(
        0.9, "Water of layers that are not given: part of what they hold above the lower limit.", unit="1", ge=0.0
    )


class _Set(Section):
    """Fields of the state that are set at the beginning of a day."""

    date: Day = setting(..., 'The day: "09-01" in each year, "1990-09-01" in one.')


Initial: Any = create_model("Initial", __base__=_Initial, **_STATES)
Set: Any = create_model("Set", __base__=_Set, **_STATES)


class PointEvents(EventsSection):
    """What is done on given days."""

    set: tuple[Set, ...] = Field(default_factory=tuple)


class LandSection(Section):
    """Trees and animals."""

    tree_basal_area: Number = setting(0.0, "Basal area of trees.", unit="m2 ha-1", ge=0.0)
    stocking: Number = setting(0.0, "Animals on a hectare, if grazing is on.", unit="ha-1", ge=0.0)
    trees: Trees = Field(default_factory=Trees)


class WeatherSection(Section):
    """Which days of the weather, and litter where it is given."""

    first: DateText = setting("", 'The first day of the run, "1957-01-01"; by default that of the weather.')
    last: DateText = setting("", "Its last day.")
    litter: str = setting("", "A CSV file with the columns date and litter [kg/ha], of each day at its end.")


class _FixedPoint(Section):
    title: str = setting("Pasture at a station", "What the run is called.")
    precision: str = setting("double", "Of what is computed.", pattern="^(double|single)$")
    soil: Mapping[str, Any] = setting(..., 'The soil: set = "site67", or all its numbers, or both.')
    pasture: Mapping[str, Any] = setting(..., "The pasture, alike.")
    land: LandSection = Field(default_factory=LandSection)
    initial: Initial = Field(default_factory=Initial)
    events: PointEvents = Field(default_factory=PointEvents)
    weather: WeatherSection = Field(default_factory=WeatherSection)


PointCase: Any = create_model("PointCase", __base__=_FixedPoint, **sections_of(PROCESSES))
"""All that a run at a station needs to know but its weather."""


def read_point(path: Path, overrides: Sequence[str] = ()) -> Any:
    """Return the case of a file and ``key=value`` overrides; raises CaseError with file, line and key."""
    data, text = read_toml(path)
    changed = [override(data, assignment) for assignment in overrides]
    return _build(data, path, changed, key_lines(text))


def point_case(data: Mapping[str, Any]) -> Any:
    """Return the case of nested dictionaries with the keys of a file; raises CaseError."""
    return _build(dict(data), None, (), {})


def _build(data: dict[str, Any], file: Path | None, changed: Sequence[KeyPath], lines: Mapping[KeyPath, int]) -> Any:
    locate = locator(data, changed, file, lines)
    what = str(file) if file is not None else "the case"
    if "given" not in data.get("humidity", {}):
        words = ", ".join(f'"{word}"' for word in GIVEN)
        raise CaseError(
            f"{what} does not say what the weather's humidity is, and a file's label may be wrong: give humidity.given "
            f"as one of {words}"
        )
    try:
        case = PointCase.model_validate(data)
    except ValidationError as error:
        raise CaseError(explain(error, PointCase, data, locate, file)) from error
    for kind in ("soil", "pasture"):
        read_class(kind, getattr(case, kind), f"{what}: [{kind}]")
    return case


def of_day(events: Sequence[Any], dates: Any) -> Mapping[int, Mapping[str, float]]:
    """Return what is set at the beginning of days, by the number of the day among dates."""
    written = np.datetime_as_string(np.asarray(dates, "datetime64[D]"))
    found: dict[int, dict[str, float]] = {}
    for event in events:
        values = {spec.name: value for spec in STATE if (value := getattr(event, spec.name)) is not None}
        for day in np.flatnonzero(np.char.endswith(written, event.date)):
            found.setdefault(int(day), {}).update(values)
    return found
