"""What a user may choose about the inventory."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from airshed.core.errors import CaseError
from airshed.core.text import suggestion

MEMO_ITEMS: Final = ("N_Natural", "O_AviCruise", "P_IntShipping", "z_Memo")
"""Reported beside the national totals and no part of them: nature, cruising aircraft, ships abroad, others."""


@dataclass(frozen=True)
class InventorySettings:
    """Which inventory to read, and what to change in it.

    folder        holds the tables, the map and the methane grid (docs/emissions.md lists them)
    year          of the national totals
    pollutants    to emit, as named in the table of totals; those that the species map makes nothing of are left out
    scale         factors for what-if runs by pollutant, sector, country (ISO 3166 two letters), or several of them
                  joined by a slash: {"NOx": 0.7, "F_RoadTransport": 0.5, "DE/A_PublicPower": 0.8}; all that fit are
                  multiplied
    leave_out     sectors that are not emitted
    countries_apart  whether countries of one local time are kept apart, so that each can be selected
    raises  CaseError for a factor that is negative or not a finite number
    """

    folder: Path
    year: int = 2022
    pollutants: tuple[str, ...] = ("NOx", "SOx", "NMVOC", "CO", "NH3")
    scale: Mapping[str, float] = field(default_factory=dict)
    leave_out: tuple[str, ...] = MEMO_ITEMS
    countries_apart: bool = False

    def __post_init__(self) -> None:
        for key, factor in self.scale.items():
            if not (math.isfinite(factor) and factor >= 0.0):
                raise CaseError(f"emissions.scale: the factor of {key} is {factor:g}; give a number of 0 or more")

    @property
    def split_file(self) -> Path:
        """The table that splits pollutants to compounds."""
        return self.folder / "species_split.csv"

    def check_scale(self, countries: Iterable[str], sectors: Iterable[str]) -> None:
        """Raise CaseError for a factor whose key names no pollutant, sector or country."""
        known = {*self.pollutants, *countries, *sectors}
        for key in self.scale:
            for name in key.split("/"):
                if name not in known:
                    raise CaseError(
                        f"emissions.scale: {name!r} is no pollutant, sector or country; {suggestion(name, known)}"
                    )

    def factor(self, country: str, sector: str, pollutant: str) -> float:
        """The product of all factors that fit."""
        names = {country, sector, pollutant}
        return math.prod(factor for key, factor in self.scale.items() if names.issuperset(key.split("/")))
