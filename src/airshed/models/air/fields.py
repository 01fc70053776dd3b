"""The fields of the air model: weather as the chemistry sees it, and a mixing ratio for each species."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Final

import numpy as np

from airshed.core.arrays import AnyArray
from airshed.core.errors import CaseError
from airshed.core.fields import FieldRegistry, FieldSpec
from airshed.core.units import to
from airshed.models.air.weather.fields import by_name, of_use

if TYPE_CHECKING:
    from airshed.models.air.species_map.fit import Phase


VOLUME: Final = ("level", "lat", "lon")
SURFACE: Final = ("lat", "lon")
WEATHER: Final = tuple(each.spec() for each in of_use("state", "derived") if each.output)
"""Weather fields available for output in every run; :func:`optional_weather` has additional ones."""


def optional_weather(names: Iterable[str]) -> tuple[FieldSpec, ...]:
    """Return the optional weather fields of the given names that can be written to output."""
    return tuple(each.spec() for each in of_use("optional") if each.output and each.name in names)


def weather_of_output(name: str) -> str | None:
    """Return the name of an output field in the state of the air, None if it is not a weather field."""
    return next((each.name for each in by_name().values() if each.output == name), None)


CF_SPECIES: Final = {
    "NO": "nitrogen_monoxide",
    "NO2": "nitrogen_dioxide",
    "NO3": "nitrate_radical",
    "N2O5": "dinitrogen_pentoxide",
    "HNO3": "nitric_acid",
    "HONO": "nitrous_acid",
    "PAN": "peroxyacetyl_nitrate",
    "NH3": "ammonia",
    "O3": "ozone",
    "OH": "hydroxyl_radical",
    "HO2": "hydroperoxyl_radical",
    "H2O2": "hydrogen_peroxide",
    "H2": "molecular_hydrogen",
    "CO": "carbon_monoxide",
    "SO2": "sulfur_dioxide",
    "CH4": "methane",
    "C2H6": "ethane",
    "NC4H10": "butane",
    "C2H4": "ethene",
    "C3H6": "propene",
    "HCHO": "formaldehyde",
    "CH3CHO": "acetaldehyde",
    "CH3OH": "methanol",
    "C2H5OH": "ethanol",
    "CH3O2": "methyl_peroxy_radical",
    "CH3O2H": "methyl_hydroperoxide",
    "GLYOX": "glyoxal",
    "MGLYOX": "methylglyoxal",
    "ISOPRE": "isoprene",
}
"""Species whose mole fraction has a CF standard name (table version 93)."""


def cell_values_of(spec: FieldSpec, shape: tuple[int, ...], value: object) -> AnyArray:
    """Return the values of all cells from the argument of a setter; raises CaseError for invalid values.

    value  an array of the whole domain, a number in the unit of the field for all cells, or a text with a unit
    """
    found = np.asarray(to(value, spec.unit, where=spec.name) if isinstance(value, str) else value)
    if found.dtype.kind not in "fiu":
        raise CaseError(f"{spec.name} cannot be {value!r}: give numbers [{spec.unit}], or a text with a unit")
    if found.ndim and found.shape != shape:
        raise CaseError(f"{spec.name} has the shape {shape}; values of {found.shape} cannot be set")
    low, high = spec.valid or (-inf, inf)
    strange = found[~((found >= low) & (found <= high) & np.isfinite(found))]
    if strange.size:
        what = "mixing ratios lie" if spec.unit == "mol mol-1" else "its values lie"
        raise CaseError(f"{spec.name} cannot be {strange.flat[0]}: {what} between {low:g} and {high:g}")
    return np.broadcast_to(found.astype(np.float64), shape)


def air_registry(
    species: Iterable[tuple[str, str]], molar_masses: Mapping[str, float | None] | None = None,
    settable: Iterable[FieldSpec] = (), phases: "Mapping[str, Phase] | None" = None,
    horizontal: tuple[str, str] = SURFACE,
) -> FieldRegistry:  # fmt: skip
    """Return all fields of the air model: a mixing ratio [mol mol-1] of each species, weather, and settable numbers.

    species       (name, text);  molar_masses  [kg mol-1] by name, of species with known composition
    horizontal    names of the horizontal dimensions of the grid
    raises        CaseError for duplicate names
    """
    masses, known, names = molar_masses or {}, phases or {}, dict(zip(SURFACE, horizontal, strict=True))
    ratios = [
        FieldSpec(
            name, VOLUME, "mol mol-1", f"Mixing ratio of {text.strip() or name}",
            f"mole_fraction_of_{CF_SPECIES[name]}_in_air" if name in CF_SPECIES else None,
            molar_mass=masses.get(name), valid=(0.0, 1.0), settable=True,
            phase=known[name].name if name in known else "", particle=known[name].size if name in known else None,
        )
        for name, text in species
    ]  # fmt: skip
    fields = (*ratios, *WEATHER, *settable)
    return FieldRegistry(replace(each, dims=tuple(names.get(dim, dim) for dim in each.dims)) for each in fields)
