"""From reported pollutants [kg] to the species of a mechanism [mol]."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from airshed.air.emissions.tables import read_table
from airshed.core.errors import CaseError, DataError

COLUMNS = ("pollutant", "species", "mass_share", "molar_mass_g_mol")

OPTIONAL = ("NH3",)
"""Pollutants that are left out when the mechanism lacks their species; any other lack is an error."""


@dataclass(frozen=True)
class Part:
    """The part of a pollutant's reported mass [kg/kg] that is one species, and the mass that counts as a mole [kg/mol].

    For NOx, reported as NO2, the molar mass is that of NO2 for both species.
    """

    species: str
    share: float
    molar_mass: float

    @property
    def moles(self) -> float:
        """Amount of the species per reported mass of the pollutant [mol/kg]."""
        return self.share / self.molar_mass


def read_split(path: Path, pollutants: Iterable[str], species: Iterable[str]) -> dict[str, tuple[Part, ...]]:
    """The parts of each pollutant as species of the mechanism; shares sum to one.

    Raises DataError for a faulty file, CaseError that lists what is missing: a pollutant without an entry, or a species
    that the mechanism lacks. Ammonia is left out where the mechanism has none.
    """
    parts: dict[str, list[Part]] = {}
    for row in read_table(path, COLUMNS):
        share, grams = row.number("mass_share", most=1.0), row.number("molar_mass_g_mol", least=1.0)
        parts.setdefault(row.text("pollutant"), []).append(Part(row.text("species"), share, 1e-3 * grams))
    known = frozenset(species)
    wanted = [p for p in pollutants if p not in OPTIONAL or _can_be_split(parts.get(p), known)]
    _require_complete(path, parts, wanted, known)
    for pollutant in wanted:
        total = sum(part.share for part in parts[pollutant])
        if abs(total - 1.0) > 1e-6:
            raise DataError(f"{path}: the mass shares of {pollutant} sum to {total:g}, but must sum to 1")
    return {pollutant: tuple(parts[pollutant]) for pollutant in wanted}


def _can_be_split(parts: list[Part] | None, known: frozenset[str]) -> bool:
    return parts is not None and all(part.species in known for part in parts)


def _require_complete(path: Path, parts: dict[str, list[Part]], wanted: list[str], known: frozenset[str]) -> None:
    unmapped = [pollutant for pollutant in wanted if pollutant not in parts]
    if unmapped:
        raise CaseError(f"{path} does not say what species {', '.join(unmapped)} becomes; add lines for them")
    lacking = [f"{part.species} (of {p})" for p in wanted for part in parts[p] if part.species not in known]
    if lacking:
        raise CaseError(
            f"the mechanism lacks the emitted species {', '.join(lacking)}; "
            f"set emissions.species_map to a file for it, in place of {path}"
        )
