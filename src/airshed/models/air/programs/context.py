"""Base class of the runners of stages, and the data that runners share."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import inf

import numpy as np

from airshed.core.arrays import Array
from airshed.core.constants import AVOGADRO, NITROGEN_FRACTION, OXYGEN_FRACTION, SECONDS_PER_HOUR
from airshed.core.errors import NumericalError
from airshed.core.report import Table
from airshed.core.text import duration, number
from airshed.grid import Grid
from airshed.grid.box import Box
from airshed.kernels.backend import StepKernel, Stepper
from airshed.kernels.cells import Tolerances, method
from airshed.kernels.layout import Layout
from airshed.kernels.rates import REFERENCE_DENSITY
from airshed.kernels.step.arguments import HORIZONTAL_TERMS, StepConstants
from airshed.mechanism.structure import track_elements
from airshed.models.air.assembly import Parts
from airshed.models.air.budget import Budget
from airshed.models.air.emissions.sources import PackedSources
from airshed.models.air.forcing import Forcing
from airshed.models.air.light import PackedLight
from airshed.models.air.programs.cell_chemistry import LONGEST_FIRST, CellChemistry
from airshed.models.air.programs.records import StageRecord
from airshed.parallel.balance import LoadBalancer, message_costs
from airshed.parallel.communicator import MpiRanks
from airshed.parallel.halo import Halo
from airshed.process.vertical import parabola_weights
from airshed.program.stage import CELLS, Program, Stage
from airshed.runtime.model import SavedState, Snapshot

Span = tuple[float, float]
"""Start and end [s] of a stage in a step."""


@dataclass(frozen=True)
class AirContext:
    """Data that the stages of a step share: the parts of a case, its state and forcing, and its budget."""

    parts: Parts
    stepper: Stepper
    forcing: Forcing
    sources: PackedSources
    light: PackedLight
    budget: Budget

    @property
    def emitted(self) -> list[int]:
        """The indices of emitted species."""
        return [self.parts.network.index(name) for name in self.sources.species]

    def longest_useful_step(self, seconds: float, until: float) -> float:
        """Return `time.maximum_step` [s], or an hour at most without sources, losses, updates and reactions."""
        parts = self.parts
        acts = bool(parts.network.reactions or parts.processes.terms or parts.updates)
        return self.parts.case.time.maximum_step.value if acts else min(until - seconds, SECONDS_PER_HOUR)

    def longest_split_step(self, seconds: float, until: float) -> float:
        """Return the step [s] of the case, or the longest useful one; transport divides it by its Courant number."""
        step = self.parts.case.time.step
        return self.longest_useful_step(seconds, until) if step == "auto" else step.value

    def check_finite(self, sums: Array, seconds: float) -> None:
        """Raise NumericalError if sums over the state at a time [s], (..., species), are not finite."""
        if np.isfinite(sums).all():
            return
        lost = np.flatnonzero(~np.isfinite(np.atleast_2d(sums)).all(axis=0))[:3]
        names = ", ".join(self.parts.network.names[number] for number in lost)
        raise NumericalError(
            f"the state is no longer finite at {duration(seconds)} ({names}): check rate constants and emissions, "
            "or shorten time.step"
        )


class StageRunner:
    """Base class of the runners of one kernel; the defaults are for a stage without history and step limit.

    batch      maximum number of steps that :meth:`run` advances in one call
    recording  whether :meth:`run` returns records that can be repeated
    stepper    runs the compiled code of a formula; None for cells
    """

    batch = 1
    recording = False
    stepper: Stepper | None = None

    def run(self, number: int, stage: Stage, given: Sequence[Span]) -> list[StageRecord]:
        """Advance the state by a stage of each step of a batch; return its records, empty ones unless recording."""
        raise NotImplementedError

    def longest_step(self, seconds: float, until: float) -> float:
        """Return the longest step [s] from a time; raise NumericalError if that of the case is not stable."""
        return inf

    def restart(self) -> None:
        """Continue without history: the state or its forcing has jumped."""

    def set_boundary(self, profile: Array, top: Array) -> None:
        """Change the lateral profile (species, level) and the top (species,), before the first step."""
        if self.stepper is not None:
            self.stepper.set_boundary(profile, top)

    def save(self) -> Snapshot:
        """Return the state for :meth:`restore`, in addition to that of the model; collective."""
        return Snapshot({}, {}, {})

    def restore(self, stored: SavedState, held: Box) -> None:
        """Restore a state that any number of ranks saved; collective."""

    def wall(self) -> dict[str, float]:
        """Return the wall time of parts of all steps so far [s], except the times that steppers measure."""
        return {}

    def tables(self) -> list[Table]:
        """Return tables for the summary of a run."""
        return []

    def close(self) -> None:
        """Stop the threads and free the communicators that the runner owns."""


_CUBIC_CENTIMETRES = 1e6

LARGEST_BATCH = 8
"""Maximum number of steps in a batch, which reduces the cost per batch to an eighth per step."""

_SUMS = 2**21
"""Maximum size [B] of the budget contributions of blocks in a batch."""


def step_constants(parts: Parts, emitted: Sequence[str]) -> StepConstants:
    """Return the inputs of steps that do not change in a run, for the columns of this rank.

    emitted  names of the species of all sources, in their order
    """
    grid, start = parts.grid, parts.meteorology.at(parts.begin)
    pressure = parts.subdomain.mean_over_columns(start.pressure)
    return StepConstants(
        profile=parts.boundary.at(pressure), top=parts.boundary.at(pressure[-1]),
        density_factor=number_per_mole(grid) / REFERENCE_DENSITY,
        vertical_weights=parabola_weights(grid.thickness), thickness=grid.thickness,
        emitted=[parts.network.index(name) for name in emitted],
        sweeps=parts.case.chemistry.sweeps, oxygen=OXYGEN_FRACTION, nitrogen=NITROGEN_FRACTION,
    )  # fmt: skip


def make_halo(parts: Parts, layout: Layout) -> Halo | None:
    """Return the halo exchange of this rank with its neighbours; None for a single rank."""
    subdomain = parts.subdomain
    if not isinstance(subdomain.ranks, MpiRanks):
        return None
    size = len(parts.network.species), parts.grid.shape[0]
    return Halo(subdomain.ranks, subdomain.decomposition, layout, *size)


def batch_size(parts: Parts, kernel: StepKernel) -> int:
    """Return the number of steps in a batch, the same on all ranks.

    The budget contributions of blocks in a batch must fit the caches.
    """
    shape, tiles = kernel.shape, parts.subdomain.decomposition.tiles()
    blocks = max((tile.rows[1] - tile.rows[0]) * (tile.blocks[1] - tile.blocks[0]) for tile in tiles)
    terms = len(kernel.terms) if shape.vertical else len(HORIZONTAL_TERMS) * shape.levels
    return max(1, min(LARGEST_BATCH, int(_SUMS / (8 * blocks * terms * len(kernel.network.species)))))


def make_chemistry(
    parts: Parts, layout: Layout, families: tuple[str, ...], program: Program, *, threads: int
) -> CellChemistry | None:
    """Return the chemistry of the columns of this rank by a Rosenbrock method; None without reactions.

    families  elements whose atoms are counted where reactions do not conserve them
    """
    chosen, network = parts.case.chemistry, parts.network
    if not network.reactions:
        return None
    kernel = parts.backend.compile_chemistry(track_elements(network, families), chosen.precision, width=layout.width)
    tolerances = Tolerances(chosen.relative_tolerance, chosen.absolute_tolerance.value)
    solver = kernel.solver(method(chosen.solver), tolerances, threads=threads)
    place = partial(words_for_cell, parts.grid)
    return CellChemistry(
        solver, network, layout, parts.grid.shape[0], place, _first_limits(program), _make_balance(parts)
    )


def _first_limits(program: Program) -> list[float]:
    """Return the limits of first steps; stages that continue chemistry of the previous step have none."""
    continued = (program.writer_of(number).key == "+".join(CELLS) for number in program.cells)
    return [np.inf if each else LONGEST_FIRST for each in continued]


def _make_balance(parts: Parts) -> LoadBalancer | None:
    ranks, wanted = parts.subdomain.ranks, parts.case.parallel.balance
    if wanted is False or not isinstance(ranks, MpiRanks) or ranks.size == 1:
        return None
    return LoadBalancer(ranks, message_costs(ranks) if wanted == "auto" else None)


def words_for_cell(grid: Grid, row: int, column: int, level: int) -> str:
    """Return the location of a cell, for messages."""
    return (
        f"the cell at lon {grid.lon[row, column]:.6g}, lat {grid.lat[row, column]:.6g}, level {level} "
        f"({number(grid.layer_faces[level])} to {number(grid.layer_faces[level + 1])} m)"
    )


def number_per_mole(grid: Grid) -> Array:
    """Return the number density per mole of air in a cell [molecules cm-3 mol-1], (level, lat, lon).

    The shape is (level, lat, 1) if all cells of a row have the same volume.
    """
    volume = grid.cell_volume
    return np.asarray(AVOGADRO / _CUBIC_CENTIMETRES / (volume[:, :, :1] if volume.strides[2] == 0 else volume))
