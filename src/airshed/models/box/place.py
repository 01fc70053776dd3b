"""The place and the weather of boxes, as processes see them.

Each box is a column of one layer and of 1 m2; columns lie along longitude, all at the location of the conditions.
What the conditions do not give of the place is not a number there.
"""

from collections.abc import Callable, Mapping
from math import nan
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.errors import DataError
from airshed.grid import Grid
from airshed.grid.window import Window
from airshed.mechanism.network import ReactionNetwork
from airshed.models.air.fields import SURFACE, WEATHER
from airshed.models.air.species_map.parts import DepositionMap
from airshed.models.air.species_map.read import species_map_of
from airshed.models.box.conditions import BoxEnvironment, midnight
from airshed.process.context import Place
from airshed.process.kinds import Weather

Array = npt.NDArray[np.float64]

_ANY_HEIGHT: Final = 1.0  # of boxes whose height no process requires
_AT_THE_GROUND: Final = frozenset(spec.name for spec in WEATHER if spec.dims == SURFACE)

OF_AIR: Final[Mapping[str, tuple[str, ...]]] = {
    "temperature": ("T",), "pressure": ("p",), "air_density": ("M",), "water_vapour": ("H2O", "M"),
}  # fmt: skip
"""Fields of the weather that follow from [environment], and which names in formulas they need."""


def place_of(
    columns: int, environment: BoxEnvironment, network: ReactionNetwork, about: Mapping[str, Any],
    sun_height: Callable[[float], Array],
) -> Place:  # fmt: skip
    """Return the place of boxes; its times are counted from local midnight of the first day.

    about       what processes may request by name, see :func:`about_mechanism`
    sun_height  cosine of the sun's zenith angle (lat, lon) at a time [s]
    """
    location = environment.location
    top = _ANY_HEIGHT if environment.height is None else environment.height.value
    grid = Grid(np.linspace(0.0, 1.0, columns + 1), np.array([-0.5, 0.5]), np.array([0.0, top]))
    lon, lat = (location.lon, location.lat) if location else (nan, nan)
    vars(grid).update(lon=np.full(columns, lon), lat=np.full(1, lat), cell_area=np.ones((1, 1)))
    land = np.full((1, columns), nan if environment.land_fraction is None else environment.land_fraction)
    start = midnight(location) if location else np.datetime64("NaT", "s")
    masses = {species.name: species.molar_mass for species in network.species}
    window = Window.whole(1, columns)
    return Place(network.names, grid, grid, land, sun_height, start, {}, grid, window, masses, about)


def about_mechanism(network: ReactionNetwork) -> dict[str, Any]:
    """Return the reactions, and as which substances species deposit by the mechanism's species map."""
    file = network.sources[0] if network.sources else ""
    found = species_map_of(file if Path(file).is_file() else network.name, network.name)
    known, given = {name.casefold(): name for name in network.names}, found.deposition
    named = {known[name.casefold()]: each for name, each in given.surrogate.items() if name.casefold() in known}
    none = frozenset(known[name.casefold()] for name in given.none if name.casefold() in known)
    return {"reactions": network.reactions, "deposition map": DepositionMap(named, none, given.others)}


class BoxWeather:
    """The state of the air for a method of a process: fields as attributes, (..., lat, lon).

    fields  name -> values (column,);  declared  those that the process declares;  whose  its name, for messages

    A field has one level, or two on layer faces; a field at the ground has none.
    """

    def __init__(self, fields: Mapping[str, Array], declared: Mapping[str, Weather], whose: str) -> None:
        self._fields, self._declared, self._whose = fields, declared, whose

    def __getattr__(self, name: str) -> Array:
        """Return a field; raises :class:`NotGiven` for one that the conditions do not give."""
        if name not in self._fields:
            raise NotGiven(f"{self._whose} needs {name}, which the conditions do not give; {where_to_give(name)}")
        value = self._fields[name]
        if name in _AT_THE_GROUND:
            return value[None]
        shape = self._declared[name].shape if name in self._declared else "cells"
        return value[None] if shape == "surface" else np.repeat(value[None, None], 1 + (shape == "layer_faces"), axis=0)

    @property
    def extra(self) -> Mapping[str, Array]:
        """The fields of [weather]."""
        return {name: getattr(self, name) for name in self._fields if name not in OF_AIR}


class NotGiven(DataError, AttributeError):  # noqa: N818  so that getattr() with a default finds it
    """A field of the weather that a process needs and conditions do not give."""


def where_to_give(name: str) -> str:
    """Return what to write for a field of the weather."""
    if name not in OF_AIR:
        return f"write {name} under [weather]"
    give = {"T": "environment.temperature", "H2O": "environment.humidity or fixed.H2O"}
    return f"give {' and '.join(give.get(each, 'environment.pressure or fixed.M') for each in OF_AIR[name])}"
