"""The processes that a case asks for: those of the package ``air.processes``, and the case's own files."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from airshed.core.errors import CaseError
from airshed.grid import Grid
from airshed.mechanism.network import ReactionNetwork
from airshed.mechanism.reaction import Species
from airshed.models.air import processes
from airshed.models.air.asked import Asked, OwnFiles, check_weather_unit
from airshed.models.air.case import Case
from airshed.models.air.light import Light
from airshed.models.air.weather.extra import KNOWN, WeatherField, WeatherNeeds
from airshed.models.air.weather.state import UNITS, MetState, state_shapes
from airshed.parallel.subdomain import Subdomain
from airshed.process.bound import Bound, identifier, refuse_idle
from airshed.process.cell_updates import OwnField, own_fields
from airshed.process.discovery import processes_of
from airshed.process.place import MARGIN, Place
from airshed.process.processes import Processes

Array = npt.NDArray[np.float64]


def own_processes(case: Case) -> tuple[Asked, ...]:
    """Return the processes in files of the case, which run only where the user lets them; raises CaseError."""
    asked = tuple(OwnFiles(case.process, case.base, case.allow_code, "Case.allowing_code()").asked())
    _check_weather(asked)
    _check_names(asked)
    return asked


def fields_of_processes(asked: Sequence[Asked]) -> tuple[OwnField, ...]:
    """Return the fields that processes of the package, and those of a case, add to the model."""
    return own_fields([*processes_of(processes), *(each.process for each in asked)])


def with_transported(network: ReactionNetwork, fields: Sequence[OwnField]) -> ReactionNetwork:
    """Return a mechanism with the fields that the air carries as further species, without reactions."""
    known = {name.casefold() for name in network.names}
    for each in fields:
        if each.name.casefold() in known:
            raise CaseError(f"process {each.owner}: its field {each.name} is also a species of the case; rename it")
        known |= {each.name.casefold()} if each.field.transported else set()
    carried = tuple(
        Species(each.name, each.field.atoms, each.field.text.rstrip(".")) for each in fields if each.is_species
    )
    return replace(network, species=(*network.species, *carried)) if carried else network


def processes_in(case: Case, place: Place, asked: Sequence[Asked]) -> Processes:
    """Return the processes that are on; raises CaseError for settings that do not fit the mechanism.

    asked  those in files of the case
    """
    built_in = [(each.section, each(getattr(case, each.section), place)) for each in processes_of(processes)]
    own = [(each.where, each.at(place, case.chemistry.mechanism)) for each in asked]
    for where, each in (*built_in, *own):
        refuse_idle(where, each)
    return Processes(Bound(each) for _, each in (*built_in, *own) if each.is_on())


def _check_weather(asked: Sequence[Asked]) -> None:
    """Refuse a process that declares a field of the weather in another unit than it has."""
    units = {**UNITS, **{each.name: each.unit for each in KNOWN}}
    for each in asked:
        for weather in each.process.declaration.weather.values():
            check_weather_unit(each.where, weather, units)


def _check_names(asked: Sequence[Asked]) -> None:
    """Refuse two processes of one name, by which their fields, numbers and settings are known."""
    classes = {identifier(each.__name__): "the package" for each in processes_of(processes)}
    sections = {each.section: "the package" for each in processes_of(processes)}
    for each in asked:
        for name, known, what in (
            (identifier(each.process.__name__), classes, "class name"), (each.process.section, sections, "section"),
        ):  # fmt: skip
            if name in known:
                raise CaseError(f"{each.where} has the same {what} as a process of {known[name]}: {name}; rename it")
            known[name] = each.where


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
