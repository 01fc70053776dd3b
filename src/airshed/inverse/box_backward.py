"""Adjoints of the kinds of `cells` stages of boxes, from the end of a run to its start."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.kernels.cells import pack_cells, unpack_cells
from airshed.kernels.rates import REFERENCE_DENSITY
from airshed.kernels.step.data import Level, Share
from airshed.models.box.forcing import UNNEEDED
from airshed.models.box.gauss_seidel import GaussSeidelCells, GaussSeidelStep
from airshed.models.box.model import BoxModel
from airshed.models.box.rosenbrock import BoxInterval, Expansion, table_of
from airshed.models.box.series import Series, add_terms
from airshed.program.execute import walk_backwards
from airshed.program.stage import Stage

Array = npt.NDArray[np.float64]

_NO_VALUES: Final[Any] = None  # a program of one stage copies none

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


def backward(model: BoxModel, species: int) -> BoxAdjoints:
    """Return the adjoints of a species at the end of a run of which there are records."""
    gauss_seidel = isinstance(model.cells, GaussSeidelCells)
    adjoint = GaussSeidelAdjoint(model, species) if gauss_seidel else RosenbrockAdjoint(model, species)
    for records in reversed(model.records or []):
        walk_backwards(model.program, {"cells": adjoint}, _NO_VALUES, records)
    return adjoint.finish()


class RosenbrockAdjoint:
    """Adjoint of the `cells` stage of Rosenbrock methods; the working adjoint is (species, cell)."""

    def __init__(self, model: BoxModel, species: int) -> None:
        self._model, forcing, network = model, model.forcing, model.network
        cells = forcing.cells
        self._adjoint = np.zeros((len(network.species), cells))
        self._adjoint[species] = 1.0
        self._rates = np.zeros((len(network.reactions), cells))
        self._emission = np.zeros((len(forcing.emitted), cells))
        self._lost = np.zeros((len(network.species), cells))
        everything = tuple(range(len(network.species)))
        # A solver has loss rates of all species where these are diluted with their air.
        self._losses = np.array(everything if forcing.air_changes else forcing.deposited, np.intp)[:, None]

    def run(self, number: int, stage: Stage, given: Sequence[BoxInterval | Expansion]) -> None:
        """Take the adjoint over a step, of which `given` is the record."""
        emitted, adjoint = len(self._emission), self._adjoint
        for done in reversed(given):
            cells = done.cells
            if isinstance(done, Expansion):
                adjoint[:, cells] *= done.factor
                continue
            initial, rates, sources = _back_over(done, adjoint[:, cells], emitted, self._model.forcing.air_changes)
            adjoint[:, cells] = initial
            self._rates[:, cells] += rates
            self._emission[:, cells] += sources[:emitted]
            self._lost[self._losses, cells] += sources[emitted:]

    def finish(self) -> BoxAdjoints:
        """Return the adjoints at the start."""
        deposition = self._lost[list(self._model.forcing.deposited)]
        return BoxAdjoints(self._adjoint, _start(self._model)[0], self._rates, self._emission, deposition)


class GaussSeidelAdjoint:
    """Adjoint of the `cells` stage of the two-step formula, by that of the kernel, in mixing ratios c/M."""

    def __init__(self, model: BoxModel, species: int) -> None:
        assert isinstance(model.cells, GaussSeidelCells)
        self._model, self._cells, self._species = model, model.cells, len(model.network.species)
        self._emitted = list(model.forcing.emitted)
        self._emission = np.zeros((len(self._emitted), 1))
        self._layout, self._reverser = model.cells.layout, model.cells.reverser()
        self._nothing = self._layout.zeros(self._species, 1)
        self._newest = model.cells.mixing_ratios()
        self._level: Level | None = None
        self._reverser.start(self._nothing)
        weight = np.zeros((self._species, 1, 1, 1))
        weight[species] = REFERENCE_DENSITY * self._layout.unpack(model.cells.air())[0]
        self._reverser.x[...] = self._layout.pack(weight, padding="constant")

    def run(self, number: int, stage: Stage, given: GaussSeidelStep) -> None:
        """Take the adjoint over a step, of which `given` is the record."""
        forcing, levels = self._cells.forcing_of(given, self._newest)
        sources = self._layout.zeros(self._species, 1)
        self._reverser.reverse(forcing, levels, self._nothing, [Share(1.0, sources)])
        if self._emitted and forcing.column is not None:
            emission = self._layout.unpack(forcing.column.emission)
            self._emission += (self._layout.unpack(sources)[self._emitted] * emission)[:, 0, 0]
        self._newest, self._level = given.q, levels[1]

    def finish(self) -> BoxAdjoints:
        """Return the adjoints at the start."""
        assert self._level is not None
        self._reverser.finish(self._level)
        self._reverser.close()
        start, air = _start(self._model)
        initial = self._layout.unpack(self._reverser.x)[:, 0, 0] / air
        return BoxAdjoints(initial, start, self._reverser.reactions.sum(axis=(0, 1))[:, None], self._emission, None)


def _start(model: BoxModel) -> tuple[Array, Array]:
    """Return the concentrations (species, cell) and the density of air (1, 1 or cell) at the start."""
    begin = model.begin.at
    air = model.forcing.at([begin])
    return model.forcing.start(begin, air), air.get("M", np.full((1, 1), UNNEEDED["M"])).T


def _back_over(interval: BoxInterval, bar: Array, emitted: int, air_changes: bool) -> tuple[Array, Array, Array]:
    """Return adjoints at the beginning of an interval, of rates, and of emissions and losses, each (.., cell)."""
    count, width = len(interval.cells), interval.solver.kernel.shape.width
    rows = [*interval.rows, *_gains(interval, emitted, air_changes)]
    adjoint, inputs = pack_cells(bar, width), table_of(rows, count, width)
    found = interval.solver.reversed().reverse(adjoint, inputs, interval.recorded(), 0.0, interval.length)
    initial, rates, sources = (unpack_cells(each, count) for each in (found.adjoint, found.rates, found.sources))
    return initial, rates, sources


def _gains(interval: BoxInterval, emitted: int, air_changes: bool) -> Sequence[Array]:
    """Return what emissions and losses gain as a factor on them grows: themselves, without dilution with the air."""
    sources = list(interval.rows[len(interval.solver.kernel.inputs) :])
    if not air_changes:
        return sources
    air = Series(interval.rows[_AIR][:, None], np.zeros((1, 1)), np.zeros((1, 1)))
    growth = air.derivative_of_logarithm(np.array([interval.length])).coefficients[:, 0]
    return [*sources[:emitted], *(add_terms(loss, growth) for loss in sources[emitted:])]
