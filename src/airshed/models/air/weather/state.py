"""One instant of the atmosphere on the model grid, and what supplies such instants."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from airshed.core.errors import DataError
from airshed.core.fields import FieldView, Indices
from airshed.grid import Grid
from airshed.grid.window import Window

Array = npt.NDArray[np.float64]


UNITS: Final[Mapping[str, str]] = {
    "air_density": "mol m-3", "temperature": "K", "pressure": "Pa", "water_vapour": "mol mol-1",
    "eastward_air_flux": "mol s-1", "northward_air_flux": "mol s-1", "diffusivity": "m2 s-1", "cloud_cover": "1",
    "friction_velocity": "m s-1", "obukhov_length": "m", "boundary_layer_height": "m", "precipitation": "kg m-2 s-1",
    "surface_temperature": "K", "surface_pressure": "Pa",
}  # fmt: skip
"""Units of the fields of every state of the air."""


@dataclass(frozen=True)
class MetState:
    """The meteorology at one instant; (nz, nlat, nlon) at cell centres unless said otherwise.

    Air fluxes are positive to the east and north; the vertical one follows from continuity and is not kept here.
    """

    air_density: Array
    """[mol m-3]"""
    temperature: Array
    """[K]"""
    pressure: Array
    """[Pa]"""
    water_vapour: Array
    """[mol mol-1] of moist air"""
    eastward_air_flux: Array
    """(nz, nlat, nlon + 1) [mol s-1] through the west and east faces"""
    northward_air_flux: Array
    """(nz, nlat + 1, nlon) [mol s-1] through the south and north faces"""
    diffusivity: Array
    """(nz + 1, nlat, nlon) [m2 s-1] at the layer faces, 0 at the ground and the top"""
    cloud_cover: Array
    """(nlat, nlon) [1] total, 0 to 1"""
    friction_velocity: Array
    """(nlat, nlon) [m s-1]"""
    obukhov_length: Array
    """(nlat, nlon) [m], > 0 stable, magnitude at most 1e6"""
    boundary_layer_height: Array
    """(nlat, nlon) [m above ground]"""
    precipitation: Array
    """(nlat, nlon) [kg m-2 s-1]"""
    surface_temperature: Array
    """(nlat, nlon) [K] of the air near the ground"""
    surface_pressure: Array
    """(nlat, nlon) [Pa]"""
    extra: Mapping[str, Array] = field(default_factory=dict)
    """Fields that only some processes need, by name: see :class:`airshed.models.air.weather.fields.WeatherField`"""

    def view(self, name: str) -> FieldView | Array:
        """Return a field, or what makes it of some levels alone."""
        value: Array = getattr(self, name)
        return value

    def part(self, window: Window) -> "MetState":
        """Return the state of a window's columns with their faces, each field contiguous."""
        axes = {"eastward_air_flux": "lon", "northward_air_flux": "lat"}
        cut = {name: np.ascontiguousarray(window.of_faces(getattr(self, name), axes.get(name, ""))) for name in ALWAYS}
        extra = {name: np.ascontiguousarray(window.of(value)) for name, value in self.extra.items()}
        return MetState(**cut, extra=extra)

    def check(self, grid: Grid, where: str) -> None:
        """Raise DataError unless every field has the grid's shape and finite values."""
        for name, shape in state_shapes(grid).items():
            value = getattr(self, name)
            if value.shape != shape:
                raise DataError(f"{where}: {name} has shape {value.shape}, the grid needs {shape}")
            if not np.all(np.isfinite(value)):
                raise DataError(f"{where}: {name} holds values that are not finite; check the meteorological input")
        for name, value in self.extra.items():
            if value.shape[-2:] != grid.shape[1:]:
                raise DataError(f"{where}: {name} has shape {value.shape}, the grid has {grid.shape[1:]} columns")
            if not np.all(np.isfinite(value)):
                raise DataError(f"{where}: {name} holds values that are not finite; check the meteorological input")


ALWAYS: Final = tuple(each.name for each in fields(MetState) if each.name != "extra")
"""The names of the fields that every state holds."""


def state_shapes(grid: Grid) -> dict[str, tuple[int, ...]]:
    """Return the shape of each field of a MetState on a grid."""
    nz, nlat, nlon = grid.shape
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(ALWAYS, (nlat, nlon))
    for name in ("air_density", "temperature", "pressure", "water_vapour"):
        shapes[name] = (nz, nlat, nlon)
    shapes["eastward_air_flux"] = (nz, nlat, nlon + 1)
    shapes["northward_air_flux"] = (nz, nlat + 1, nlon)
    shapes["diffusivity"] = (nz + 1, nlat, nlon)
    return shapes


def interpolate(before: MetState, after: MetState, weight: float) -> MetState:
    """Return (1 - weight) before + weight after for every field; of the Obukhov length its inverse is linear.

    The length goes to infinity between stable and unstable, its inverse passes through 0.
    """
    return before if weight == 0.0 else _Between(before, after, weight)


class _Between(MetState):
    """The state at a time between two others: a field is made when it is first asked for, as few are."""

    _ends: tuple[MetState, MetState]
    _weight: float

    def __init__(self, before: MetState, after: MetState, weight: float) -> None:
        vars(self).update(_ends=(before, after), _weight=weight)  # the class is frozen

    def __getattr__(self, name: str) -> Any:
        if name not in MetState.__dataclass_fields__:
            raise AttributeError(f"{type(self).__name__} has no {name}")
        weight, (first, second) = self._weight, (getattr(end, name) for end in self._ends)
        value: Array | dict[str, Array]
        if name == "extra":
            value = {each: (1.0 - weight) * first[each] + weight * second[each] for each in first if each in second}
        elif name == "obukhov_length":
            value = bounded_obukhov_length((1.0 - weight) / first + weight / second)
        else:
            value = (1.0 - weight) * first + weight * second
        vars(self)[name] = value
        return value

    def view(self, name: str) -> FieldView | Array:
        """Return what interpolates a field that was not asked for yet."""
        if name in vars(self) or name == "obukhov_length":
            return super().view(name)
        first, second = (getattr(end, name) for end in self._ends)
        return _Interpolated(first, second, self._weight)


@dataclass(frozen=True)
class _Interpolated:
    """A field between two others, made of the levels that are asked for: a :class:`FieldView`."""

    first: Array
    second: Array
    weight: float

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the field."""
        return self.first.shape

    def copy_to(self, target: npt.NDArray[Any], indices: Indices) -> None:
        """Fill an array with the values at some levels, with the bits of the whole field."""
        target[...] = (1.0 - self.weight) * self.first[indices] + self.weight * self.second[indices]


def bounded_obukhov_length(inverse: Array) -> Array:
    """Return the Obukhov length [m] of its inverse [1/m], with magnitude between 1 m and 1e6 m."""
    magnitude = np.clip(np.abs(inverse), 1e-6, 1.0)
    return np.asarray(np.where(inverse < 0.0, -1.0, 1.0) / magnitude)


WINDS: Final = ("eastward_wind", "northward_wind")


def winds(state: MetState, grid: Grid) -> dict[str, Array]:
    """Return both components of the wind at cell centres [m s-1] (level, lat, lon), for those who look at it.

    u = (F_west + F_east) / (2 n A), with the fluxes F [mol s-1] through both faces, the density n [mol m-3] of the cell
    between them, and the area A [m2] of a face in its middle. A cell's own density stands for those of its faces: the
    error is that of a difference between neighbours, less than a percent.
    """
    east = 0.5 * (state.eastward_air_flux[..., 1:] + state.eastward_air_flux[..., :-1])
    north = 0.5 * (state.northward_air_flux[:, 1:] + state.northward_air_flux[:, :-1])
    zonal = 0.5 * (grid.zonal_face_length[1:] + grid.zonal_face_length[:-1])
    per_length = state.air_density * grid.thickness[:, None, None]
    return {
        "eastward_wind": east / (per_length * grid.meridional_face_length),
        "northward_wind": north / (per_length * zonal[:, None]),
    }


class Meteorology(Protocol):
    """Supplies the state of the air at any time; linear between its instants."""

    @property
    def times(self) -> tuple[float, ...]:
        """Return the instants [s since the case's start] between which the state is linear, rising."""
        ...

    @property
    def provenance(self) -> Mapping[str, str]:
        """Return for each field where it comes from: read (file), given, or diagnosed (formula, source)."""
        ...

    def at(self, seconds: float) -> MetState:
        """Return the state at a time [s since the case's start]."""
        ...
