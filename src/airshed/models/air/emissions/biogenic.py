"""Isoprene from vegetation, by temperature and light."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from airshed.core.constants import GAS_CONSTANT
from airshed.grid import Grid
from airshed.models.air.light import photon_flux
from airshed.models.air.weather import MetState

Array = NDArray[np.float64]

STANDARD_EMISSION = 1.0e-6 / 3600.0
"""Isoprene from a square metre of western European land at 303 K and 1000 umol photons m-2 s-1 [kg m-2 s-1].

1.0 mg m-2 h-1 with the shade of leaves: 6 % of the land under oaks (320 g m-2 of leaves that emit 60 ug g-1 h-1), 15 %
under conifers (1000 g m-2, 1 ug g-1 h-1) and next to nothing from grass and crops make 1.3 mg m-2 h-1 for leaves in the
sun. Factors of species: Simpson et al. 1999, J. Geophys. Res. 104, 8113-8152; uncertain to a factor of 2 to 3.
"""

_MOLAR_MASS = 68.117e-3
_STANDARD_TEMPERATURE = 303.0
_OPTIMUM_TEMPERATURE = 314.0
_RISE = 95_000.0
_FALL = 230_000.0
_LIGHT_SLOPE = 0.0027
_LIGHT_SCALE = 1.066


class BiogenicIsoprene:
    """Emission of isoprene by the vegetation of the land, into the lowest layer."""

    levels = 1

    def __init__(
        self, grid: Grid, becomes: Mapping[str, float], *, standard_emission: float = STANDARD_EMISSION
    ) -> None:
        """Prepare the emission; where isoprene becomes nothing ``species`` is empty.

        becomes            {species: moles of it from a mole of isoprene}
        standard_emission  [kg m-2 s-1] of land, at 303 K and 1000 umol m-2 s-1
        """
        self.species: tuple[str, ...] = tuple(becomes)
        self.factors = np.array([*becomes.values()])
        self._standard = np.broadcast_to(standard_emission * grid.cell_area / _MOLAR_MASS, grid.shape[1:])

    def rate(self, met: MetState, cos_zenith: Array, land_fraction: Array) -> Array:
        """Return the emission of isoprene E = E0 A f C_L C_T of each cell; that of each species is `factors` times it.

        reads    surface_temperature and cloud_cover of ``met``, cos_zenith [1], land_fraction f [1]: (nlat, nlon)
        returns  (nlat, nlon) [mol/s per cell]
        """
        light = light_factor(photon_flux(cos_zenith, met.cloud_cover))
        return np.asarray(self._standard * land_fraction * light * temperature_factor(met.surface_temperature))


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

    reads    temperature [K], of leaves; that of the air near the ground stands for it
    source   Guenther et al. 1993, J. Geophys. Res. 98, 12609-12617
    """
    scale = GAS_CONSTANT * _STANDARD_TEMPERATURE * np.asarray(temperature)
    rise = np.exp(_RISE * (temperature - _STANDARD_TEMPERATURE) / scale)
    return np.asarray(rise / (1.0 + np.exp(_FALL * (temperature - _OPTIMUM_TEMPERATURE) / scale)))
