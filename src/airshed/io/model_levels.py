"""Levels of the output of other models: pressures from hybrid or sigma coefficients or a field, or heights.

source  CF conventions 1.11, appendix D, parametric vertical coordinates.
        ECMWF, definitions of the L60 and L137 model levels.
        I/O API user manual, vertical grid types (VGTYP, VGTOP, VGLVLS).
"""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from airshed.core.arrays import Array
from airshed.core.data import conversion, numbers
from airshed.core.errors import DataError

if TYPE_CHECKING:
    import xarray as xr

SURFACE_PRESSURES: Final = (
    "PS", "ps", "sp", "lnsp", "surface_pressure", "surface_air_pressure", "Met_PSC2WET", "Met_PS1WET", "PSFC", "PRSFC",
    "aps", "Psurf", "psurf",
)  # fmt: skip
"""Names of the surface pressure in files without formula terms; `lnsp` is its logarithm."""
_FIELDS: Final = ("pres", "pressure", "air_pressure", "pfull", "pmid", "met_pmid", "p")
_COEFFICIENTS: Final = (("hyam", "hybm"), ("ap", "b"), ("a", "b"), ("ap", "bp"), ("hyai", "hybi"))
"""Names of coefficients at layers, or at their interfaces if they are one more."""
_IFS_LEVELS: Final = (60, 137)
_PRESSURE_UNITS: Final = ("pa", "hpa", "mbar", "mb", "millibar", "millibars", "pascal", "pascals")
_HEIGHT_UNITS: Final = ("m", "km", "metre", "metres", "meter", "meters")
_SIGMA_PRESSURE: Final = (1, 2, 7)
"""Vertical grid types of the I/O API on sigma of pressure: hydrostatic, non-hydrostatic, WRF."""


@dataclass(frozen=True, eq=False)
class Levels:
    """Vertical coordinate along a dimension of a file: coefficients of pressures, or heights; none with a field.

    a, b     (level,) p = a + b ps: [Pa] and [1]; b = 0 for pressure levels
    surface  name of the surface pressure; empty if the file names none
    heights  (level,) above ground [m]
    """

    a: Array | None = None
    b: Array | None = None
    surface: str = ""
    heights: Array | None = None


def levels_of(dataset: "xr.Dataset", dim: str, where: str) -> Levels:
    """Return the vertical coordinate along a dimension; raise DataError for a dimension without one.

    A file with :func:`pressure_fields` needs none.
    """
    for find in (_hybrid, _pressure_levels, _sigma, _model_levels, _heights):
        found = find(dataset, dim, where)
        if found is not None:
            return found
    raise DataError(
        f"{where}: its dimension {dim} has neither pressures nor heights; it needs hybrid coefficients, levels in hPa, "
        "heights in m, or a variable with the pressure, such as PRES, in this file or another of the list"
    )


def pressure_fields(dataset: "xr.Dataset") -> tuple[str, ...]:
    """Return the names of the variables of three dimensions in space whose sum is the pressure; none without."""
    if "MAP_PROJ" in dataset.attrs:
        return ("P", "PB") if {"P", "PB"} <= set(map(str, dataset.variables)) else ()
    for name, variable in dataset.variables.items():
        named = variable.attrs.get("standard_name") == "air_pressure" or str(name).lower() in _FIELDS
        if named and variable.ndim >= 3 and _unit(variable.attrs) in _PRESSURE_UNITS:
            return (str(name),)
    return ()


def _hybrid(dataset: "xr.Dataset", dim: str, where: str) -> Levels | None:
    """Return levels with coefficients: p = a + b ps, where a [Pa] may be written as a dimensionless a times p0."""
    for terms in _formula_terms(dataset, dim):
        lower = {key: name for key, name in terms.items() if name in dataset.variables}
        names = lower.get("ap", lower.get("a", "")), lower.get("b", "")
        if all(names) and dataset.variables[names[0]].dims == (dim,):
            break
    else:
        size, pairs = dataset.sizes[dim], [pair for pair in _COEFFICIENTS if set(pair) <= set(dataset.variables)]
        shapes = [{dataset.variables[name].shape for name in pair} for pair in pairs]
        fitting = [pair for pair, shape in zip(pairs, shapes, strict=True) if shape in ({(size,)}, {(size + 1,)})]
        if not fitting:
            return None
        names, terms = fitting[0], {}
    first, second = names
    scale = _to_pascal(dataset, first, terms.get("p0", "P0"), where)
    a, b = (_at_layers(dataset, name, dim, where) for name in names)
    if b.min() < 0.0 or b.max() > 1.0:
        raise DataError(f"{where}: {second} is {b.min():g} to {b.max():g}; as a coefficient it lies between 0 and 1")
    return Levels(scale * a, b, terms.get("ps", ""))


def _to_pascal(dataset: "xr.Dataset", name: str, p0: str, where: str) -> float:
    """Return the factor of a coefficient to Pa: of its unit, or of p0 where it has no unit."""
    if _unit(dataset.variables[name].attrs) in _PRESSURE_UNITS:  # also where the formula names p0, as GEOS-Chem does
        return conversion(dataset.variables[name].attrs, "Pa", f"{where}: {name}").factor
    if p0 in dataset.variables:
        reference = dataset.variables[p0]
        return float(np.ravel(reference.values)[0]) * conversion(reference.attrs, "Pa", f"{where}: {p0}").factor
    if np.max(dataset.variables[name].values) <= 1.0:
        raise DataError(f"{where}: {name} has no unit of pressure, and the file lacks {p0}; give {name} in Pa")
    return 1.0


def _at_layers(dataset: "xr.Dataset", name: str, dim: str, where: str) -> Array:
    """Return coefficients of layers: as they are, or the means of the interfaces above and below."""
    values = numbers(dataset.variables[name].values, f"{where}: {name}")
    return values if dataset.variables[name].dims == (dim,) else 0.5 * (values[1:] + values[:-1])


def _formula_terms(dataset: "xr.Dataset", dim: str) -> Iterator[Mapping[str, str]]:
    """Yield the formula terms of the coordinate variables along a dimension."""
    for variable in dataset.variables.values():
        if variable.dims == (dim,) and "formula_terms" in variable.attrs:
            words = str(variable.attrs["formula_terms"]).replace(":", " ").split()
            yield dict(zip(words[::2], words[1::2], strict=False))


def _is_along(dataset: "xr.Dataset", name: str, dim: str) -> bool:
    return name in dataset.variables and dataset.variables[name].dims == (dim,)


def _unit(attributes: Mapping[Any, Any]) -> str:
    return str(attributes.get("units", "")).strip().lower()


def _along(dataset: "xr.Dataset", dim: str, units: tuple[str, ...]) -> tuple[str, "xr.Variable"] | None:
    """Return a variable along a dimension with one of some units, first the coordinate."""
    names = [dim, *(str(name) for name in dataset.variables if name != dim)]
    found = [name for name in names if _is_along(dataset, name, dim) and _unit(dataset.variables[name].attrs) in units]
    return (found[0], dataset.variables[found[0]]) if found else None


def _pressure_levels(dataset: "xr.Dataset", dim: str, where: str) -> Levels | None:
    found = _along(dataset, dim, _PRESSURE_UNITS)
    if found is None:
        return None
    name, variable = found
    change = conversion(variable.attrs, "Pa", f"{where}: {name}")
    pressure = numbers(variable.values, f"{where}: {name}") * change.factor
    if not (np.all(pressure > 0.0) and pressure.max() < 1.2e5):
        raise DataError(f"{where}: {name} is {pressure.min():g} to {pressure.max():g} Pa; check its values and unit")
    return Levels(pressure, np.zeros(pressure.size))


def _sigma(dataset: "xr.Dataset", dim: str, where: str) -> Levels | None:
    """Return the layers of an I/O API file: p = p_top + sigma (ps - p_top) at the mean sigma of both faces."""
    if "VGLVLS" not in dataset.attrs or dim != "LAY":
        return None
    kind = abs(int(np.asarray(dataset.attrs.get("VGTYP", 0)).item()))
    faces = np.atleast_1d(np.asarray(dataset.attrs["VGLVLS"], np.float64))
    top = float(np.asarray(dataset.attrs.get("VGTOP", 0.0)).item())
    size = dataset.sizes[dim]
    if kind not in _SIGMA_PRESSURE or faces.size != size + 1 or not (faces[0] <= 1.0 and np.all(np.diff(faces) < 0.0)):
        return None
    sigma = 0.5 * (faces[1:] + faces[:-1])
    return Levels(top * (1.0 - sigma), sigma)


def _model_levels(dataset: "xr.Dataset", dim: str, where: str) -> Levels | None:
    """Return model levels of ECMWF by their numbers, of which the largest is the level at the ground: 60 or 137."""
    if dim not in dataset.variables:
        return None
    coordinate = dataset.variables[dim]
    names = " ".join([dim, *(str(coordinate.attrs.get(key, "")) for key in ("long_name", "standard_name"))]).lower()
    values = np.asarray(coordinate.values)
    if values.dtype.kind not in "iuf" or not np.array_equal(values, np.round(values)) or values.min() < 1:
        return None
    if not any(word in names for word in ("model", "hybrid", "level")) or _unit(coordinate.attrs) in _HEIGHT_UNITS:
        return None
    count = int(values.max())
    if count not in _IFS_LEVELS:
        if "model" in names or "hybrid" in names:
            raise DataError(
                f"{where}: its model levels end at {count}; the lowest one must be there: 60 of L60 or 137 of L137. "
                "For other levels the file needs their hybrid coefficients"
            )
        return None
    a, b = half_levels(count)
    chosen = values.astype(np.intp)
    return Levels(0.5 * (a[chosen - 1] + a[chosen]), 0.5 * (b[chosen - 1] + b[chosen]))


def _heights(dataset: "xr.Dataset", dim: str, where: str) -> Levels | None:
    found = _along(dataset, dim, _HEIGHT_UNITS)
    if found is None:
        return None
    name, variable = found
    kind = " ".join(str(variable.attrs.get(key, "")) for key in ("standard_name", "long_name")).lower()
    if "altitude" in kind or "sea level" in kind or "geoid" in kind:
        raise DataError(f"{where}: {name} is a height above sea level; give heights above ground, or pressures")
    change = conversion(variable.attrs, "m", f"{where}: {name}")
    return Levels(heights=numbers(variable.values, f"{where}: {name}") * change.factor)


@cache
def half_levels(count: int) -> tuple[Array, Array]:
    """Return a [Pa] and b [1] of ECMWF's half levels 0 (top) to `count` (ground): p = a + b ps."""
    text = files("airshed.io").joinpath(f"data/l{count}_half_levels.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))
    return np.array([float(row["a_pa"]) for row in rows]), np.array([float(row["b"]) for row in rows])
