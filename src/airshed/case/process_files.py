"""Processes that a case or the conditions of a box request, with those in files of a user."""

from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, ValidationError

from airshed.case.messages import explain
from airshed.case.values import PathText
from airshed.core.errors import CaseError
from airshed.core.settings import Section, setting
from airshed.core.text import suggestion
from airshed.core.units import same_unit
from airshed.process.context import ProcessContext
from airshed.process.declaration import Process
from airshed.process.discovery import process_of_file, section_of
from airshed.process.kinds import Weather


class ProcessSection(Section):
    """A process of the user: a class in a Python file, and its settings next to `file`.

    docs/how-to/adding-a-process.md shows one. The file is run only with `--allow-code`.
    """

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False, validate_default=True)

    file: PathText = setting(..., "Python file that declares one process, relative to the case.")

    def to_dict(self) -> dict[str, Any]:
        """Return the file and the settings as they are written."""
        return {"file": self.file, **self.given}

    @property
    def given(self) -> dict[str, Any]:
        """The settings of the process, as they are written."""
        return dict(self.model_extra or {})


@dataclass(frozen=True)
class RequestedProcess:
    """A process that a case requests, before it has a context.

    where  the key of its settings, for messages
    """

    where: str
    process: type[Process]
    settings: Section

    def at(self, context: ProcessContext, mechanism: str) -> Process:
        """Return it in a context; raises CaseError for a species in its tables that the mechanism does not have."""
        made = self.process(self.settings, context)
        for name, each in self.process.declaration.settings.items():
            unknown = [key for key in getattr(made, name) if key not in context.species] if each.by_species else []
            if unknown:
                raise CaseError(
                    f"{self.where}.{name}: {unknown[0]!r} is not a species of {mechanism}; "
                    f"{suggestion(unknown[0], context.species)}"
                )
        is_own = not self.process.__module__.startswith("airshed.")
        if is_own and self.process.is_on is Process.is_on and not made.is_on():
            raise CaseError(
                f"{self.where}: nothing would act, since no table names a species; name some, or leave it out"
            )
        return made


def check_weather_unit(where: str, asked: Weather, units: MutableMapping[str, str]) -> None:
    """Raise CaseError for a weather field in another unit than before; store the unit of a new field."""
    known = units.setdefault(asked.field, asked.unit)
    if not same_unit(asked.unit, known):
        raise CaseError(f"{where} requires {asked.field} in {asked.unit}, which is in {known}; declare it in that unit")


def processes_of_files(
    entries: Sequence[ProcessSection], folder: Path, permission: str, *, allowed: bool
) -> list[RequestedProcess]:
    """Run the files of a user, and return their processes, with settings checked against their declarations.

    entries     the [[process]] of a case or of conditions;  folder  that their files are relative to
    permission  the way to let them run in Python, for the message that they may not;  allowed  whether they may

    Raises CaseError for a file that does not exist, may not run, or fails.
    """
    found = []
    for number, entry in enumerate(entries):
        where, path = f"process.{number}", folder / entry.file
        if not path.is_file():
            raise CaseError(f"{where}.file = {entry.file!r}: there is no such file in {folder.absolute()}")
        if not allowed:
            raise CaseError(
                f"{where}.file = {entry.file!r} is code in Python, which runs with your rights: read it, then give "
                f"--allow-code, or {permission} in Python"
            )
        process = process_of_file(path)
        model, shown = section_of(process), f"{where}, {entry.file}"
        try:
            found.append(RequestedProcess(where, process, model.model_validate(entry.given)))
        except ValidationError as error:
            raise CaseError(explain(error, model, entry.given, partial(_always, shown), None)) from error
    return found


def _always(shown: str, _: Any) -> str:
    return shown
