"""Random states of a mechanism: concentrations over twelve decades in air of all temperatures and pressures."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from benchmarks.chemistry.problems import problem

from airshed.core.constants import BOLTZMANN, NITROGEN_FRACTION, OXYGEN_FRACTION
from airshed.mechanism import ReactionNetwork, load_mechanism
from airshed.mechanism.expressions import AIR_GASES

Array = npt.NDArray[np.float64]

DECADES: Final = (-18.0, -6.0)
"""Decimal logarithms of the least and the greatest mixing ratio [mol/mol]."""

TEMPERATURES: Final = (180.0, 330.0)
PRESSURES: Final = (1e2, 1.05e5)

FIXED: Final = {"AIR": 1.0, "CH4": 1.8e-6, "H2": 5e-7, "CO2": 4e-4}
"""Mixing ratios of fixed species of a mechanism [mol/mol]."""

BUILT_IN: Final = {"cb5": "carbon_bond", "ts1": "ts1", "emep": "emep"}


@dataclass(frozen=True)
class States:
    """Cells of a mechanism: y (species, cell) [molecules cm-3], and the inputs of their rates, (cell,) each."""

    network: ReactionNetwork
    y: Array
    values: dict[str, Array]

    def of(self, cells: npt.ArrayLike) -> "States":
        """Return some of the cells."""
        return States(self.network, self.y[:, cells], {name: value[cells] for name, value in self.values.items()})


def random_states(name: str, count: int, seed: int = 1) -> States:
    """Return cells of "emep", "cb5", "ts1", or of a mechanism file; every second cell is in daylight."""
    random = np.random.default_rng(seed)
    temperature = random.uniform(*TEMPERATURES, count)
    pressure = 10.0 ** random.uniform(*np.log10(PRESSURES), count)
    density = 1e-6 * pressure / (BOLTZMANN * temperature)
    cosine, day = random.uniform(0.03, 1.0, count), np.arange(count) % 2 == 0
    light = np.where(day, cosine, 0.0)
    values = {
        "TEMP": temperature, "PRESS": pressure, "M": density, "O2": OXYGEN_FRACTION * density,
        "N2": NITROGEN_FRACTION * density, "H2O": density * 10.0 ** random.uniform(-6.0, -1.7, count), "SUN": light,
        "sec_zenith": 1.0 / cosine, "daylight": day.astype(np.float64),
    }  # fmt: skip
    network, parameters = _mechanism(name)
    for each in network.parameters:
        share = FIXED.get(each.name)
        known = parameters.get(each.name, each.default or 0.0)
        dark = each.name.startswith("PHOTO.")
        values[each.name] = share * density if share is not None else known * (light if dark else np.ones(count))
    y = density * 10.0 ** random.uniform(*DECADES, (len(network.names), count))
    for species, own in enumerate(network.names):
        if own in AIR_GASES:
            y[species] = values[own]
    return States(network, y, values)


def _mechanism(name: str) -> tuple[ReactionNetwork, dict[str, float]]:
    """Return a mechanism, and its open parameters with the sun overhead."""
    if name in BUILT_IN:
        found = problem(BUILT_IN[name], 1)
        return found.network, dict(found.parameters)
    return load_mechanism(Path(name)), {}
