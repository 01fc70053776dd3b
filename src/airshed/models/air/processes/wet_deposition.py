"""Wet deposition: what rain takes out of the air, in cloud and below it.

    dq/dt = - Lambda q,      Lambda = a R_below + b R_in + c R_below^0.79

R_below and R_in [kg m-2 s-1] are the rain that falls through a layer without and with cloud, the same for all species.
a, b and c are numbers of a species: of its scavenging ratios W or the efficiency E with which drops catch particles,

    gases      a = W_sub / (rho_w h_s)     particles  a = A E / V_dr     both  b = W_in / (rho_w h_s)

or c alone, from a coefficient that a case gives. With Henry's law, W is at most that of equilibrium, H* R T.

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
"""A [m3 kg-1 s-1] of drops of the Marshall-Palmer sizes; with V_dr [m s-1], the speed at which they fall."""
FALL_SPEED: Final = 5.0
LEAST_CLOUD_WATER: Final = 1e-7  # [kg/kg] that makes a layer a cloud
EXPONENT: Final = 0.79
"""Of the rain in the rate that a given coefficient makes; source: Sportisse 2007, Atmos. Environ. 41, 2683-2698."""
SOLUBLE_BELOW: Final = 0.5e6
SOLUBLE_IN: Final = 1.4e6  # scavenging ratios [1] of gases that dissolve at once, such as HNO3, below and in cloud
_REFERENCE: Final = 298.0
_LITRES_ATMOSPHERES: Final = 1000.0 / 101325.0  # mol/(l atm) in mol/(m3 Pa)
_MM_PER_HOUR: Final = 1.0 / 3600.0


def ratio_factor(ratio: Array) -> Array:
    """Return a or b of a scavenging ratio: W / (rho_w h_s).

    reads  ratio [1], concentration in rain over that in air        returns  [m2/kg]: times rain, a rate [1/s]
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
    """Return Henry's constant of all that a gas becomes in water of a given acidity.

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


def rain_without_cloud(precipitation: Array, layer_faces: Array, origin: float) -> Array:
    """Return the rain through layers without any data of clouds: all of it, from ``origin`` to the ground.

    reads    precipitation (nlat, nlon) [kg m-2 s-1];  layer_faces (nz + 1,) [m];  origin [m] above ground
    returns  R_below (nz, nlat, nlon) [kg m-2 s-1], of the layer that holds the origin by the part below it
    """
    part = np.minimum(np.maximum((origin - layer_faces[:-1]) / np.diff(layer_faces), 0.0), 1.0)
    return np.asarray(part[:, None, None] * np.maximum(precipitation, 0.0))


def rain_in_layers(
    precipitation: Array, cloud_water: Array, air_density: Array, layer_faces: Array, origin: float
) -> tuple[Array, Array]:
    """Return the rain through layers without and with cloud, formed in proportion to the water of the cloud.

    R(k) = P sum over l >= k of w(l) / sum over all l of w(l),   w = q_c n M dz  where q_c is at least 1e-7 kg/kg

    It is that of the lower face, and nothing of it evaporates. Where it rains from a column without cloud water, it
    does from ``origin``, as in :func:`rain_without_cloud`.

    reads    precipitation (nlat, nlon) [kg m-2 s-1];  cloud_water (nz, nlat, nlon) [kg/kg]
             air_density (nz, nlat, nlon) [mol m-3];  layer_faces (nz + 1,), origin [m] above ground
    returns  (R_below, R_in), each (nz, nlat, nlon) [kg m-2 s-1]; one of them is 0 in every cell
    """
    is_cloud = cloud_water >= LEAST_CLOUD_WATER
    mass = MOLAR_MASS_DRY_AIR * air_density * np.diff(layer_faces)[:, None, None]
    above = np.cumsum(np.where(is_cloud, cloud_water * mass, 0.0)[::-1], axis=0)[::-1]
    has_cloud = above[0] > 0.0
    share = above / np.where(has_cloud, above[0], 1.0)
    rain = np.where(
        has_cloud, share * np.maximum(precipitation, 0.0), rain_without_cloud(precipitation, layer_faces, origin)
    )
    return np.where(is_cloud, 0.0, rain), np.where(is_cloud, rain, 0.0)


@dataclass(frozen=True)
class ScavengedSpecies(TableEntry):
    """A substance that goes into rain; see the table for what the numbers are, which are 0 where it has none.

    henry  (constant at 298 K [mol/(l atm)], growth in the cold [K]);  acid  the same of both dissociations [mol/l];
    base   the same of Kb/Kw [l/mol]
    """

    in_cloud: float
    below_cloud: float
    efficiency: float
    henry: tuple[float, float]
    acid: tuple[tuple[float, float], tuple[float, float]]
    base: tuple[float, float]


@cache
def scavenged_species() -> Mapping[str, ScavengedSpecies]:
    """Return what goes into rain, see :func:`airshed.models.air.species_map.parts.entries_of`."""

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
    """Numbers of species by which rain takes them out of the air.

    species     those that go into rain, in the mechanism's order
    provenance  where each has its numbers from
    below       a [m2/kg] of each, (n,);  inside  b [m2/kg];  coefficient  c [1/s] in rain of 1 mm/h
    soluble     whether Henry's law limits a and b of each, (n,)
    """

    def __init__(
        self, species: Sequence[str], substances: Mapping[str, str], *, scheme: str = "ratios", ph: float = 5.0,
        coefficients: Mapping[str, float] | None = None,
    ) -> None:  # fmt: skip
        """Look up the species.

        substances    {species: substance of the deposition table}
        scheme        "ratios" (scavenging ratios of the table), "henry" (those of very soluble gases, limited by
                      Henry's law; particles as with "ratios"), or "none" (only what ``coefficients`` gives)
        ph            of the rain
        coefficients  {species: loss [1/s] to rain of 1 mm/h} in place of the scheme's; 0 for none
        """
        given = coefficients or {}

        def find(name: str) -> ScavengedSpecies | None:  # by the substance as which it deposits
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
        """Return the effective Henry's constant [mol/(l atm)] of a species that the scheme "henry" limits."""
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
    """What rain takes out of the air."""

    scheme = choice(
        "none", ("ratios", "henry", "none"),
        "`ratios` takes scavenging ratios of a table; `henry` those of soluble gases, up to what Henry's law allows.",
    )  # fmt: skip
    coefficients = per_species(
        "1/s", 'Loss of species to rain of 1 mm/h, such as `{ HNO3 = "1e-4 1/s" }`; in the place of the scheme\'s.',
        most="1 1/s",
    )  # fmt: skip
    ph = number(5.0, "pH of the rain, for `henry`.", ge=0.0, le=14.0)
    precipitation_top = quantity(
        "3 km", "m", "Height where it begins to rain, where nothing tells of clouds.", most="30 km"
    )
    substances = need(DepositionMap)
    cloud_water = weather("cloud_water", "kg kg-1", optional=True)
    precipitation = weather("precipitation", "kg m-2 s-1")

    def prepare(self) -> None:
        """Look up as what each species goes into rain."""
        coefficients: Mapping[str, Quantity] = self.coefficients
        self.numbers = Scavenging(
            self.context.species, self.substances.substances(self.context.species),
            scheme=self.scheme, ph=self.ph,
            coefficients={name: value.value for name, value in coefficients.items()},
        )  # fmt: skip

    def is_on(self) -> bool:
        """Whether some species goes into rain."""
        return bool(self.species)

    def idle_reason(self) -> str:
        """Return why no species goes into rain, where the case has a scheme."""
        if self.species or self.scheme == "none":
            return ""
        return (
            f'scheme = "{self.scheme}" knows no species of the mechanism as soluble, by its species map or by name; '
            'give coefficients, such as { HNO3 = "1e-4 1/s" }, or scheme = "none"'
        )

    @property
    def species(self) -> tuple[str, ...]:
        """Those that have numbers."""
        return self.numbers.species

    @property
    def provenance(self) -> Mapping[str, str]:
        """Where each species has its numbers from."""
        return self.numbers.provenance

    @at_instant("1/s", "cells", by_species=True)
    def rate(self, met: "MetState", seconds: float) -> Array:
        """Lambda of each species."""
        faces, origin = self.context.grid.layer_faces, self.precipitation_top.value
        cloud = met.get("cloud_water")
        if cloud is None:
            below = rain_without_cloud(met.precipitation, faces, origin)
            inside = np.zeros_like(below)
        else:
            below, inside = rain_in_layers(met.precipitation, cloud, met.air_density, faces, origin)
        return self.numbers.rate(below, inside, met.temperature)

    @loss(term="washed")
    def washed(rate):
        """First-order loss at all levels."""
        return rate
