"""The time series of boxes as a data set that follows the CF conventions."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from airshed.air.box.conditions import BoxConditions
from airshed.core.errors import CaseError
from airshed.core.version import __version__
from airshed.mechanism.expressions import AIR_GASES
from airshed.mechanism.network import ReactionNetwork

if TYPE_CHECKING:
    import xarray as xr

Array = npt.NDArray[np.float64]

CONCENTRATION_UNITS: Final = "molecules cm-3"

RECORDED: Final = {
    "T": ("temperature", {"units": "K", "long_name": "air temperature", "standard_name": "air_temperature"}),
    "p": ("pressure", {"units": "Pa", "long_name": "air pressure", "standard_name": "air_pressure"}),
    "M": ("M", {"units": CONCENTRATION_UNITS, "long_name": "number density of air"}),
    "SUN": ("SUN", {"units": "1", "long_name": "light of the sun, 0 at night"}),
    "sec_zenith": ("sec_zenith", {"units": "1", "long_name": "secant of the solar zenith angle, 1 at night"}),
    "daylight": ("daylight", {"units": "1", "long_name": "factor on photolysis"}),
}
"""Conditions in the time series: their name there, and their attributes."""


OWN_NAMES: Final = frozenset({"time", "cell", *(name for name, _ in RECORDED.values())}) - {*AIR_GASES}
"""What a time series has beside species. A species M, where a mechanism has one, stands in the place of the air."""


def refuse_own_names(network: ReactionNetwork) -> None:
    """Raise CaseError for species that a time series could not tell from its time and its conditions."""
    taken = [name for name in network.names if name in OWN_NAMES]
    if taken:
        raise CaseError(
            f"mechanism {network.name}: species {', '.join(taken)}: the time series has variables of its own of such "
            "names; rename the species"
        )


class TimeSeries:
    """Concentrations and recorded conditions at the output times."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self._states: list[Array] = []
        self._values: dict[str, list[Array]] = {}

    def add(self, seconds: float, state: Array, values: Mapping[str, Array]) -> None:
        """Append the time, the state (species, cell) [molecules cm-3], and the conditions (cell or 1, 1) then."""
        self.times.append(seconds)
        self._states.append(state.copy())
        for name in RECORDED:
            if name in values:
                self._values.setdefault(name, []).append(values[name][:, 0])

    def dataset(
        self, network: ReactionNetwork, conditions: BoxConditions, *, many: bool, notes: Sequence[str] = ()
    ) -> "xr.Dataset":
        """Return all of it over time, and over cells where there are many; notes become its comment."""
        dimensions = ("time", "cell") if many else ("time",)
        states = np.array(self._states)  # (time, species, cell)
        cells = states.shape[2]

        def shaped(values: Array) -> Array:
            full = np.broadcast_to(values, (len(self.times), cells))
            return np.array(full if many else full[:, 0])

        variables = {
            RECORDED[name][0]: (dimensions, shaped(np.array(values)), RECORDED[name][1])
            for name, values in self._values.items()
        }
        for number, species in enumerate(network.species):
            attributes = {"units": CONCENTRATION_UNITS, "long_name": species.text or species.name}
            variables[species.name] = (dimensions, shaped(states[:, number]), attributes)
        clock = {"units": "s", "long_name": "local time since midnight of the first day"}
        import xarray as xr

        return xr.Dataset(
            variables,
            {"time": ("time", np.array(self.times), clock)},
            {
                "title": conditions.title,
                "Conventions": "CF-1.11",
                "source": f"Airshed {__version__}",
                "mechanism": network.name,
                "precision": conditions.solver.precision,
                "airshed_conditions": conditions.to_toml(),
                **({"comment": "; ".join(notes)} if notes else {}),
            },
        )
