"""Case of a pasture run: inputs, options of the processes, and events.

It writes its page: ``python -m airshed.models.pasture.case > docs/reference/pasture-case-file.md``.
"""

import re
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import numpy as np
import numpy.typing as npt
from pydantic import AfterValidator, BeforeValidator, Field, create_model

from airshed.case import sections
from airshed.case.case import RunCase, sections_document
from airshed.case.values import Interval, PathText, Text
from airshed.core.settings import KEY, Number, Section, refuse, setting
from airshed.models.pasture import processes
from airshed.models.points.sections import AdjointSection
from airshed.models.points.sections import ReceptorSection as PointReceptorSection
from airshed.process import Process
from airshed.process.discovery import processes_of, section_of, sections_of

PROCESSES: Final = processes_of(processes)
Dates = npt.NDArray[np.datetime64]
_LEAP_YEAR: Final = "2000"


def _day(value: str) -> str:
    """Return a day, "09-01" of every year or "1990-09-01"."""
    try:
        if re.fullmatch(r"(\d{4}-)?\d{2}-\d{2}", value, re.ASCII) is None:
            raise ValueError
        np.datetime64(value if len(value) > 5 else f"{_LEAP_YEAR}-{value}")
    except ValueError as error:
        raise refuse(f'{KEY} = {value!r} is not a day; write "09-01" for each year, or "1990-09-01"') from error
    return value


def _written(value: object) -> object:
    """Return a date of TOML as text."""
    return value.isoformat() if isinstance(value, date) else value


DateText = Annotated[str, BeforeValidator(_written)]
Day = Annotated[DateText, AfterValidator(_day)]
"""Day of every year, or of one year."""


class Fire(Section):
    """Fire."""

    date: Day = setting(..., 'Day of the fire: "09-01" in each year, or "1990-09-01".')
    fraction: Number = setting(1.0, "Fraction of standing dry matter and litter that burns.", unit="1", ge=0.0, le=1.0)


class EventsSection(Section):
    """Events on given days."""

    fire: tuple[Fire, ...] = Field(default_factory=tuple)


def burnt_fraction(events: EventsSection, dates: Dates) -> npt.NDArray[np.float64]:
    """Return the burnt fraction on each day, 0 without a fire; a second fire burns the remaining dry matter."""
    written = np.datetime_as_string(dates.astype("datetime64[D]"))
    left = np.ones(dates.shape)
    for fire in events.fire:
        left[np.char.endswith(written, fire.date)] *= 1.0 - fire.fraction
    return 1.0 - left


class InputsSection(Section):
    """Land and weather."""

    folder: PathText = setting("inputs", "Folder of inputs, see `airshed pasture prepare`.")
    strategy: Literal["every", "root"] = setting(
        "every", "Reading of weather: every rank its own part, or the first rank for all ranks."
    )


class OutputSection(sections.OutputSection):
    """Output file."""

    every: Interval = setting("1 day", "Time between two records.")


class RestartSection(sections.RestartSection):
    """Restart files, from which an interrupted run resumes."""

    every: Interval = setting("90 day", "Time between two restart files; the last two are retained.")


class ReceptorSection(PointReceptorSection):
    """Receptor of `airshed adjoint`; a run does not read it. Without a location it is all land cells."""

    field: Text = setting("standing_dry_matter", "Field of the receptor: a state variable or a flux.")


class _FixedCase(RunCase):
    """Settings of a run of the pasture model."""

    insert_before = "output"
    fixed_settings = (*RunCase.fixed_settings, "inputs", "precision", "adjoint", "receptor")

    model: Literal["pasture"] = setting("pasture", "The model that runs the case.")
    inputs: InputsSection = Field(default_factory=InputsSection)
    precision: Literal["double", "single"] = setting("double", "Precision of the state and of the computation.")
    events: EventsSection = Field(default_factory=EventsSection)
    output: tuple[OutputSection, ...] = Field(default_factory=lambda: (OutputSection(),))
    restart: RestartSection = Field(default_factory=RestartSection)
    adjoint: AdjointSection = Field(default_factory=AdjointSection)
    receptor: ReceptorSection = Field(default_factory=ReceptorSection)


if TYPE_CHECKING:

    class PastureCase(_FixedCase):
        """Case with the declared sections of processes."""

        def __getattr__(self, section: str) -> Any: ...

else:
    PastureCase = create_model(
        "PastureCase", __base__=_FixedCase, __module__=__name__, __doc__=_FixedCase.__doc__,
        **sections_of(each for each in PROCESSES if each.declaration.settings),
    )  # fmt: skip


def processes_in(case: PastureCase) -> list[Process]:
    """Return the processes of a case, also of sections that are off."""
    return [each(getattr(case, each.section, None) or section_of(each)()) for each in PROCESSES]


_INTRODUCTION = """\
# The case file of the pasture model

<!-- Made by `python -m airshed.models.pasture.case > docs/reference/pasture-case-file.md`; do not edit. -->

A case is a folder with a `case.toml` whose first line is `model = "pasture"`:

    airshed run cases/queensland --set grazing.stocking_rate=0.2

Quantities, times, paths and `--set` have the form of [the case file of the air](case-file.md). Some numbers of
processes can be changed while the model runs. They are set by section and name:
`simulation["grazing_stocking_rate"] = 0.2` if `grazing.on = true`.

The smallest case has `model`, [time] `start` and `length`, and [inputs] `folder`.
"""


def case_file_document() -> str:
    """Return the document in Markdown."""
    return sections_document(PastureCase, _INTRODUCTION)


if __name__ == "__main__":
    print(case_file_document(), end="")
