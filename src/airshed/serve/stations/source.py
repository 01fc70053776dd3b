"""Files of observations of a case."""

from typing import Final

from airshed.case.case import RunCase
from airshed.core.errors import AirshedError
from airshed.evaluate.observation_files import ObservationFiles

FOLDER: Final = "observations"
"""Folder of a case with the observations that a server shows."""


def case_observations(case: RunCase) -> ObservationFiles | None:
    """Return the files in the folder ``observations`` of a case; None without one, or where it has no such files."""
    folder = None if case.file is None else case.file.parent / FOLDER
    if folder is None or not folder.is_dir():
        return None
    try:
        return ObservationFiles.of([folder], [], time=None, averaging=None, units=None)
    except AirshedError:
        return None
