"""The properties of surfaces and species on which dry deposition rests, from the tables that are shipped."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

SEASONS = ("summer", "autumn", "late_autumn", "spring")
"""Seasonal categories of Wesely (1989); that of snow is left out."""

WATER = "water"

_SEASON_OF_MONTH = ("late_autumn",) * 2 + ("spring",) * 3 + ("summer",) * 3 + ("autumn",) * 2 + ("late_autumn",) * 2
_CM = 1e-2


@dataclass(frozen=True)
class Surface:
    """A kind of surface in one season: share of land or sea [1], and resistances [s/m], infinite where none goes."""

    share: float
    stomata: float
    cuticle: float
    in_canopy: float
    ground_so2: float
    ground_o3: float
    exposed_so2: float
    exposed_o3: float


@dataclass(frozen=True)
class DepositingSpecies:
    """A substance that deposits: molar mass [g/mol], Henry's constant [mol/(l atm)], reactivity [1]; 0 for particles.

    ``constant`` are the velocities [m/s] over land and sea of the scheme "constant", None where it has none.
    """

    name: str
    source: str
    particle: bool
    mass: float
    henry: float
    reactivity: float
    constant: tuple[float, float] | None


@dataclass(frozen=True)
class ScavengedSpecies:
    """A substance that goes into rain; see the table for what the numbers are, which are 0 where it has none.

    henry  (constant at 298 K [mol/(l atm)], growth in the cold [K]);  acid  the same of both dissociations [mol/l];
    base   the same of Kb/Kw [l/mol]
    """

    name: str
    source: str
    particle: bool
    in_cloud: float
    below_cloud: float
    efficiency: float
    henry: tuple[float, float]
    acid: tuple[tuple[float, float], tuple[float, float]]
    base: tuple[float, float]


def season(month: int, latitude: float) -> str:
    """Return Wesely's seasonal category for a month (1 to 12) and a latitude [degrees]; half a year on in the south."""
    return _SEASON_OF_MONTH[(month - 1 + (6 if latitude < 0.0 else 0)) % 12]


def surfaces(of_season: str) -> dict[str, Surface]:
    """Return the kinds of surface in one of ``SEASONS``: those of the land with their shares, and water with 1."""
    table = _read("surfaces.toml")
    mix = table["mix"]
    return {
        name: Surface(mix.get(name, 1.0), **dict(zip(table["columns"], table[name][of_season], strict=True)))
        for name in (*mix, WATER)
    }


@cache
def depositing_species() -> Mapping[str, DepositingSpecies]:
    """Return what deposits, by folded name; a substance stands under its name and under each of its aliases."""
    known: dict[str, DepositingSpecies] = {}
    for name, row in _read("species.toml").items():
        constant = row.get("constant")
        entry = DepositingSpecies(
            name=name,
            source=row["source"],
            particle=row.get("particle", False),
            mass=row.get("mass", 0.0),
            henry=row.get("henry", 0.0),
            reactivity=row.get("reactivity", 0.0),
            constant=(_CM * constant["land"], _CM * constant["sea"]) if constant else None,
        )
        known.update({alias.casefold(): entry for alias in (name, *row.get("alias", ()))})
    return known


@cache
def scavenged_species() -> Mapping[str, ScavengedSpecies]:
    """Return what goes into rain, by folded name; a substance stands under its name and under each of its aliases."""
    known: dict[str, ScavengedSpecies] = {}
    for name, row in _read("scavenging.toml").items():
        first, second, *_ = *zip(row.get("acid", ()), row.get("acid_cold", ()), strict=True), (0.0, 0.0), (0.0, 0.0)
        entry = ScavengedSpecies(
            name=name,
            source=row["source"],
            particle="efficiency" in row,
            in_cloud=row.get("in_cloud", 0.0),
            below_cloud=row.get("below_cloud", 0.0),
            efficiency=row.get("efficiency", 0.0),
            henry=(row.get("henry", 0.0), row.get("henry_cold", 0.0)),
            acid=(first, second),
            base=(row.get("base", 0.0), row.get("base_cold", 0.0)),
        )
        known.update({alias.casefold(): entry for alias in (name, *row.get("alias", ()))})
    return known


@cache
def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((files("airshed.models.air") / "data" / "deposition" / name).read_text())
