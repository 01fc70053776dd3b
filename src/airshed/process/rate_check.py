"""Looks at the rates of a user's processes in the air of an instant: none may be negative, or no number."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from airshed.core.errors import DataError
from airshed.kernels.reference.operators import Reading, rates
from airshed.process.bound import Bound
from airshed.process.kinds import SIGNS
from airshed.process.place import Place

Array = npt.NDArray[np.float64]


def check_rates(bound: Bound, fields: Mapping[str, Array], state: Any, seconds: float) -> None:
    """Raise DataError for a loss, source or speed that is below 0 or not finite in the air of an instant.

    fields  of processes at the instant, see :meth:`Bound.at`;  seconds  since the start of the case
    Light is that of a clear sky. Rates of the package hold by their tests, and are not looked at.
    """
    if type(bound.process).__module__.startswith("airshed."):
        return
    operators = [each for each in bound.operators if each.kind in SIGNS]
    if not operators:
        return
    air = _air(bound.process.place, state, seconds)
    numbers = {name: np.asarray(values) for each in operators for name, values in each.numbers.items()}
    numbers |= {name: bound.numbers[name.removeprefix(f"{bound.key}_")].ravel() for name in numbers}
    for operator in operators:
        with np.errstate(all="ignore"):
            found = [np.asarray(each) for each in rates(operator, Reading(fields, numbers, air))]
        for rate in found:
            wrong = rate[~(rate >= 0.0) | ~np.isfinite(rate)]
            if wrong.size:
                name = operator.name.removeprefix(f"{bound.key}_")
                raise DataError(
                    f"process {type(bound.process).__name__}: {name}() gives {wrong[0]:g} at {seconds:g} s; "
                    f"a {operator.kind} is a number not below 0: write max(0, ...), or a loss for a source that takes"
                )


def _air(place: Place, state: Any, seconds: float) -> dict[str, Array]:
    """The air of cells by the names that formulas have for it, (level, lat, lon) or (lat, lon)."""
    height = np.maximum(place.sun_height(seconds), 0.0)
    density: Array = np.asarray(state.air_density)
    thickness = place.grid.thickness[:, None, None]
    known = {name: np.asarray(getattr(state, name)) for name in ("temperature", "pressure", "water_vapour")}
    return {
        **known, "air_density": density, "air": density * place.grid.cell_volume,
        "thickness": np.broadcast_to(thickness, density.shape), "cos_zenith": height,
        "light": (height > 0.0).astype(np.float64),
    }  # fmt: skip
