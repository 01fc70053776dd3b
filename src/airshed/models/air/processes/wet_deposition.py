"""Wet deposition: what rain takes out of the air, in cloud and below it.

    dq/dt = - Lambda q,      Lambda = a R_below + b R_in + c R_below^0.79

R_below and R_in [kg m-2 s-1] are the rain that falls through a layer without and with cloud, the same for all species.
a, b and c are numbers of a species: of its scavenging ratios W or the efficiency E with which drops catch particles,

    gases      a = W_sub / (rho_w h_s)     particles  a = A E / V_dr     both  b = W_in / (rho_w h_s)

or c alone, from a coefficient that a case gives. With Henry's law, W is at most that of equilibrium, H* R T.

source  Simpson et al. 2012, Atmos. Chem. Phys. 12, 7825-7868, section 8.2; Berge & Jakobsen 1998, Tellus B 50, 205-223
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from airshed.core.constants import GAS_CONSTANT, MOLAR_MASS_DRY_AIR
from airshed.core.units import Quantity
from airshed.process import Process, at_instant, choice, loss, number, per_species, quantity, weather

if TYPE_CHECKING:
    from airshed.models.air.weather import MetState

Array = npt.NDArray[np.float64]

WATER_DENSITY: Final = 1000.0
"""rho_w [kg m-3]."""
SCAVENGING_DEPTH: Final = 1000.0
"""h_s [m], the characteristic depth of scavenging."""
COLLECTION: Final = 5.2
"""A [m3 kg-1 s-1] of drops of the Marshall-Palmer sizes; with V_dr [m s-1], the speed at which they fall."""
FALL_SPEED: Final = 5.0
LEAST_CLOUD_WATER: Final = 1e-7
"""[kg/kg] that makes a layer a cloud."""
EXPONENT: Final = 0.79
"""Of the rain in the rate that a given coefficient makes; source: Sportisse 2007, Atmos. Environ. 41, 2683-2698."""
SOLUBLE_BELOW: Final = 0.5e6
SOLUBLE_IN: Final = 1.4e6
"""Scavenging ratios [1] of gases that dissolve at once, such as HNO3, below and in cloud."""

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


def limited_ratio(ratio: Array, equilibrium: Array) -> Array:
    """Return the scavenging ratio [1] of a gas whose rain holds at most what Henry's law allows."""
    return np.minimum(ratio, equilibrium)


def rain_without_cloud(precipitation: Array, layer_faces: Array, origin: float) -> Array:
    """Return the rain through layers where nothing tells of cloud: all of it, from ``origin`` to the ground.

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
    origin = quantity("3 km", "m", "Height where it begins to rain, where nothing tells of clouds.", most="30 km")
    cloud_water = weather("cloud_water", "kg kg-1", optional=True)
    precipitation = weather("precipitation", "kg m-2 s-1")

    def prepare(self) -> None:
        """Look up as what each species goes into rain."""
        from airshed.models.air.deposition.wet import WetDeposition as Numbers

        coefficients: Mapping[str, Quantity] = self.coefficients
        self.numbers = Numbers(
            self.place.species, scheme=self.scheme, ph=self.ph,
            coefficients={name: value.value for name, value in coefficients.items()},
            surrogates=self.place.about["deposition map"].substances(self.place.species),
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
        faces, origin = self.place.grid.layer_faces, self.origin.value
        cloud = met.extra.get("cloud_water")
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
