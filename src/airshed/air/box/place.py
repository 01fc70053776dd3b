"""Boxes as a process sees them: a place with a column of one layer for each box, and the weather in it.

Columns stand beside one another along longitude, each of 1 m2, all at the one location of the conditions. What the
conditions do not tell of the place is not a number there.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import nan
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.air.box.conditions import BoxConditions, BoxEnvironment, Location
from airshed.air.fields import SURFACE, WEATHER
from airshed.air.species_map.find import species_map_of
from airshed.air.species_map.parts import DepositionMap
from airshed.core.errors import DataError
from airshed.grid import Grid
from airshed.grid.window import Window
from airshed.mechanism.network import ReactionNetwork
from airshed.process.kinds import Weather
from airshed.process.place import Place

Array = npt.NDArray[np.float64]

_ANY_HEIGHT: Final = 1.0  # of boxes whose height nobody asks for
_AT_THE_GROUND: Final = frozenset(spec.name for spec in WEATHER if spec.dims == SURFACE)
_SECONDS_PER_DEGREE: Final = 240.0


class Columns(Grid):
    """Columns of one layer and of 1 m2, all at one location."""

    def __init__(self, count: int, environment: BoxEnvironment) -> None:
        height = _ANY_HEIGHT if environment.height is None else environment.height.value
        super().__init__(np.linspace(0.0, 1.0, count + 1), np.array([-0.5, 0.5]), np.array([0.0, height]))
        vars(self)["_location"] = environment.location

    @cached_property
    def lon(self) -> Array:
        """Longitude of the location [degrees east], (lon,)."""
        return np.full(self.shape[2], self._of_location("lon"))

    @cached_property
    def lat(self) -> Array:
        """Latitude of the location [degrees north], (1,)."""
        return np.full(1, self._of_location("lat"))

    @cached_property
    def cell_area(self) -> Array:
        """1 m2, (1, 1)."""
        return np.ones((1, 1))

    def _of_location(self, name: str) -> float:
        location: Location | None = vars(self)["_location"]
        return nan if location is None else float(getattr(location, name))


@dataclass
class Sky:
    """The sun over the columns at the times at which a process is asked.

    height  cosine of its zenith angle (lon,), or one for all
    """

    height: Array = field(default_factory=lambda: np.full(1, nan))

    def at(self, seconds: float) -> Array:
        """Return the height of the sun now (lat, lon), whatever the time."""
        return self.height[None]


class Boxes:
    """What all processes are told of boxes: the conditions, and the mechanism with its species map."""

    def __init__(self, conditions: BoxConditions, network: ReactionNetwork) -> None:
        self.environment, self.network = conditions.environment, network

    def place(self, columns: int, sky: Sky) -> Place:
        """Return the place of so many boxes. Times are counted from local midnight of the first day."""
        environment, network = self.environment, self.network
        grid, window = Columns(columns, environment), Window.whole(1, columns)
        land = np.full(1, nan if environment.land_fraction is None else environment.land_fraction)
        return Place(
            network.names, grid, grid, np.broadcast_to(land, (1, columns)), sky.at, _midnight(environment.location), {},
            grid, window, {species.name: species.molar_mass for species in network.species},
            {"reactions": network.reactions, "deposition map": self._deposition},
        )  # fmt: skip

    @cached_property
    def _deposition(self) -> DepositionMap:
        """As which substances species deposit, by the mechanism's species map."""
        network = self.network
        file = network.sources[0] if network.sources else ""
        found = species_map_of(file if Path(file).is_file() else network.name, network.name)
        known, given = {name.casefold(): name for name in network.names}, found.deposition
        named = {known[name.casefold()]: each for name, each in given.surrogate.items() if name.casefold() in known}
        none = frozenset(known[name.casefold()] for name in given.none if name.casefold() in known)
        return DepositionMap(named, none, given.others)


class BoxWeather:
    """The state of the air that a method of a process is given: what it looks at as an attribute, (..., lat, lon).

    fields  name -> values (column,);  declared  those that the process declares;  whose  its name, for messages

    A field has one level, or two where it is of layer faces; one of the ground has none.
    """

    def __init__(self, fields: Mapping[str, Array], declared: Mapping[str, Weather], whose: str) -> None:
        self._fields, self._declared, self._whose = fields, declared, whose

    def __getattr__(self, name: str) -> Array:
        """Return a field; raises :class:`NotGiven` for one that the conditions do not tell."""
        if name not in self._fields:
            raise NotGiven(f"{self._whose} needs {name}, which the conditions do not give; {where_to_give(name)}")
        return self._shaped(name)

    @property
    def extra(self) -> Mapping[str, Array]:
        """The fields of [weather]."""
        return {name: self._shaped(name) for name in self._fields if name not in OF_AIR}

    def _shaped(self, name: str) -> Array:
        value = self._fields[name]
        if name in _AT_THE_GROUND:
            return value[None]
        shape = self._declared[name].shape if name in self._declared else "cells"
        return value[None] if shape == "surface" else np.repeat(value[None, None], 1 + (shape == "layer_faces"), axis=0)


class NotGiven(DataError, AttributeError):  # noqa: N818  so that getattr() with a default finds it
    """A field of the weather that a process asks for and conditions do not tell."""


OF_AIR: Final[Mapping[str, tuple[str, ...]]] = {
    "temperature": ("T",), "pressure": ("p",), "air_density": ("M",), "water_vapour": ("H2O", "M"),
}  # fmt: skip
"""Fields of the weather that follow from [environment], and what of its formulas they need."""


def where_to_give(name: str) -> str:
    """Return what to write for a field of the weather."""
    if name not in OF_AIR:
        return f"write {name} under [weather]"
    give = {"T": "environment.temperature", "H2O": "environment.humidity or fixed.H2O"}
    return f"give {' and '.join(give.get(each, 'environment.pressure or fixed.M') for each in OF_AIR[name])}"


def _midnight(location: Location | None) -> np.datetime64:
    """Return local midnight of the first day, UTC; no time where there is no location."""
    if location is None:
        return np.datetime64("NaT", "s")
    return np.datetime64(location.date, "s") - np.timedelta64(round(_SECONDS_PER_DEGREE * location.lon), "s")
