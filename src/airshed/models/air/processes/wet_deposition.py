"""Wet deposition: scavenging by rain in and below cloud.

    dq/dt = - Lambda q,      Lambda = a R_below + b R_in + c R_below^0.79

R_below and R_in [kg m-2 s-1] are the rain through a layer without and with cloud, the same for all species. a, b and c
are coefficients of a species, from its scavenging ratios W or the collection efficiency E of particles,

    gases      a = W_sub / (rho_w h_s)     particles  a = A E / V_dr     both  b = W_in / (rho_w h_s)

or only c, from a coefficient in the case. With Henry's law, W is at most that of equilibrium, H* R T.

source  Simpson et al. 2012, Atmos. Chem. Phys. 12, 7825-7868, section 8.2; Berge & Jakobsen 1998, Tellus B 50, 205-223
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from airshed.core.arrays import Array
from airshed.core.constants import GAS_CONSTANT, MOLAR_MASS_DRY_AIR
from airshed.core.units import Quantity
from airshed.models.air.species_map.parts import DepositionMap, TableEntry, depositing_species, entries_of, look_up
from airshed.process import Process, at_instant, choice, loss, need, number, per_species, quantity, weather

if TYPE_CHECKING:
    from airshed.models.air.weather import MetState


WATER_DENSITY: Final = 1000.0  # rho_w [kg m-3]
SCAVENGING_DEPTH: Final = 1000.0  # h_s [m], the characteristic depth of scavenging
COLLECTION: Final = 5.2
"""A [m3 kg-1 s-1] of drops with a Marshall-Palmer size distribution; V_dr [m s-1] is their fall speed."""
FALL_SPEED: Final = 5.0
LEAST_CLOUD_WATER: Final = 1e-7  # minimum of a cloudy layer [kg/kg]
EXPONENT: Final = 0.79
"""Exponent of rain in the loss rate from a coefficient; source: Sportisse 2007, Atmos. Environ. 41, 2683-2698."""
SOLUBLE_BELOW: Final = 0.5e6
SOLUBLE_IN: Final = 1.4e6  # scavenging ratios [1] of gases that dissolve at once, such as HNO3, below and in cloud
_REFERENCE: Final = 298.0
_LITRES_ATMOSPHERES: Final = 1000.0 / 101325.0  # mol/(l atm) in mol/(m3 Pa)
_MM_PER_HOUR: Final = 1.0 / 3600.0


def ratio_factor(ratio: Array) -> Array:
    """Return a or b from a scavenging ratio: W / (rho_w h_s).

    reads  ratio [1] of the concentrations in rain and in air        returns  [m2/kg]: times rain, a rate [1/s]
    """
    return ratio / (WATER_DENSITY * SCAVENGING_DEPTH)


def collection_factor(efficiency: Array) -> Array:
    """Return a of particles: A E / V_dr.

    reads  efficiency [1]        returns  [m2/kg]: times rain, a rate [1/s]
    """
    return COLLECTION * efficiency / FALL_SPEED


def scavenging_rate(below: Array, inside: Array, rain_below: Array, rain_in: Array) -> Array:
    """Return Lambda = a R_below + b R_in [1/s].

    reads  below a, inside b [m2/kg];  rain_below, rain_in [kg m-2 s-1]
    """
    return below * rain_below + inside * rain_in


def given_rate(coefficient: Array, rain: Array) -> Array:
    """Return Lambda = c (R / 1 mm h-1)^0.79 [1/s].

    reads  coefficient [1/s] in rain of 1 mm/h;  rain [kg m-2 s-1]
    """
    return coefficient * (rain / _MM_PER_HOUR) ** EXPONENT


def at_temperature(value: Array, cold: Array, temperature: Array) -> Array:
    """Return an equilibrium constant at a temperature: K exp(C (1/T - 1/298 K)).

    reads  value K [any unit] at 298 K;  cold C [K];  temperature [K]
    """
    return value * np.exp(cold * (1.0 / temperature - 1.0 / _REFERENCE))


def effective_henry(henry: Array, acid: Array, second: Array, base: Array, hydrogen: float | Array) -> Array:
    """Return the effective Henry's constant of a gas with dissociation, in water of a given pH.

    H* = H (1 + K1/[H+] + K1 K2/[H+]^2 + Kb/Kw [H+])

    reads    henry [mol/(l atm)];  acid K1, second K2 [mol/l], 0 for none;  base Kb/Kw [l/mol], 0 for none
             hydrogen [mol/l] = 10^-pH
    returns  [mol/(l atm)]
    source   Seinfeld & Pandis 2006, Atmospheric Chemistry and Physics, section 7.3
    """
    return henry * (1.0 + acid / hydrogen * (1.0 + second / hydrogen) + base * hydrogen)


def equilibrium_ratio(henry: Array, temperature: Array) -> Array:
    """Return the scavenging ratio of rain in equilibrium with the air: H* R T [1].

    reads  henry [mol/(l atm)], temperature [K]
    """
    return henry * _LITRES_ATMOSPHERES * GAS_CONSTANT * temperature


def rain_without_cloud(precipitation: Array, layer_faces: Array, top: float) -> Array:
    """Return the rain through layers without cloud data: the precipitation, from ``top`` to the ground.

    reads    precipitation (nlat, nlon) [kg m-2 s-1];  layer_faces (nz + 1,) [m];  top [m] above ground
    returns  R_below (nz, nlat, nlon) [kg m-2 s-1], in the layer with the top in proportion to the part below it
    """
    part = np.minimum(np.maximum((top - layer_faces[:-1]) / np.diff(layer_faces), 0.0), 1.0)
    return np.asarray(part[:, None, None] * np.maximum(precipitation, 0.0))


def rain_in_layers(
    precipitation: Array, cloud_water: Array, air_density: Array, layer_faces: Array, top: float
) -> tuple[Array, Array]:
    """Return the rain through layers without and with cloud, formed in proportion to the water of the cloud.

    R(k) = P sum over l >= k of w(l) / sum over all l of w(l);   w = q_c n M dz  where q_c is at least 1e-7 kg/kg

    It is the rain at the lower face, without evaporation. In a column without cloud water, rain begins at ``top``, as
    in :func:`rain_without_cloud`.

    reads    precipitation (nlat, nlon) [kg m-2 s-1];  cloud_water (nz, nlat, nlon) [kg/kg]
             air_density (nz, nlat, nlon) [mol m-3];  layer_faces (nz + 1,), top [m] above ground
    returns  (R_below, R_in), each (nz, nlat, nlon) [kg m-2 s-1]; one of them is 0 in every cell
    """
    is_cloud = cloud_water >= LEAST_CLOUD_WATER
    mass = MOLAR_MASS_DRY_AIR * air_density * np.diff(layer_faces)[:, None, None]
    above = np.cumsum(np.where(is_cloud, cloud_water * mass, 0.0)[::-1], axis=0)[::-1]
    has_cloud = above[0] > 0.0
    share = above / np.where(has_cloud, above[0], 1.0)
    rain = np.where(
        has_cloud, share * np.maximum(precipitation, 0.0), rain_without_cloud(precipitation, layer_faces, top)
    )
    return np.where(is_cloud, 0.0, rain), np.where(is_cloud, rain, 0.0)


@dataclass(frozen=True)
class ScavengedSpecies(TableEntry):
    """Scavenged substance; the table describes its numbers, which are 0 if it has none.

    henry  (constant at 298 K [mol/(l atm)], temperature dependence [K]);  acid  the same for both dissociations
    [mol/l];  base  the same for Kb/Kw [l/mol]
    """

    in_cloud: float
    below_cloud: float
    efficiency: float
    henry: tuple[float, float]
    acid: tuple[tuple[float, float], tuple[float, float]]
    base: tuple[float, float]


@cache
def scavenged_species() -> Mapping[str, ScavengedSpecies]:
    """Return the scavenged substances, see :func:`airshed.models.air.species_map.parts.entries_of`."""

    def make(name: str, row: Mapping[str, Any]) -> ScavengedSpecies:
        first, second, *_ = *zip(row.get("acid", ()), row.get("acid_cold", ()), strict=True), (0.0, 0.0), (0.0, 0.0)
        return ScavengedSpecies(
            name, row["source"], "efficiency" in row,
            in_cloud=row.get("in_cloud", 0.0), below_cloud=row.get("below_cloud", 0.0),
            efficiency=row.get("efficiency", 0.0), henry=(row.get("henry", 0.0), row.get("henry_cold", 0.0)),
            acid=(first, second), base=(row.get("base", 0.0), row.get("base_cold", 0.0)),
        )  # fmt: skip

    return entries_of("deposition/scavenging.toml", make)


class Scavenging:
    """Scavenging coefficients of species.

    species     scavenged species, in the order of the mechanism
    provenance  source of the numbers of each species
    below       a [m2/kg] of each, (n,);  inside  b [m2/kg];  coefficient  c [1/s] in rain of 1 mm/h
    soluble     True if Henry's law limits a and b of a species, (n,)
    """

    def __init__(
        self, species: Sequence[str], substances: Mapping[str, str], *, scheme: str = "ratios", ph: float = 5.0,
        coefficients: Mapping[str, float] | None = None,
    ) -> None:  # fmt: skip
        """Find the numbers of the species.

        substances    {species: substance of the deposition table}
        scheme        "ratios" (scavenging ratios of the table), "henry" (ratios of very soluble gases, limited by
                      Henry's law; particles as with "ratios"), or "none" (only ``coefficients``)
        ph            pH of the rain
        coefficients  {species: loss rate [1/s] in rain of 1 mm/h} in place of the scheme; 0 for none
        """
        given = coefficients or {}

        def find(name: str) -> ScavengedSpecies | None:  # by the surrogate of its deposition
            dry = depositing_species().get(name.casefold())
            entry = scavenged_species().get((dry.name if dry else name).casefold())
            without = entry is None or scheme == "none" or (scheme == "ratios" and entry.in_cloud == 0.0)
            return None if without else entry

        table, self.provenance = look_up(species, substances, find, given, (scheme, "1/s in 1 mm/h"))
        self.species = tuple(self.provenance)
        entries = [table.get(name) for name in self.species]
        self.soluble = np.array([each is not None and scheme == "henry" and not each.particle for each in entries])
        pairs = [_factors(each, scheme) for each in entries]
        self.below, self.inside = np.array(pairs, np.float64).reshape(-1, 2).T.copy()
        self.coefficient = np.array([given.get(name, 0.0) for name in self.species])
        self._entries, self._hydrogen = entries, 10.0**-ph

    def rate(self, rain_below: Array, rain_in: Array, temperature: Array) -> Array:
        """Return Lambda (species, nz, nlat, nlon) [1/s] of rain [kg m-2 s-1] and temperature [K] (nz, nlat, nlon)."""
        total = np.empty((len(self.species), *rain_below.shape))
        for row, name in enumerate(self.species):
            below, inside = np.asarray(self.below[row]), np.asarray(self.inside[row])
            if self.soluble[row]:
                most = ratio_factor(equilibrium_ratio(self.henry(name, temperature), temperature))
                below, inside = np.minimum(below, most), np.minimum(inside, most)
            total[row] = scavenging_rate(below, inside, rain_below, rain_in)
            total[row] += given_rate(self.coefficient[row], rain_below + rain_in)
        return total

    def henry(self, name: str, temperature: Array) -> Array:
        """Return the effective Henry's constant [mol/(l atm)] of a species with the scheme "henry"."""
        entry = self._entries[self.species.index(name)]
        assert entry is not None
        henry, acid, second, base = (
            at_temperature(np.asarray(value), np.asarray(cold), temperature)
            for value, cold in (entry.henry, *entry.acid, entry.base)
        )
        return effective_henry(henry, acid, second, base, self._hydrogen)


def _factors(entry: ScavengedSpecies | None, scheme: str) -> tuple[float, float]:
    """Return a and b [m2/kg] of a substance; 0 for None."""
    if entry is None:
        return 0.0, 0.0
    if entry.particle:
        return float(collection_factor(np.asarray(entry.efficiency))), float(ratio_factor(np.asarray(entry.in_cloud)))
    below, inside = (SOLUBLE_BELOW, SOLUBLE_IN) if scheme == "henry" else (entry.below_cloud, entry.in_cloud)
    return float(ratio_factor(np.asarray(below))), float(ratio_factor(np.asarray(inside)))


class WetDeposition(Process, section="wet_deposition", order=40):
    """Wet deposition by rain."""

    scheme = choice(
        "none", ("ratios", "henry", "none"),
        "`ratios`: scavenging ratios of a table; `henry`: ratios of soluble gases, limited by Henry's law.",
    )  # fmt: skip
    coefficients = per_species(
        "1/s", 'Loss rates in rain of 1 mm/h by species, such as `{ HNO3 = "1e-4 1/s" }`, in place of the scheme.',
        most="1 1/s",
    )  # fmt: skip
    ph = number(5.0, "pH of the rain, for `henry`.", ge=0.0, le=14.0)
    precipitation_top = quantity(
        "3 km", "m", "Height above ground at which rain forms in columns without cloud data.", most="30 km"
    )
    substances = need(DepositionMap)
    cloud_water = weather("cloud_water", "kg kg-1", optional=True)
    precipitation = weather("precipitation", "kg m-2 s-1")

    def prepare(self) -> None:
        """Find the scavenging coefficients of each species."""
        coefficients: Mapping[str, Quantity] = self.coefficients
        self.numbers = Scavenging(
            self.context.species, self.substances.substances(self.context.species),
            scheme=self.scheme, ph=self.ph,
            coefficients={name: value.value for name, value in coefficients.items()},
        )  # fmt: skip

    def is_on(self) -> bool:
        """Return True if a species is scavenged."""
        return bool(self.species)

    def idle_reason(self) -> str:
        """Return why a scheme has no effect: no species is scavenged."""
        if self.species or self.scheme == "none":
            return ""
        return (
            f'scheme = "{self.scheme}" finds no soluble species in the mechanism, by its species map or by name; '
            'give coefficients, such as { HNO3 = "1e-4 1/s" }, or scheme = "none"'
        )

    @property
    def species(self) -> tuple[str, ...]:
        """Scavenged species."""
        return self.numbers.species

    @property
    def provenance(self) -> Mapping[str, str]:
        """Source of the numbers of each species."""
        return self.numbers.provenance

    @at_instant("1/s", "cells", by_species=True)
    def rate(self, met: "MetState", seconds: float) -> Array:
        """Scavenging rate of each species."""
        faces, top = self.context.grid.layer_faces, self.precipitation_top.value
        cloud = met.get("cloud_water")
        if cloud is None:
            below = rain_without_cloud(met.precipitation, faces, top)
            inside = np.zeros_like(below)
        else:
            below, inside = rain_in_layers(met.precipitation, cloud, met.air_density, faces, top)
        return self.numbers.rate(below, inside, met.temperature)

    @loss(term="washed")
    def washed(rate):
        """First-order loss in all layers."""
        return rate
