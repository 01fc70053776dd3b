"""Processes in boxes: their reactions, loss rates and sources, from the same declarations as in the 3-D model.

    D = sum of L + sum of F / A,     E = sum of S M

with loss rates L [1/s] and sources S [mol/mol/s] in air of density M [molecules cm-3]. F [mol/s] is the air with which
species settle through the lower face of a box that contains A [mol] of air. The rates are the formulas that kernels
compile, evaluated by NumPy at several times together. Operators between cells are omitted.

For a process each box is a column of one layer and 1 m2. All columns are at the location of the conditions. Properties
of the location that the conditions do not give are NaN.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from math import nan
from pathlib import Path
from typing import Any, Final

import numpy as np

from airshed.case.process_files import RequestedProcess, check_weather_unit, processes_of_files
from airshed.core.arrays import Array
from airshed.core.constants import AVOGADRO
from airshed.core.errors import CaseError, DataError
from airshed.core.text import suggestion
from airshed.formula import evaluate
from airshed.formula.tree import symbols
from airshed.grid import Grid
from airshed.grid.window import Window
from airshed.kernels.operators import AIR, Kind
from airshed.mechanism.network import ReactionNetwork
from airshed.models.air.fields import SURFACE, WEATHER
from airshed.models.air.species_map.fit import with_particles
from airshed.models.air.species_map.parts import DepositionMap
from airshed.models.air.species_map.read import species_map_of
from airshed.models.box.conditions import PROCESSES, BoxConditions, BoxEnvironment, midnight
from airshed.models.box.values import Value, parse_value
from airshed.process.bound_process import OF_SPECIES, BoundProcess, refuse_idle
from airshed.process.context import ProcessContext
from airshed.process.kinds import OFFERED, Weather, arguments

Rate = tuple[str, int, Array]
"""Section "deposition" [1/s] or "emission" [molecules cm-3 s-1], number of the species, and values (cell, time)."""
_ANY_HEIGHT: Final = 1.0  # placeholder if no process requires the height
_AT_THE_GROUND: Final = frozenset(spec.name for spec in WEATHER if spec.dims == SURFACE)

OF_AIR: Final[Mapping[str, tuple[str, ...]]] = {
    "temperature": ("T",), "pressure": ("p",), "air_density": ("M",), "water_vapour": ("H2O", "M"),
}  # fmt: skip
"""Weather fields that follow from [environment], with the names in formulas that they need."""

_CUBIC_CENTIMETRES: Final = 1e6

_FOLLOWS_FROM: Final[Mapping[str, tuple[str, ...]]] = {
    **OF_AIR, "air": ("M",), "cos_zenith": ("SUN",), "light": ("daylight",), "sun_height": ("SUN",),
}  # fmt: skip
"""Arguments of processes, with the names in formulas of conditions from which they follow."""

_OF_HEIGHT: Final = {"air", "thickness", "layer_thickness"}
_SUN: Final = "height of the sun"
_STORED: Final = 4  # size of the cache of bound processes, by number of columns

_ALWAYS: Final = {
    spec.name: spec.unit for spec in WEATHER if not spec.name.startswith("air_") and spec.name not in OF_AIR
}
"""Weather fields that methods may read without a declaration, and their units."""


@dataclass(frozen=True)
class Moment:
    """Conditions of boxes at some times: (cell, time), with size 1 for an axis without variation.

    times    times (time,) [s since local midnight of the first day]
    values   values by their names in formulas
    weather  fields of [weather]
    sun      cosine of the solar zenith angle; None if the conditions do not give it
    """

    times: Array
    values: Mapping[str, Array]
    weather: Mapping[str, Array]
    sun: Array | None

    @cached_property
    def air(self) -> dict[str, Array]:
        """Available properties of the air, by their names in processes."""
        values = self.values
        own = {"T": "temperature", "p": "pressure", "SUN": "cos_zenith", "daylight": "light"}
        found = {name: values[each] for each, name in own.items() if each in values}
        if "M" in values:
            found["air_density"] = values["M"] * (_CUBIC_CENTIMETRES / AVOGADRO)
            if "H2O" in values:
                found["water_vapour"] = values["H2O"] / values["M"]
        return found

    @property
    def state(self) -> dict[str, Array]:
        """All weather fields."""
        return {name: self.air[name] for name in OF_AIR if name in self.air} | dict(self.weather)


class BoxProcess:
    """Process in boxes; raises CaseError for settings that do not fit the mechanism.

    name       name of its section
    order      order among processes
    is_on      whether its settings enable it
    operators  operators that apply to a box
    reactions  reactions that it adds to the mechanism
    """

    def __init__(
        self, asked: RequestedProcess, environment: BoxEnvironment, network: ReactionNetwork, substances: DepositionMap
    ) -> None:
        self.name, self.order = asked.process.section, asked.process.order
        self._own, self._environment, self._sun = asked.process.declaration, environment, np.full(1, nan)

        def bind(columns: int) -> BoundProcess:
            context = _context(columns, environment, network, substances, lambda seconds: self._sun[None])
            return BoundProcess(asked.at(context, network.name), OF_SPECIES)

        self._bound = lru_cache(_STORED)(bind)
        bound = self._bound(1)
        if any(act.kind in OF_SPECIES for act in self._own.operators.values()):
            refuse_idle(asked.where, bound.process)
        self.is_on = bound.process.is_on()
        self.reactions = bound.reactions if self.is_on else ()
        self.operators = bound.operators if self.is_on and not asked.process.margin else ()
        acts = [each for each in self._own.operators.values() if each.kind in OF_SPECIES and self.operators]
        self._arguments = frozenset(self._followed(name for act in acts for name in arguments(act.function)))
        instants = [name for name in self._arguments if name in self._own.instants]
        self._has_methods = any(self._is_method(name) for name in instants)
        """True if a function of instants may read any field."""

    def _followed(self, names: Iterable[str]) -> Iterator[str]:
        """Yield arguments, and the arguments of the functions of instants that compute them."""
        for name in names:
            yield name
            if name in self._own.instants and not self._is_method(name):
                yield from self._followed(arguments(self._own.instants[name].function))

    def _is_method(self, name: str) -> bool:
        return arguments(self._own.instants[name].function)[:1] == ("self",)

    @cached_property
    def weather(self) -> dict[str, Weather]:
        """Weather fields of the process by their names in the state; with methods all declared fields."""
        declared = self._own.weather.items()
        return {each.field: each for name, each in declared if self._has_methods or name in self._arguments}

    @cached_property
    def _location_and_air_inputs(self) -> frozenset[str]:
        """Properties of the air that rates read, and of the location that functions of instants read."""
        found = {name for each in self.operators for rate in each.rate for name in symbols(rate) if name in AIR}
        found |= {"air"} if any(each.kind == "settling" for each in self.operators) else set()
        known = {*self._own.settings, *self._own.weather, *self._own.instants}
        return frozenset(found | {name for name in self._arguments if name in OFFERED and name not in known})

    @property
    def needs(self) -> set[str]:
        """Required names in formulas of conditions."""
        read = self._location_and_air_inputs | {name for name, each in self.weather.items() if not each.optional}
        of_sources = {"M"} if any(each.kind == "source" for each in self.operators) else set()
        return {name for each in read for name in _FOLLOWS_FROM.get(each, ())} | of_sources

    def touched(self, section: str) -> set[int]:
        """Return the numbers of species with a rate in "deposition" or "emission"."""
        return {species for each in self.operators if _section(each.kind) == section for species in each.species}

    def check(self, weather: Iterable[str]) -> None:
        """Raise CaseError if the conditions lack the height, the land fraction, or a field of [weather]."""
        environment, given = self._environment, set(weather)
        if environment.height is None and (self._has_methods or self._location_and_air_inputs & _OF_HEIGHT):
            raise CaseError(f'{self.name} needs the height of the box; give environment.height, such as "1 km"')
        if environment.land_fraction is None and "land_fraction" in self._location_and_air_inputs:
            raise CaseError(f"{self.name} needs the land fraction; give environment.land_fraction, from 0 to 1")
        for name, each in self.weather.items():
            if not each.optional and name not in OF_AIR and name not in given:
                needed = f"{self.name} needs {name} [{each.unit}], which the conditions do not give"
                raise CaseError(f"{needed}; {advice_for(name)}")

    def rates(self, moment: Moment) -> Iterator[Rate]:
        """Yield losses and sources at some times; raises DataError if a field is not finite."""
        given = {**self._box_air(moment), **self._fields(moment)}
        for operator in self.operators:
            numbers = {name: np.reshape(each, (-1, 1, 1)) for name, each in operator.numbers.items()}
            rate = evaluate(operator.rate[0], {**given, **numbers})
            if operator.kind == "settling":
                rate = rate / given["air"]
            elif operator.kind == "source":
                rate = rate * moment.values["M"]
            full = np.broadcast_to(rate, (len(operator.species), *np.broadcast_shapes(rate.shape, (1, 1))[-2:]))
            for species, own in zip(operator.species, full, strict=True):
                yield _section(operator.kind), species, own

    def _box_air(self, moment: Moment) -> dict[str, Array]:
        """Return the air of the box with a base of 1 m2."""
        height, air = self._environment.height, moment.air
        if height is None:
            return air
        content = {"air": air["air_density"] * height.value} if "air_density" in air else {}
        return {**air, **content, "thickness": np.full((1, 1), height.value)}

    def _fields(self, moment: Moment) -> dict[str, Array]:
        """Return the fields of instants, (cell, time) or (species, cell, time).

        Functions receive all boxes and times together, as columns. Methods receive the boxes at one time per call.
        """
        if not any(each.fields for each in self.operators):
            return {}
        free, read = self._has_methods, self._location_and_air_inputs
        given = {name: each for name, each in moment.state.items() if free or name in self.weather}
        if moment.sun is not None and (free or "sun_height" in read):
            given[_SUN] = moment.sun
        clock = free or "seconds" in read
        shape = np.broadcast_shapes((1, moment.times.size if clock else 1), *(each.shape for each in given.values()))
        whole = {name: np.broadcast_to(each, shape) for name, each in given.items()}
        if not free:
            seconds = np.broadcast_to(moment.times[None], shape).reshape(-1) if clock else 0.0
            found = self._in_columns({name: each.reshape(-1) for name, each in whole.items()}, seconds)
            return {name: each.reshape(*each.shape[:-1], *shape) for name, each in found.items()}
        parts = [
            self._in_columns({name: each[:, number] for name, each in whole.items()}, time, shape[0])
            for number, time in enumerate(moment.times.tolist())
        ]
        return {name: np.stack([part[name] for part in parts], axis=-1) for name in parts[0]}

    def _in_columns(self, state: Mapping[str, Array], seconds: Any, columns: int = 1) -> dict[str, Array]:
        """Return the fields (column,) or (species, column) for a state (column,); seconds may be such an array."""
        columns = max([columns, np.size(seconds), *(each.size for each in state.values())])
        self._sun = state.get(_SUN, self._sun)
        bound = self._bound(columns)
        weather: Any = BoxWeather({name: each for name, each in state.items() if name != _SUN}, self.weather, self.name)
        found = bound.at(weather, seconds, lambda _: weather)
        by_species = {each.name: each.species for each in bound.fields}
        return {name: each.reshape((-1, columns) if by_species[name] else (columns,)) for name, each in found.items()}


def _section(kind: Kind) -> str:
    return "emission" if kind == "source" else "deposition"


@dataclass(frozen=True)
class BoxProcesses:
    """Processes in boxes.

    network  mechanism with the reactions of processes
    acting   processes with losses or sources, in order
    names    names of all processes with an effect, for reports
    notes    remarks on processes without an effect
    weather  fields of [weather] in the units of the processes
    """

    network: ReactionNetwork
    acting: tuple[BoxProcess, ...] = ()
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    weather: Mapping[str, Value] = field(default_factory=dict)


def processes_in_box(conditions: BoxConditions, network: ReactionNetwork, *, allow_code: bool) -> BoxProcesses:
    """Return the processes of conditions; raises CaseError for invalid or missing settings.

    allow_code  whether Python files of processes may run
    """
    sections = [name for name in PROCESSES if name in conditions.model_fields_set]
    asked = [RequestedProcess(name, PROCESSES[name], getattr(conditions, name)) for name in sections]
    asked += processes_of_files(conditions.process, conditions.folder, "allow_code=True", allowed=allow_code)
    for each in asked:
        for name in each.process.declaration.updates:
            raise CaseError(
                f"{each.where}: {name}() is an update, which boxes do not support; use loss, source or reactions"
            )
    substances = _deposition_map(network) if asked else DepositionMap()
    if "particles" in sections:
        substances = with_particles(substances, conditions.particles)
    found = [BoxProcess(each, conditions.environment, network, substances) for each in asked]
    found.sort(key=lambda each: each.order)
    acting = tuple(each for each in found if each.operators)
    weather = _weather(conditions, found)
    for one in acting:
        one.check(weather)
    reactions = tuple(reaction for each in found for reaction in each.reactions)
    notes = [
        f"{each.name} has no effect in a box: it acts between cells" if each.is_on else
        f"{each.name} has no effect: its settings disable it, or name no species of {network.name}"
        for each in found if not (each.operators or each.reactions)
    ]  # fmt: skip
    return BoxProcesses(
        replace(network, reactions=(*network.reactions, *reactions)) if reactions else network,
        acting,
        tuple(each.name for each in found if each.operators or each.reactions),
        tuple(notes),
        weather,
    )


def _weather(conditions: BoxConditions, processes: Sequence[BoxProcess]) -> dict[str, Value]:
    """Return the fields of [weather] in the units of processes; raises CaseError, also for conflicting units."""
    units = dict(_ALWAYS)
    declared = [(each.section, list(each.declaration.weather.values())) for each in PROCESSES.values()]
    for name, fields in [*declared, *((each.name, list(each.weather.values())) for each in processes)]:
        for each in fields:
            check_weather_unit(name, each, units)
    for name in conditions.weather:
        if name in OF_AIR:
            raise CaseError(f"weather.{name} follows from [environment] and [fixed]; remove it")
        if name not in units:
            known = [each for each in units if each not in OF_AIR]
            raise CaseError(f"weather.{name}: no process reads this field; {suggestion(name, known)}")
    return {
        name: parse_value(each, (units[name],), where=f"weather.{name}") for name, each in conditions.weather.items()
    }


def _context(
    columns: int, environment: BoxEnvironment, network: ReactionNetwork, substances: DepositionMap,
    sun_height: Callable[[float], Array],
) -> ProcessContext:  # fmt: skip
    """Return the context of boxes for processes; times are since local midnight of the first day.

    substances  surrogates of species for deposition
    sun_height  function that returns the cosine of the solar zenith angle (lat, lon) at a time [s]
    """
    location = environment.location
    top = _ANY_HEIGHT if environment.height is None else environment.height.value
    grid = Grid.lonlat(np.linspace(0.0, 1.0, columns + 1), (-0.5, 0.5), (0.0, top))
    lon, lat = (location.lon, location.lat) if location else (nan, nan)
    lons, lats, areas = (np.broadcast_to(each, (1, columns)) for each in (lon, lat, 1.0))
    grid = replace(grid, lon=lons, lat=lats, cell_area=areas)
    land = np.full((1, columns), nan if environment.land_fraction is None else environment.land_fraction)
    start = midnight(location) if location else np.datetime64("NaT", "s")
    masses = {species.name: species.molar_mass for species in network.species}
    window = Window.whole(1, columns)
    provided: dict[type, object] = {ReactionNetwork: network, DepositionMap: substances}
    return ProcessContext(network.names, grid, grid, land, sun_height, start, {}, grid, window, masses, provided)


def _deposition_map(network: ReactionNetwork) -> DepositionMap:
    """Return the surrogates of species for deposition from the species map of the mechanism."""
    file = network.sources[0] if network.sources else ""
    found = species_map_of(file if Path(file).is_file() else network.name, network.name)
    known, given = {name.casefold(): name for name in network.names}, found.deposition
    named = {known[name.casefold()]: each for name, each in given.surrogate.items() if name.casefold() in known}
    none = frozenset(known[name.casefold()] for name in given.none if name.casefold() in known)
    return DepositionMap(named, none, given.others)


class BoxWeather:
    """State of the air for a method of a process: fields as attributes, (..., lat, lon).

    fields    name -> values (column,)
    declared  fields that the process declares
    whose     name of the process, for messages

    A field has one level, or two on layer faces; a field at the ground has none.
    """

    def __init__(self, fields: Mapping[str, Array], declared: Mapping[str, Weather], whose: str) -> None:
        self._fields, self._declared, self._whose = fields, declared, whose

    def __getattr__(self, name: str) -> Array:
        """Return a field; raises :class:`MissingFieldError` if the conditions do not give it."""
        if name not in self._fields:
            raise MissingFieldError(f"{self._whose} needs {name}, which the conditions do not give; {advice_for(name)}")
        value = self._fields[name]
        if name in _AT_THE_GROUND:
            return value[None]
        shape = self._declared[name].shape if name in self._declared else "cells"
        return value[None] if shape == "surface" else np.repeat(value[None, None], 1 + (shape == "layer_faces"), axis=0)

    def get(self, name: str) -> Array | None:
        """Return a field, None if the conditions do not give it."""
        return getattr(self, name) if name in self._fields else None


class MissingFieldError(DataError, AttributeError):  # an AttributeError, so that getattr() returns its default
    """Weather field that a process needs and the conditions do not give."""


def advice_for(name: str) -> str:
    """Return the advice of a message for a missing weather field."""
    if name not in OF_AIR:
        return f"write {name} under [weather]"
    give = {"T": "environment.temperature", "H2O": "environment.humidity or fixed.H2O"}
    return f"give {' and '.join(give.get(each, 'environment.pressure or fixed.M') for each in OF_AIR[name])}"
