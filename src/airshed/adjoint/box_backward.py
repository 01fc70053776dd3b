"""Takes the adjoint of boxes back over what they did, from the end to the start."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from airshed.air.box import BoxRun
from airshed.air.box.forcing import UNNEEDED
from airshed.air.box.gauss_seidel import GaussSeidelCells
from airshed.air.box.smooth import Series
from airshed.air.box.tape import Expansion, Leg, table_of
from airshed.kernels.chemistry import pack_cells, unpack_cells
from airshed.kernels.step.data import Share
from airshed.kernels.step.rates import REFERENCE_DENSITY

Array = npt.NDArray[np.float64]

_AIR = 2
"""The input of the solver that is the density of air."""


@dataclass
class BoxAdjoints:
    """Adjoints of what boxes are given, each (.., cell).

    initial     (species) of concentrations [molecules cm-3] at the start;  start  these concentrations
    rates       (reaction) of a factor on each rate;  emission  (emitted), deposition  (deposited) likewise, or None
                where deposition has no adjoint
    """

    initial: Array
    start: Array
    rates: Array
    emission: Array
    deposition: Array | None


def backward(run: BoxRun, species: int) -> BoxAdjoints:
    """Return the adjoints of a species at the end of a run that has kept its tape."""
    return (
        _by_rosenbrock(run, species) if run.gauss_seidel is None else _by_gauss_seidel(run, run.gauss_seidel, species)
    )


def _by_gauss_seidel(run: BoxRun, boxes: GaussSeidelCells, species: int) -> BoxAdjoints:
    """Take steps of the two-step formula back by the adjoint of the model's own kernel, in mixing ratios c/M."""
    network, layout, emitted = run.network, boxes.layout, list(run.forcing.emitted)
    reverser, nothing = boxes.reverser(), layout.zeros(len(network.species), 1)
    emission, done, level = np.zeros((len(emitted), 1)), 0, None
    reverser.start(nothing)
    for step, levels in boxes.back():
        if not done:
            weight = np.zeros((len(network.species), 1, 1, 1))
            weight[species] = REFERENCE_DENSITY * layout.unpack(levels[2].air)[0]
            reverser.x[...] = layout.pack(weight, padding="constant")
        sources = layout.zeros(len(network.species), 1)
        reverser.reverse(step, levels, nothing, [Share(1.0, sources)])
        if emitted and step.column is not None:
            emission += (layout.unpack(sources)[emitted] * layout.unpack(step.column.emission))[:, 0, 0]
        done, level = done + 1, levels[1]
    assert level is not None
    reverser.finish(level)
    reverser.close()
    start, air = _start(run)
    initial = layout.unpack(reverser.x)[:, 0, 0] / air
    return BoxAdjoints(initial, start, reverser.reactions.sum(axis=(0, 1))[:, None], emission, None)


def _start(run: BoxRun) -> tuple[Array, Array]:
    """Return the concentrations (species, cell) and the density of air (1, 1 or cell) at the start."""
    begin = run.conditions.time.start.value
    air = run.forcing.at([begin])
    return run.forcing.start(begin, air), air.get("M", np.full((1, 1), UNNEEDED["M"])).T


def _by_rosenbrock(run: BoxRun, species: int) -> BoxAdjoints:
    network, forcing, tape = run.network, run.forcing, run.tape or []
    cells = forcing.cells
    bar, start = np.zeros((len(network.species), cells)), _start(run)[0]
    bar[species] = 1.0
    rates, emission = np.zeros((len(network.reactions), cells)), np.zeros((len(forcing.emitted), cells))
    lost = np.zeros((len(network.species), cells))
    for done in reversed(tape):
        if isinstance(done, Expansion):
            bar[:, done.cells] *= done.factor
            continue
        initial, of_rates, sources = _back_over(done, bar[:, done.cells], len(forcing.emitted), forcing.air_changes)
        bar[:, done.cells] = initial
        rates[:, done.cells] += of_rates
        emission[:, done.cells] += sources[: len(forcing.emitted)]
        lost[_lost(run)[:, None], done.cells] += sources[len(forcing.emitted) :]
    return BoxAdjoints(bar, start, rates, emission, lost[list(forcing.deposited)])


def _lost(run: BoxRun) -> npt.NDArray[np.intp]:
    """Return the species that the solver has a loss rate of: all where they are diluted with their air."""
    everything = tuple(range(len(run.network.species)))
    return np.array(everything if run.forcing.air_changes else run.forcing.deposited, np.intp)


def _back_over(leg: Leg, bar: Array, emitted: int, air_changes: bool) -> tuple[Array, Array, Array]:
    """Return adjoints at the beginning of an interval, of rates, and of emissions and losses, each (.., cell)."""
    count, width = len(leg.cells), leg.solver.kernel.shape.width
    rows = [*leg.rows, *_gains(leg, emitted, air_changes)]
    adjoint, inputs = pack_cells(bar, width), table_of(rows, count, width)
    found = leg.solver.reversed().reverse(adjoint, inputs, leg.recorded(), 0.0, leg.length)
    initial, rates, sources = (unpack_cells(each, count) for each in (found.adjoint, found.rates, found.sources))
    return initial, rates, sources


def _gains(leg: Leg, emitted: int, air_changes: bool) -> Sequence[Array]:
    """Return what emissions and losses gain as a factor on them grows: themselves, without dilution with the air."""
    sources = list(leg.rows[len(leg.solver.kernel.inputs) :])
    if not air_changes:
        return sources
    air = Series(leg.rows[_AIR][:, None], np.zeros((1, 1)), np.zeros((1, 1)))
    growth = air.derivative_of_logarithm(np.array([leg.length])).coefficients[:, 0]
    return [*sources[:emitted], *(_sum(loss, growth) for loss in sources[emitted:])]


def _sum(one: Array, other: Array) -> Array:
    """Return the sum of two series (cell or 1, term)."""
    terms = max(one.shape[1], other.shape[1])
    wide = [np.pad(each, [(0, 0), (0, terms - each.shape[1])]) for each in (one, other)]
    return np.asarray(wide[0] + wide[1])
