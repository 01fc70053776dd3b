"""What a model looks like from outside: its variables and its map, out of its fields and its domain."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from airshed.core.errors import CaseError, DataError
from airshed.core.fields import FieldSpec
from airshed.core.text import suggestion
from airshed.grid.axes import Axes, Coordinate
from airshed.grid.packing import Packing, Raster
from airshed.serve import types

Array = npt.NDArray[Any]
_MAP = ["lat", "lon"]


@dataclass(frozen=True)
class Shape:
    """Variables, and the map.

    packing     where cells lie on it that are no rows and columns of it
    attributes  of all data
    """

    variables: Mapping[str, types.Variable]
    grid: types.GridInfo
    packing: Packing | Raster | None
    attributes: Mapping[str, str]

    @classmethod
    def of(
        cls, fields: Mapping[str, FieldSpec], axes: Axes, groups: Mapping[str, str], attributes: Mapping[str, str]
    ) -> "Shape":
        """Return the shape of a model; `groups` says of settable numbers what they belong to."""
        packing = _packing(axes)
        grid = _grid(axes, packing)
        variables = {name: _variable(spec, axes, packing, groups.get(name, "")) for name, spec in fields.items()}
        return cls(variables, grid, packing, dict(attributes))

    def variable(self, name: str) -> types.Variable:
        """Return a variable; raises CaseError for one that is not there."""
        if name not in self.variables:
            raise CaseError(f"there is no variable {name!r}; {suggestion(name, self.variables)}")
        return self.variables[name]

    def on_map(self, variable: types.Variable, values: Array) -> Array:
        """Return a field's values (..., lat, lon), with NaN where no cell is."""
        return values if self.packing is None or not variable.dims else self.packing.spread(values)

    def check(self, variable: types.Variable, level: int | None, window: types.Window | None) -> None:
        """Raise CaseError for a level or a window that a variable does not have."""
        if level is not None and level >= (variable.shape[0] if len(variable.shape) > 2 else 1):
            raise CaseError(f"{variable.name} has no level {level}; levels go from 0, at the ground")
        if window is None:
            return
        rows, columns = variable.shape[-2:] if len(variable.shape) > 1 else (0, 0)
        first, last, left, right = window
        if not (first < last <= rows and left < right <= columns):
            raise CaseError(f"window {window} lies not within {variable.name}, {rows} rows and {columns} columns")


def _packing(axes: Axes) -> Packing | Raster | None:
    places = {each.name: each for each in axes.coordinates}
    if not {"lat", "lon"} <= set(places) or places["lat"].dims != places["lon"].dims:
        return None
    if len(places["lat"].dims) == 2:
        return Raster.over(places["lat"].values, places["lon"].values)
    try:
        return Packing.of(places["lat"].values, places["lon"].values)
    except DataError:  # cells that lie on no grid have no map
        return None


def _grid(axes: Axes, packing: Packing | Raster | None) -> types.GridInfo:
    levels: list[float] = next((each.values.tolist() for each in axes.coordinates if each.name == "level"), [])
    if packing is not None:
        lat, lon = Coordinate("lat", packing.lat, _units("north")), Coordinate("lon", packing.lon, _units("east"))
        rows, columns = packing.shape
        return types.GridInfo(
            kind="packed", rows=rows, columns=columns, coordinates=[_coordinate(lat), _coordinate(lon)], levels=levels
        )
    coordinates = [_coordinate(each) for each in axes.coordinates]
    if not set(_MAP) <= set(axes.dims):
        return types.GridInfo(kind="plain", coordinates=coordinates, levels=levels)
    rows, columns = axes.sizes["lat"], axes.sizes["lon"]
    return types.GridInfo(kind="lonlat", rows=rows, columns=columns, coordinates=coordinates, levels=levels)


def _units(towards: str) -> dict[str, str]:
    return {"units": f"degrees_{towards}"}


def _coordinate(each: Coordinate) -> types.Coordinate:
    bounds = None if each.bounds is None else [(float(low), float(high)) for low, high in each.bounds]
    return types.Coordinate(
        name=each.name, dim=each.dims[0], unit=each.attributes.get("units", "1"),
        text=each.attributes.get("long_name", each.name), values=np.asarray(each.values, np.float64).tolist(),
        bounds=bounds,
    )  # fmt: skip


def _variable(spec: FieldSpec, axes: Axes, packing: Packing | Raster | None, group: str) -> types.Variable:
    dims, shape = list(spec.dims), list(spec.shape(axes.sizes))
    if packing is not None and dims:
        cells = len(axes.divided)
        dims, shape = [*dims[:-cells], *_MAP], [*shape[:-cells], *packing.shape]
    valid = None if spec.valid is None else (_finite(spec.valid[0]), _finite(spec.valid[1]))
    return types.Variable(
        name=spec.name, unit=spec.unit, text=spec.text, dims=dims, shape=shape, valid=valid,
        standard_name=spec.standard_name, molar_mass=spec.molar_mass, settable=spec.settable,
        when="at the end of a step" if spec.settable else None,
        paintable=spec.settable and len(dims) > 1, group=group,
    )  # fmt: skip


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
