"""How weather changes with latitude and with the distance d from the coast, where no station tells:

    reference = at the coast at 25 S + north (latitude + 25) + inland (1 - exp(-d / 200 km))
    rain      = 200 + 450 exp(-d / 600 km) + 700 exp(-d / 60 km)                                 [mm a year]

Between stations the weather of a cell is made of theirs in proportion to the reference (rain, evaporation, radiation,
vapour pressure), or shifted by its difference (temperatures).

The numbers are synthetic: round ones near a least-squares fit to the means of 16 stations in the east of Queensland,
1900 to 2025, which leaves a root mean square of 0.67 and 0.63 degC, 0.34 MJ m-2, 0.28 mm and 0.55 hPa; those of rain
are of the same stations, by eye, and fall towards the west, where there is no station.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_MIDDLE: Final = -25.0  # [degrees]
_REACH: Final = 200.0  # [km] that the coast is felt


@dataclass(frozen=True)
class Gradient:
    """The mean at the coast at 25 S, its change for each degree to the north, and far inland."""

    coast: float
    north: float
    inland: float
    shifts: bool = False
    """Whether weather differs by the difference of references; else in proportion to them."""

    least: float = 1.0

    def reference(self, lat: Array, distance: Array) -> Array:
        """Return the mean at latitudes [degrees] and distances from the coast [km]."""
        felt = -np.expm1(-distance / _REACH)
        return np.asarray(np.maximum(self.coast + self.north * (lat - _MIDDLE) + self.inland * felt, self.least))


class RainGradient:
    """Rain, most at the coast and least far inland."""

    shifts = False

    def reference(self, lat: Array, distance: Array) -> Array:
        """Return the rain of a year [mm]."""
        return np.asarray(200.0 + 450.0 * np.exp(-distance / 600.0) + 700.0 * np.exp(-distance / 60.0))


GRADIENTS: Final[Mapping[str, Gradient | RainGradient]] = {
    "rain": RainGradient(),
    "pan_evaporation": Gradient(4.5, 0.10, 1.4),
    "radiation": Gradient(18.1, 0.14, 2.2),
    "vapour_pressure": Gradient(19.6, 0.37, -5.3),
    "min_temperature": Gradient(15.8, 0.46, -2.9, shifts=True, least=-50.0),
    "max_temperature": Gradient(25.9, 0.37, 3.2, shifts=True, least=-50.0),
}
"""For each field of weather."""

TEXT: Final = (
    "Between stations, weather follows synthetic gradients with latitude and distance from the coast "
    "(airshed.models.pasture.inputs.gradients)."
)
