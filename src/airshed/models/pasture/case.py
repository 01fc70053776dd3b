"""The case of a pasture run: which inputs, which options of the processes, what is done on which days."""

from typing import TYPE_CHECKING, Any, Final, Literal

from pydantic import Field, create_model

from airshed.case import sections
from airshed.case.case import RunCase
from airshed.case.values import Interval, PathText, Text
from airshed.core.settings import Section, setting
from airshed.models.pasture import processes
from airshed.models.pasture.events import EventsSection
from airshed.models.points.sections import AdjointSection
from airshed.models.points.sections import ReceptorSection as PointReceptorSection
from airshed.process import Process
from airshed.process.discovery import processes_of, section_of, sections_of

PROCESSES: Final = processes_of(processes)


class InputsSection(Section):
    """Where the land and its weather come from."""

    folder: PathText = setting("inputs", "Folder of inputs, as `airshed pasture prepare` makes them.")
    strategy: Literal["every", "root"] = setting(
        "every", "Who reads weather: every rank its own part, or the first rank, which hands on the parts."
    )


class OutputSection(sections.OutputSection):
    """One file of results."""

    every: Interval = setting("1 day", "Time between two records.")


class RestartSection(sections.RestartSection):
    """Insurance against interruption."""

    every: Interval = setting("90 day", "Time between two restart files; the last two are kept.")


class ReceptorSection(PointReceptorSection):
    """What `airshed adjoint` measures, where and when; a run does not read it. Without a place it is all land."""

    field: Text = setting("standing_dry_matter", "Field that is measured: of the state, or a flux.")


class _FixedCase(RunCase):
    """Everything that a run of the pasture model needs to know."""

    own_before = "output"

    model: Literal["pasture"] = setting("pasture", "The model that runs the case.")
    inputs: InputsSection = Field(default_factory=InputsSection)
    precision: Literal["double", "single"] = setting("double", "Of the state, and of what is computed.")
    events: EventsSection = Field(default_factory=EventsSection)
    output: tuple[OutputSection, ...] = Field(default_factory=lambda: (OutputSection(),))
    restart: RestartSection = Field(default_factory=RestartSection)
    adjoint: AdjointSection = Field(default_factory=AdjointSection)
    receptor: ReceptorSection = Field(default_factory=ReceptorSection)


if TYPE_CHECKING:

    class PastureCase(_FixedCase):
        """A case with the sections that processes declare."""

        def __getattr__(self, section: str) -> Any: ...

else:
    PastureCase = create_model(
        "PastureCase", __base__=_FixedCase, __module__=__name__, __doc__=_FixedCase.__doc__,
        **sections_of(each for each in PROCESSES if each.declaration.settings),
    )  # fmt: skip


def processes_in(case: PastureCase) -> list[Process]:
    """Return the processes of a case, those that are off among them."""
    return [each(getattr(case, each.section, None) or section_of(each)()) for each in PROCESSES]
