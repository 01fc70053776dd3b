"""The processes that a case asks for: those of the package ``air.processes``, and the case's own files."""

from collections.abc import Iterator, Mapping
from functools import partial
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError

from airshed.air import processes
from airshed.air.case import Case
from airshed.air.light import Light
from airshed.air.meteorology.extra import KNOWN, WeatherField, WeatherNeeds
from airshed.air.meteorology.state import MetState, state_shapes
from airshed.case.messages import explain
from airshed.core.errors import CaseError
from airshed.core.text import suggestion
from airshed.grid import Grid
from airshed.mechanism.network import ReactionNetwork
from airshed.parallel.subdomain import Subdomain
from airshed.process.bound import Bound
from airshed.process.declaration import Process
from airshed.process.discovery import process_of_file, processes_of, section_of
from airshed.process.place import MARGIN, Place
from airshed.process.processes import Processes

Array = npt.NDArray[np.float64]


def processes_in(case: Case, place: Place) -> Processes:
    """Return the processes that are on; raises CaseError for settings that do not fit the mechanism.

    Those in files of the case run only where the user lets them.
    """
    built_in = (each(getattr(case, each.section), place) for each in processes_of(processes))
    return Processes(Bound(each) for each in (*built_in, *_of_files(case, place)) if each.is_on())


def place_of(
    case: Case, network: ReactionNetwork, whole: Grid, subdomain: Subdomain, land: Array, light: Light,
    about: Mapping[str, Any],
) -> Place:  # fmt: skip
    """Return what processes are told of a case.

    whole      the grid of the case;  subdomain  this rank's part of it;  land  (lat, lon) land fraction there
    about      see :class:`airshed.process.place.Place`
    """
    window = subdomain.window
    grid, wider = whole.part(window), window.grown(MARGIN, *whole.shape[1:])
    shapes = state_shapes(grid) | {each.name: each.shape(grid) for each in KNOWN}
    return Place(
        network.names, grid, whole, land, light.cos_zenith, case.start,
        {name: shape[0] if len(shape) == 3 else 1 for name, shape in shapes.items()},
        whole.part(wider), window.within(wider),
        {species.name: species.molar_mass for species in network.species},
        about, case.files, subdomain.total_over_columns,
    )  # fmt: skip


def weather_needs(processes: Processes) -> WeatherNeeds:
    """Return what processes want of the weather besides what every state holds; DataError where two differ."""
    always, known = set(MetState.__dataclass_fields__), {each.name: each for each in KNOWN}
    wanted = [
        known.get(each.field) or WeatherField(each.field, each.cf_name, each.unit, -inf, inf, each.shape)
        for each in processes.weather
        if each.field not in always
    ]
    return (
        WeatherNeeds.together(WeatherNeeds((each,), processes.margin) for each in wanted)
        if wanted
        else (WeatherNeeds((), processes.margin))
    )


def _of_files(case: Case, place: Place) -> Iterator[Process]:
    for number, entry in enumerate(case.process):
        where, path = f"process.{number}", case.path(entry.file)
        if not path.is_file():
            raise CaseError(f"{where}.file = {entry.file!r}: there is no such file in {case.base}")
        if not case.allow_code:
            raise CaseError(
                f"{where}.file = {entry.file!r} is code in Python, which runs with your rights: read it, then give "
                "--allow-code, or Case.allowing_code() in Python"
            )
        process = process_of_file(path)
        model = section_of(process)
        try:
            settings = model.model_validate(entry.given)
        except ValidationError as error:
            shown = f"{where}, {entry.file}"
            raise CaseError(explain(error, model, entry.given, partial(_always, shown), None)) from error
        made = process(settings, place)
        for name, each in process.declaration.settings.items():
            unknown = [key for key in getattr(made, name) if key not in place.species] if each.by_species else []
            if unknown:
                raise CaseError(
                    f"{where}.{name}: {unknown[0]!r} is not a species of {case.chemistry.mechanism}; "
                    f"{suggestion(unknown[0], place.species)}"
                )
        yield made


def _always(shown: str, _: Any) -> str:
    """The place of every key of a process, which stands in a file of its own."""
    return shown
