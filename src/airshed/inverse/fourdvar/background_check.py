"""The background check: observations that are too far from what the background simulates are not assimilated."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from airshed.core.errors import CaseError
from airshed.core.report import Table
from airshed.observations.observation import Observations

Array = npt.NDArray[np.float64]

_MOST_LISTED = 20


@dataclass(frozen=True, eq=False)
class BackgroundCheck:
    """Which observations are assimilated, and why others are not.

    departure  (p,) innovations in standard deviations, (y - H(x_b)) / sigma_t;  accepted  (p,)
    """

    observations: Observations
    departure: Array
    accepted: npt.NDArray[np.bool_]

    @property
    def rejected(self) -> int:
        """The number of observations that are not assimilated."""
        return int((~self.accepted).sum())

    def table(self) -> Table:
        """Return the rejected observations, the farthest ones first."""
        numbers = np.flatnonzero(~self.accepted)
        numbers = numbers[np.argsort(-np.abs(self.departure[numbers]), kind="stable")]
        rows = [
            (str(self.observations.where[n]), str(self.observations.species[n]), float(self.observations.value[n]),
             str(self.observations.unit[n]), float(self.departure[n]))
            for n in numbers[:_MOST_LISTED]
        ]  # fmt: skip
        more = f"and {numbers.size - _MOST_LISTED} more" if numbers.size > _MOST_LISTED else ""
        title = f"{numbers.size} of {self.accepted.size} observations rejected by the background check"
        return Table(title, ("place", "species", "value", "unit", "departure [sigma]"), rows, more)


def check_background(
    observations: Observations, simulated: Array, most: float, background_sigma: Array | float = 0.0
) -> BackgroundCheck:
    """Reject y where |y - H(x_b)| > most sqrt(sigma_o^2 + sigma_b^2).

    simulated         (p,) H(x_b), in the units of the observations
    most              limit in standard deviations; infinity rejects none
    background_sigma  (p,) or a number: deviation of H(x_b) itself, in the same units; 0 where it is not known
    raises            CaseError for a limit that is not above 0, or a simulated value that is not finite
    """
    if not most > 0.0:
        raise CaseError(f"the limit of the background check is {most:g} sigma; give one above 0")
    if not np.isfinite(simulated).all():
        where = observations.where[np.flatnonzero(~np.isfinite(simulated))[0]]
        raise CaseError(f"the model simulates no finite value for {where}")
    departure = (observations.value - simulated) / np.hypot(observations.sigma, background_sigma)
    return BackgroundCheck(observations, departure, np.abs(departure) <= most)
