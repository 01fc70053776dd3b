"""The compiled step of a case: its kernel bound to the air outside, the vertical grid, and what emits and deposits."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from airshed.air.assembly import Parts
from airshed.core.constants import AVOGADRO, NITROGEN_FRACTION, OXYGEN_FRACTION
from airshed.grid import Grid
from airshed.kernels.layout import Layout
from airshed.kernels.pipeline import MechanismKernel
from airshed.kernels.rates import REFERENCE_DENSITY
from airshed.kernels.stepper import Neighbours, Stepper
from airshed.process.vertical import parabola_weights

Array = npt.NDArray[np.float64]

_CUBIC_CENTIMETRES = 1e6


def make_stepper(
    parts: Parts, kernel: MechanismKernel, layout: Layout, species: slice = slice(None), *, deposited: Sequence[int],
    emitted: Sequence[int], threads: int, neighbours: Neighbours | None = None,
    total: Callable[[Array], Array] | None = None,
) -> Stepper:  # fmt: skip
    """Return the stepper of the columns held here, for some of the case's species in the kernel's order.

    deposited, emitted  their numbers among those species;  neighbours, total  see Stepper
    """
    start = parts.meteorology.at(parts.begin)
    pressure = parts.share.mean_over_columns(start.pressure)
    return Stepper(
        kernel, layout, ghosts=parts.boundary.lateral_of(pressure)[species],
        top=parts.boundary.top(float(pressure[-1]))[species],
        density_factor=number_per_mole(parts.grid) / REFERENCE_DENSITY,
        vertical_weights=parabola_weights(parts.grid.thickness), deposited=deposited, emitted=emitted,
        sweeps=parts.case.chemistry.sweeps, threads=threads, oxygen=OXYGEN_FRACTION, nitrogen=NITROGEN_FRACTION,
        neighbours=neighbours, total=total,
    )  # fmt: skip


def number_per_mole(grid: Grid) -> Array:
    """Return the number density of air for each mole of it in a cell [molecules cm-3 mol-1], (level, lat)."""
    factor = AVOGADRO / _CUBIC_CENTIMETRES / grid.cell_volume[:, :, 0]
    return np.broadcast_to(factor, grid.shape[:2])
