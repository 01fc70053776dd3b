"""Isoprene emission by vegetation, dependent on temperature, light and the season."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from airshed.core.arrays import Array
from airshed.core.constants import GAS_CONSTANT
from airshed.grid import Grid
from airshed.models.air.emissions.sources import middle_of_hour
from airshed.models.air.light import photon_flux

if TYPE_CHECKING:
    from airshed.models.air.weather import Meteorology, MetState


STANDARD_EMISSION = 1.0e-6 / 3600.0
"""Isoprene emission of western European land at 303 K and 1000 umol photons m-2 s-1 [kg m-2 s-1].

1.0 mg m-2 h-1 with the shading of leaves; sunlit leaves emit 1.3 mg m-2 h-1. Oaks cover 6 % of the land (320 g m-2 of
leaves, 60 ug g-1 h-1), conifers 15 % (1000 g m-2, 1 ug g-1 h-1); grass and crops emit almost nothing.
Emission factors of plants: Simpson et al. 1999, J. Geophys. Res. 104, 8113-8152; uncertain to a factor of 2 to 3.
"""

EVERGREEN: Final = 0.115
"""Fraction of the standard emission from conifers, which keep their leaves: 150 of 1300 ug m-2 h-1, as above."""

_LEAVES_GROW, _LEAVES_FALL = 20.0, 30.0  # [days]
_TROPIC, _TEMPERATE = 20.0, 30.0  # latitudes [degrees] without a season, and with the whole season
_DAYS_PER_YEAR = 365.25

_MOLAR_MASS = 68.117e-3
_STANDARD_TEMPERATURE = 303.0
_OPTIMUM_TEMPERATURE = 314.0
_RISE = 95_000.0
_FALL = 230_000.0
_LIGHT_SLOPE = 0.0027
_LIGHT_SCALE = 1.066


class BiogenicEmissions:
    """Isoprene emission by vegetation into the lowest layer, constant in each hour at its value in the middle."""

    kind, levels, changes = "vegetation", 1, ()

    def __init__(
        self, becomes: Mapping[str, float], grid: Grid, meteorology: "Meteorology",
        cos_zenith: Callable[[float], Array], land: Array, start: np.datetime64, total: Callable[[Array], Array],
    ) -> None:  # fmt: skip
        """Prepare the emission.

        becomes  {species: moles per mole of isoprene};  land  land fraction of cells [1], (lat, lon)
        total    function that sums (..., lat, lon) over the whole area, of which the grid may be a part
        """
        self.species, self._factors = tuple(becomes), np.array([*becomes.values()])
        self._lat = grid.lat
        self._area, self._land = np.broadcast_to(grid.cell_area, grid.shape[1:]), land
        self._meteorology, self._cos_zenith, self._start, self._total = meteorology, cos_zenith, start, total
        self._emitted: dict[float, Array] = {}
        self._totals: dict[float, Array] = {}

    def rate(self, seconds: float) -> Array:
        """Return the emission [mol/s per cell] in the hour of a time, (species, 1, lat, lon)."""
        middle = middle_of_hour(seconds, self._start)
        standard = STANDARD_EMISSION * season_factor(self._lat, self._start + np.timedelta64(round(middle), "s"))
        met, sun = self._meteorology.at(middle), self._cos_zenith(middle)
        rate = isoprene_emission(met, sun, self._land, self._area, standard)
        if middle not in self._totals:
            self._emitted[middle] = rate
        return np.asarray(self._factors[:, None, None, None] * rate)

    def totals(self, seconds: float) -> Array:
        """Return the emission of the area [mol/s] in the hour of a time, (species,); cached, since weather is costly.

        Collective.
        """
        middle = middle_of_hour(seconds, self._start)
        if middle not in self._totals:
            if middle not in self._emitted:
                self.rate(seconds)
            self._totals[middle] = self._factors * self._total(self._emitted.pop(middle))
        return self._totals[middle]

    def save(self) -> dict[str, Array]:
        """Return the totals of past hours, for which a resumed run then needs no weather."""
        known = dict(sorted(self._totals.items()))
        return {"middles": np.array(list(known)), "totals": np.array(list(known.values()))}

    def restore(self, arrays: Mapping[str, Array]) -> None:
        """Restore saved totals."""
        self._totals |= dict(zip(arrays["middles"].tolist(), arrays["totals"].copy(), strict=True))


def isoprene_emission(
    met: "MetState", cos_zenith: Array, land_fraction: Array, area: Array,
    standard: float | Array = STANDARD_EMISSION,
) -> Array:  # fmt: skip
    """Return the emission of isoprene E = E0 A f C_L C_T of each cell.

    reads    surface_temperature and cloud_cover of ``met``, cos_zenith [1], land_fraction f [1], area A [m2], all
             (nlat, nlon);  standard E0 [kg m-2 s-1] of land, at 303 K and 1000 umol m-2 s-1
    returns  (nlat, nlon) [mol/s per cell]
    """
    light = light_factor(photon_flux(cos_zenith, met.cloud_cover))
    of_land = standard * area / _MOLAR_MASS * land_fraction
    return np.asarray(of_land * light * temperature_factor(met.surface_temperature))


def season_factor(lat: Array, when: np.datetime64) -> Array:
    """Return the dependence of isoprene emission on the season: 1 in full leaf, the evergreen fraction without leaves.

    reads    lat [degrees], of any shape;  when  UTC
    """
    return np.asarray(1.0 - (1.0 - EVERGREEN) * (1.0 - leaf_area(lat, when)))


def leaf_area(lat: Array, when: np.datetime64) -> Array:
    """Return the leaf area of deciduous trees relative to that in summer.

    At 50 N leaves grow from day 105 of the year and are gone on day 297, per degree to the north 1.5 days later and 2
    days earlier. The leaf area grows in 20 days and declines in 30. In the southern hemisphere the season is half a
    year later. The rule is for temperate forests: from 30 degrees to 20 degrees its effect declines to zero.

    reads    lat [degrees], of any shape;  when  UTC
    source   Simpson et al. 2012, Atmos. Chem. Phys. 12, 7825-7865; latitude function of the Mapping Manual of the
             UNECE Convention on Long-range Transboundary Air Pollution
    """
    elapsed = (when - when.astype("datetime64[Y]")) / np.timedelta64(1, "D")
    poleward = np.abs(lat) - 50.0
    day = np.where(lat < 0.0, (elapsed + 0.5 * _DAYS_PER_YEAR) % _DAYS_PER_YEAR, elapsed)
    start, end = 105.0 + 1.5 * poleward, 297.0 - 2.0 * poleward
    leaves = np.clip(np.minimum((day - start) / _LEAVES_GROW, (end - day) / _LEAVES_FALL), 0.0, 1.0)
    temperate = np.clip((np.abs(lat) - _TROPIC) / (_TEMPERATE - _TROPIC), 0.0, 1.0)
    return np.asarray(1.0 - temperate * (1.0 - leaves))


def light_factor(photons: Array) -> Array:
    """Return the dependence of isoprene emission on light, 1 at 1000 umol m-2 s-1.

    C_L = 1.066 a Q / sqrt(1 + a^2 Q^2),   a = 0.0027

    reads    photons Q [umol m-2 s-1]
    source   Guenther et al. 1993, J. Geophys. Res. 98, 12609-12617
    """
    scaled = _LIGHT_SLOPE * np.asarray(photons)
    return np.asarray(_LIGHT_SCALE * scaled / np.sqrt(1.0 + scaled**2))


def temperature_factor(temperature: Array) -> Array:
    """Return the dependence of isoprene emission on temperature, 1 at 303 K, largest near 312 K.

    C_T = exp[95000 (T - 303)/(R 303 T)] / (1 + exp[230000 (T - 314)/(R 303 T)])

    reads    temperature [K] of leaves, approximated by that of the air near the ground
    source   Guenther et al. 1993, J. Geophys. Res. 98, 12609-12617
    """
    scale = GAS_CONSTANT * _STANDARD_TEMPERATURE * np.asarray(temperature)
    rise = np.exp(_RISE * (temperature - _STANDARD_TEMPERATURE) / scale)
    return np.asarray(rise / (1.0 + np.exp(_FALL * (temperature - _OPTIMUM_TEMPERATURE) / scale)))
