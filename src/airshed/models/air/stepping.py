"""The compiled code of a case, bound to its columns: the step, its halo, and chemistry that has its own steps."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from airshed.core.constants import AVOGADRO, NITROGEN_FRACTION, OXYGEN_FRACTION
from airshed.grid import Grid
from airshed.kernels.backend import StepKernel, backend
from airshed.kernels.chemistry import Tolerances, method
from airshed.kernels.layout import Layout
from airshed.kernels.step.data import HORIZONTAL_TERMS, StepConstants
from airshed.kernels.step.rates import REFERENCE_DENSITY
from airshed.mechanism.balance import follow
from airshed.models.air.assembly import Parts
from airshed.models.air.cell_chemistry import LONGEST_FIRST, CellChemistry
from airshed.parallel.balance import Balance, message_costs
from airshed.parallel.communicator import MpiRanks
from airshed.parallel.halo import Halo
from airshed.process.vertical import parabola_weights
from airshed.program.stage import CELLS, Program

Array = npt.NDArray[np.float64]

_CUBIC_CENTIMETRES = 1e6

LARGEST_BATCH = 8
"""Steps in the longest batch: what comes once for all of them is then an eighth of that for each."""

_SUMS = 2**21
"""Bytes of what blocks add to budgets in the steps of a batch."""


def step_constants(parts: Parts, emitted: Sequence[str]) -> StepConstants:
    """Return what stays the same from step to step, of the columns held here.

    emitted  names of the species of all sources, in their order
    """
    grid, start = parts.grid, parts.meteorology.at(parts.begin)
    pressure = parts.subdomain.mean_over_columns(start.pressure)
    return StepConstants(
        profile=parts.boundary.lateral_of(pressure), top=parts.boundary.top(float(pressure[-1])),
        density_factor=number_per_mole(grid) / REFERENCE_DENSITY,
        vertical_weights=parabola_weights(grid.thickness), thickness=grid.thickness,
        emitted=[parts.network.index(name) for name in emitted],
        sweeps=parts.case.chemistry.sweeps, oxygen=OXYGEN_FRACTION, nitrogen=NITROGEN_FRACTION,
    )  # fmt: skip


def make_halo(parts: Parts, layout: Layout) -> Halo | None:
    """Return what exchanges the edges of the columns held here with the ranks beside them; None for a run without."""
    subdomain = parts.subdomain
    if not isinstance(subdomain.ranks, MpiRanks):
        return None
    size = len(parts.network.species), parts.grid.shape[0]
    return Halo(
        subdomain.ranks, subdomain.decomposition, layout, *size, shared_memory=parts.case.parallel.halo == "auto"
    )


def batch_size(parts: Parts, kernel: StepKernel) -> int:
    """Return how many steps are to be made between two looks at what else there is to do; the same on all ranks.

    So many that what blocks add to budgets in them fits the caches.
    """
    shape, tiles = kernel.shape, parts.subdomain.decomposition.tiles()
    blocks = max((tile.rows[1] - tile.rows[0]) * (tile.blocks[1] - tile.blocks[0]) for tile in tiles)
    terms = len(kernel.terms) if shape.vertical else len(HORIZONTAL_TERMS) * shape.levels
    return max(1, min(LARGEST_BATCH, int(_SUMS / (8 * blocks * terms * len(kernel.network.species)))))


def make_chemistry(
    parts: Parts, layout: Layout, families: tuple[str, ...], program: Program, *, threads: int
) -> CellChemistry | None:
    """Return the chemistry of the columns held here by a Rosenbrock method; None where nothing reacts.

    families  elements whose atoms are counted where reactions make or lose them
    """
    chosen, network = parts.case.chemistry, parts.network
    if not network.reactions:
        return None
    kernel = backend().compile_chemistry(follow(network, families), chosen.precision, width=layout.width)
    tolerances = Tolerances(chosen.relative_tolerance, chosen.absolute_tolerance.value)
    solver = kernel.solver(method(chosen.solver), tolerances, threads=threads)
    place = partial(words_for_cell, parts.grid)
    return CellChemistry(
        solver, network, layout, parts.grid.shape[0], place, _first_limits(program), _make_balance(parts)
    )


def _first_limits(program: Program) -> list[float]:
    """Return the limits of first steps: cells that continue what chemistry wrote, in the step before, have none."""
    continued = (program.writer_of(number).key == "+".join(CELLS) for number in program.cells)
    return [np.inf if each else LONGEST_FIRST for each in continued]


def _make_balance(parts: Parts) -> Balance | None:
    ranks, wanted = parts.subdomain.ranks, parts.case.parallel.balance
    if wanted is False or not isinstance(ranks, MpiRanks) or ranks.size == 1:
        return None
    return Balance(ranks, message_costs(ranks) if wanted == "auto" else None)


def words_for_cell(grid: Grid, row: int, column: int, level: int) -> str:
    """Return where a cell is, for messages."""
    return (
        f"the cell at lon {grid.lon[column]:.6g}, lat {grid.lat[row]:.6g}, level {level} "
        f"({grid.layer_faces[level]:g} to {grid.layer_faces[level + 1]:g} m)"
    )


def number_per_mole(grid: Grid) -> Array:
    """Return the number density of air for each mole of it in a cell [molecules cm-3 mol-1], (level, lat)."""
    factor = AVOGADRO / _CUBIC_CENTIMETRES / grid.cell_volume[:, :, 0]
    return np.broadcast_to(factor, grid.shape[:2])
