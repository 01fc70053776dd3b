"""Balances of a cell: what came less what went is what stays.

rain - runoff - soil evaporation - transpiration - use by trees - drainage  =  change of the water in all layers
growth - detachment - eaten - trampled - burnt                              =  change of standing dry matter
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from airshed.models.pasture.fields import LAYERS, POOLS

Values = Mapping[str, npt.ArrayLike]
Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Balance:
    """A balance of something in a unit.

    stores  fields that hold it
    signs   totals since the start: 1 for what came, -1 for what went
    """

    text: str
    unit: str
    stores: Sequence[str]
    signs: Mapping[str, float]

    def change(self, now: Values, start: Values) -> Array:
        """Return what the stores of each cell hold more than at the start."""
        return _sum(now, self.stores) - _sum(start, self.stores)

    def residual(self, now: Values, start: Values) -> Array:
        """Return what came less what went and what stays, in each cell; 0 but for rounding."""
        moved = sum(sign * np.asarray(now[name], np.float64) for name, sign in self.signs.items())
        return np.asarray(moved - self.change(now, start))

    def relative_residual(self, now: Values, start: Values) -> Array:
        """Return the size of the residual as part of all that moved and was there, 0 where nothing was."""
        size = _sum(now, self.signs) + _sum(start, self.stores)
        residual = np.abs(self.residual(now, start))
        return np.divide(residual, size, out=np.zeros_like(residual), where=size > 0.0)


def _sum(values: Values, names: Sequence[str] | Mapping[str, float]) -> Array:
    return np.asarray(np.sum([np.asarray(values[name], np.float64) for name in names], axis=0))


WATER: Final = Balance(
    "water", "mm", tuple(f"water_{layer}" for layer in LAYERS),
    {
        "rain_total": 1.0, "runoff_total": -1.0, "soil_evaporation_total": -1.0, "transpiration_total": -1.0,
        "tree_water_use_total": -1.0, "drainage_total": -1.0,
    },
)  # fmt: skip
DRY_MATTER: Final = Balance(
    "standing dry matter", "kg ha-1", POOLS,
    {
        "growth_total": 1.0, "detachment_total": -1.0, "eaten_total": -1.0, "trampled_total": -1.0,
        "burnt_total": -1.0,
    },
)  # fmt: skip
