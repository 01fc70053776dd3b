"""Random cells, the accepted steps of a solver in them, and dot products of its adjoint with the reference."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from airshed.kernels.backends.cpu.cells import CellKernel, CellReverser, CellSolver
from airshed.kernels.cells import (
    AcceptedSteps,
    CellSteps,
    Sources,
    Tableau,
    Tolerances,
    list_of_cells,
    pack_cells,
    unpack_cells,
)
from airshed.kernels.cells.arguments import CellExtras, Concentrations, initial, series
from airshed.kernels.cells.reference import Cell, take
from airshed.kernels.schedule import noon
from airshed.mechanism import ReactionNetwork

Array = npt.NDArray[np.float64]
Chemistry = Callable[..., CellKernel]

EXACT = 1e-12
SINGLE = 1e-4
"""In single precision the states differ from those of the reference by round-off."""

TINY = 1e-30
"""The imaginary part of a complex step: its square is negligible."""
LENGTH = 600.0


@dataclass(frozen=True)
class Trial:
    """Random cells and their sources.

    values   inputs of the kernel as functions of time;  emission, loss  (source, cell) likewise
    """

    kernel: CellKernel
    tableau: Tableau
    y: Array
    values: Callable[[Any], dict[str, Any]]
    sources: Sources
    emission: Callable[[Any], Array]
    loss: Callable[[Any], Array]
    degree: int
    tolerances: Tolerances

    @property
    def solver(self) -> CellSolver:
        return CellSolver(self.kernel, self.tableau, self.tolerances, self.sources, most_steps=4000)

    @property
    def cells(self) -> int:
        return self.y.shape[1]

    def cell(self, number: int) -> Cell:
        """Return the reference implementation of one cell."""
        network = self.kernel.network

        def spread(numbers: tuple[int, ...], values: Array) -> Array:
            table = np.zeros(len(network.species))
            table[list(numbers)] = values[:, number]
            return table

        return Cell(
            network, lambda t: {name: np.asarray(each)[..., number] if np.ndim(each) else each
                                for name, each in self.values(t).items()},
            lambda t: spread(self.sources.emitted, self.emission(t)), lambda t: spread(self.sources.lost, self.loss(t)),
            constant=self.degree == 0,
        )  # fmt: skip


def size(network: ReactionNetwork) -> float:
    """Return how large concentrations are: as the mechanism's file has them, else as those of the air."""
    return float(initial(network).max(initial=0.0)) or 1e11


def state(network: ReactionNetwork, cells: int, seed: int) -> Array:
    return size(network) * 10.0 ** np.random.default_rng(seed).uniform(-5.0, 0.0, (len(network.species), cells))


def trial(kernel: CellKernel, tableau: Tableau, cells: int, seed: int = 0, *, moving: bool = True) -> Trial:
    """Return cells with emission and loss, in air that changes with time or does not."""
    network, random = kernel.network, np.random.default_rng(seed)
    species = len(network.species)
    numbers = random.permutation(species)
    sources = Sources(tuple(numbers[: min(2, species)].tolist()), tuple(numbers[-min(3, species) :].tolist()))
    emission = size(network) * 10.0 ** random.uniform(-6.0, -4.0, (2, cells))
    loss = 10.0 ** random.uniform(-5.0, -3.0, (3, cells))
    factor = random.uniform(0.7, 1.0, (3, cells))

    def part(t: Any) -> Any:
        return np.asarray(t)[..., None] / LENGTH * moving

    def values(t: Any) -> dict[str, Any]:
        air = {name: value + 0.0 * part(t) * factor[0] for name, value in noon(network).items()}
        changing = {"TEMP": 280.0 * factor[0] + 10.0 * part(t), "daylight": (0.6 - 0.4 * part(t) ** 2) * factor[1],
                    "SUN": (0.5 + 0.1 * part(t)) * factor[2]}  # fmt: skip
        return {**air, **changing}

    return Trial(
        kernel, tableau, state(network, cells, seed), values, sources,
        lambda t: np.moveaxis(emission[: len(sources.emitted)] * (1.0 + part(t)[..., None]), -2, 0),
        lambda t: np.moveaxis(loss[: len(sources.lost)] * (2.0 - part(t)[..., None]), -2, 0),
        4 if moving else 0, Tolerances(1e-2, 1e-8 * size(network)),
    )  # fmt: skip


def inputs_of(each: Trial, *, gains: bool) -> Array:
    """Return inputs of the cells, followed by the same emissions and losses as derivatives by a factor."""
    own = lambda t: [*each.emission(t), *each.loss(t)]  # noqa: E731
    return series(
        each.kernel, each.values, 0.0, LENGTH, degree=each.degree, cells=each.cells,
        sources=lambda t: own(t) * (2 if gains else 1),
    )  # fmt: skip


def recorded(each: Trial, most: int, first: float = 0.0) -> tuple[AcceptedSteps, Array]:
    """Return the accepted steps among the first ones, and the state (species, cell) that they arrive at."""
    solver, width = replace(each.solver, most_steps=most), each.kernel.shape.width
    place, inputs = list_of_cells(each.cells, len(each.y), width), inputs_of(each, gains=False)

    def run(record: AcceptedSteps | None) -> tuple[CellSteps, Array]:
        packed, steps = pack_cells(each.y, width, each.kernel.dtype), CellSteps.zeros(len(inputs), width)
        steps.step[...] = first
        solver.advance(Concentrations(packed, packed, place), inputs, steps, 0.0, LENGTH, CellExtras(record=record))
        return steps, packed

    steps, plain = run(None)
    record = AcceptedSteps.for_counts(steps.accepted, len(each.y), each.kernel.dtype)
    _, packed = run(record)
    assert np.array_equal(plain, packed)
    return record, unpack_cells(packed, each.cells)


def taken(each: Trial, record: AcceptedSteps, number: int, change: dict[str, Array]) -> Array:
    """Return the state (species,) of one cell after its recorded steps by the reference, with complex inputs."""
    own = {name: 1j * TINY * values[..., number] for name, values in change.items()}
    twin = each.cell(number)
    emission, loss, network = twin.emission, twin.loss, each.kernel.network
    factors = {name: np.ones(len(network.species), complex) for name in ("emission", "loss")}
    for name, species in (("emission", each.sources.emitted), ("loss", each.sources.lost)):
        factors[name][list(species)] += own.get(name, 0.0)
    cell = replace(
        twin, emission=lambda t: emission(t) * factors["emission"], loss=lambda t: loss(t) * factors["loss"],
        factors=1.0 + own.get("rates", 0.0),
    )  # fmt: skip
    y = each.y[:, number] + own.get("y", 0j)
    first, count = (values.reshape(-1)[number] for values in (record.first, record.count))
    for time, step in zip(record.time[first : first + count], record.step[first : first + count], strict=True):
        y = take(cell, each.tableau, time, step, y)
    return y


def adjoints(each: Trial, record: AcceptedSteps, weights: Array, reverser: CellReverser) -> dict[str, Array]:
    """Return the compiled adjoint of weights (species, cell), by input."""
    adjoint = pack_cells(weights, each.kernel.shape.width)
    found = reverser.reverse(adjoint, inputs_of(each, gains=True), record, 0.0, LENGTH)
    y, rates, sources = (unpack_cells(part, each.cells) for part in (found.adjoint, found.rates, found.sources))
    emitted = len(each.sources.emitted)
    return {"y": y, "rates": rates, "emission": sources[:emitted], "loss": sources[emitted:]}


def worst(
    each: Trial, most: int = 8, *, seed: int = 0, first: float = 0.0, reverser: Any = None, even: bool = False
) -> float:
    """Return the greatest relative error of dot products, over the inputs of the steps and over cells.

    even  directions in which each element of an input counts alike, however small its adjoint
    """
    record, end = recorded(each, most, first)
    random = np.random.default_rng(seed)
    weights = random.normal(size=each.y.shape) / (end + each.tolerances.absolute)
    found = adjoints(each, record, weights, reverser or each.solver.reversed())
    errors = []
    for name, adjoint in found.items():
        change = random.normal(size=adjoint.shape) * (each.y if name == "y" else 1.0)
        if even:
            change = random.uniform(1.0, 2.0, adjoint.shape) / np.where(adjoint == 0.0, 1.0, np.abs(adjoint))
        for number in range(each.cells if change.size else 0):
            expected = float(weights[:, number] @ taken(each, record, number, {name: change}).imag / TINY)
            products = adjoint[:, number] * change[:, number]
            scale = max(abs(expected), float(np.abs(products).max()), 1e-300)
            errors.append(abs(expected - float(products.sum())) / scale)
    return max(errors)
