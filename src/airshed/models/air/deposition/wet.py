"""As which substances a mechanism's species go into rain, and the numbers of each that wet deposition uses."""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.core.errors import CaseError
from airshed.core.text import suggestion
from airshed.models.air.deposition.tables import ScavengedSpecies, depositing_species, scavenged_species
from airshed.models.air.processes import wet_deposition as formulas

Array = npt.NDArray[np.float64]

SCHEMES: Final = ("ratios", "henry", "none")
RAIN_PH: Final = 5.0
"""pH of rain in industrial regions; Seinfeld & Pandis 2006, Atmospheric Chemistry and Physics, section 20.5."""


class WetDeposition:
    """What rain takes out of the air, as numbers of species; see :mod:`airshed.models.air.processes.wet_deposition`.

    species     those that go into rain, in the mechanism's order
    provenance  where each has its numbers from
    below       a [m2/kg] of each, (n,);  inside  b [m2/kg];  coefficient  c [1/s] in rain of 1 mm/h
    soluble     whether Henry's law limits a and b of each, (n,)
    """

    def __init__(
        self,
        species: Sequence[str],
        *,
        scheme: str = "ratios",
        coefficients: Mapping[str, float] | None = None,
        surrogates: Mapping[str, str] | None = None,
        ph: float = RAIN_PH,
    ) -> None:
        """Choose the scheme and the species.

        species       the mechanism's
        scheme        "ratios" (scavenging ratios of the table), "henry" (those of very soluble gases, limited by
                      Henry's law; particles as with "ratios"), or "none" (only what ``coefficients`` gives)
        coefficients  {species: loss [1/s] to rain of 1 mm/h} in place of the scheme's; 0 for none
        surrogates    {species: substance of the deposition table} of the species map; without it each species is
                      looked up by its own name
        ph            of the rain
        raises        CaseError for a scheme or species that is not there, and for a value that cannot be
        """
        if scheme not in SCHEMES:
            raise CaseError(f"wet_deposition.scheme = {scheme!r} is not known; {suggestion(scheme, SCHEMES)}")
        if not 0.0 <= ph <= 14.0:
            raise CaseError(f"wet_deposition.ph = {ph:g}: give a pH between 0 and 14, such as {RAIN_PH:g}")
        given = _checked(coefficients or {}, species)
        names = {name: name for name in species} if surrogates is None else surrogates
        table = {
            name: entry
            for name in species
            if name not in given and name in names and (entry := _entry(names[name], scheme)) is not None
        }
        self.species = tuple(name for name in species if name in table or given.get(name, 0.0) > 0.0)
        self.provenance = {
            name: f"given: {given[name]:g} 1/s in 1 mm/h" if name in given else _origin(name, table[name], scheme)
            for name in self.species
        }
        entries = [table.get(name) for name in self.species]
        self.soluble = np.array([each is not None and scheme == "henry" and not each.particle for each in entries])
        pairs = [_factors(each, scheme) for each in entries]
        self.below, self.inside = np.array(pairs, np.float64).reshape(-1, 2).T.copy()
        self.coefficient = np.array([given.get(name, 0.0) for name in self.species])
        self._entries, self._hydrogen = entries, 10.0**-ph

    def rate(self, rain_below: Array, rain_in: Array, temperature: Array) -> Array:
        """Return Lambda (species, nz, nlat, nlon) [1/s] of rain [kg m-2 s-1] and temperature [K] (nz, nlat, nlon)."""
        total = np.empty((len(self.species), *rain_below.shape))
        for row, entry in enumerate(self._entries):
            below, inside = np.asarray(self.below[row]), np.asarray(self.inside[row])
            if entry is not None and self.soluble[row]:
                most = formulas.ratio_factor(self._equilibrium(entry, temperature))
                below, inside = formulas.limited_ratio(below, most), formulas.limited_ratio(inside, most)
            total[row] = formulas.scavenging_rate(below, inside, rain_below, rain_in)
            total[row] += formulas.given_rate(self.coefficient[row], rain_below + rain_in)
        return total

    def henry(self, name: str, temperature: Array) -> Array:
        """Return the effective Henry's constant [mol/(l atm)] of a species that the scheme "henry" limits."""
        entry = self._entries[self.species.index(name)]
        assert entry is not None
        return self._henry(entry, temperature)

    def _equilibrium(self, entry: ScavengedSpecies, temperature: Array) -> Array:
        return formulas.equilibrium_ratio(self._henry(entry, temperature), temperature)

    def _henry(self, entry: ScavengedSpecies, temperature: Array) -> Array:
        henry, acid, second, base = (
            formulas.at_temperature(np.asarray(value), np.asarray(cold), temperature)
            for value, cold in (entry.henry, *entry.acid, entry.base)
        )
        return formulas.effective_henry(henry, acid, second, base, self._hydrogen)


def _entry(name: str, scheme: str) -> ScavengedSpecies | None:
    """Return what of the table a species goes into rain as, by the substance as which it deposits; None for nothing."""
    dry = depositing_species().get(name.casefold())
    entry = scavenged_species().get((dry.name if dry else name).casefold())
    if entry is None or scheme == "none" or (scheme == "ratios" and entry.in_cloud == 0.0):
        return None
    return entry


def _factors(entry: ScavengedSpecies | None, scheme: str) -> tuple[float, float]:
    """Return a and b [m2/kg] of a substance; 0 for None."""
    if entry is None:
        return 0.0, 0.0
    if entry.particle:
        below = formulas.collection_factor(np.asarray(entry.efficiency))
        return float(below), float(formulas.ratio_factor(np.asarray(entry.in_cloud)))
    soluble = formulas.SOLUBLE_BELOW, formulas.SOLUBLE_IN
    ratios = soluble if scheme == "henry" else (entry.below_cloud, entry.in_cloud)
    return float(formulas.ratio_factor(np.asarray(ratios[0]))), float(formulas.ratio_factor(np.asarray(ratios[1])))


def _origin(name: str, entry: ScavengedSpecies, scheme: str) -> str:
    """Where the numbers come from, and of what substance they are if it is another one."""
    same = entry.name.casefold() == name.casefold()
    return f"{scheme}: {entry.source}" if same else f"{scheme}: as {entry.name}, {entry.source}"


def _checked(coefficients: Mapping[str, float], species: Sequence[str]) -> dict[str, float]:
    for name, value in coefficients.items():
        if name not in species:
            raise CaseError(
                f"wet_deposition.coefficients: {name!r} is no species of the mechanism; {suggestion(name, species)}"
            )
        if not isfinite(value) or value < 0.0:
            raise CaseError(f"wet_deposition.coefficients.{name} = {value:g} 1/s: give a rate that is not negative")
    return dict(coefficients)
