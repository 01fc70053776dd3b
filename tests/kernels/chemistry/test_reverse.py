"""Accepted steps in reverse are the exact adjoint of the solver: dot products with the complex step of its NumPy twin.

    <w, dF/dx d> = <(dF/dx)' w, d>

for the state F that the accepted steps arrive at and any of their inputs x: w, d at random, steps of fixed length.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from airshed.kernels.chemistry import (
    METHODS,
    AcceptedSteps,
    CellSteps,
    Sources,
    Tableau,
    Tolerances,
    list_of_cells,
    pack_cells,
    unpack_cells,
)
from airshed.kernels.chemistry.cells import initial, series
from airshed.kernels.cpu.chemistry import ChemistryKernel, ChemistrySolver
from airshed.kernels.cpu.chemistry.reverse.emit import ReverseWriter
from airshed.kernels.cpu.chemistry.reverse.kernel import compile_reverse
from airshed.kernels.cpu.chemistry.reverse.reverser import ChemistryReverser
from airshed.kernels.reference.rosenbrock import Cell, take
from airshed.kernels.step.schedule import noon
from airshed.mechanism import ReactionNetwork

Array = npt.NDArray[np.float64]
Chemistry = Callable[..., ChemistryKernel]

EXACT = 1e-12
TINY = 1e-30
"""The imaginary part of a complex step: its square is nothing beside one."""
LENGTH = 600.0
SHIPPED = sorted(path.stem for path in (Path(__file__).parents[3] / "mechanisms").glob("*.def"))


@dataclass(frozen=True)
class Trial:
    """Cells at random and what is done to them.

    values   inputs of the kernel as functions of time;  emission, loss  (source, cell) likewise
    """

    kernel: ChemistryKernel
    tableau: Tableau
    y: Array
    values: Callable[[Any], dict[str, Any]]
    sources: Sources
    emission: Callable[[Any], Array]
    loss: Callable[[Any], Array]
    degree: int
    tolerances: Tolerances

    @property
    def solver(self) -> ChemistrySolver:
        return ChemistrySolver(self.kernel, self.tableau, self.tolerances, self.sources, most_steps=4000)

    @property
    def cells(self) -> int:
        return self.y.shape[1]

    def cell(self, number: int) -> Cell:
        """Return the twin of one cell."""
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


def trial(kernel: ChemistryKernel, tableau: Tableau, cells: int, seed: int = 0, *, moving: bool = True) -> Trial:
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
    """Return inputs of the cells, and behind them those that a factor on emission and loss scales: the same."""
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
        packed, steps = pack_cells(each.y, width), CellSteps.zeros(len(inputs), width)
        steps.step[...] = first
        solver.advance(packed, packed, place, inputs, steps, 0.0, LENGTH, record=record)
        return steps, packed

    steps, plain = run(None)
    record = AcceptedSteps.room_for(steps.accepted, len(each.y), np.float64)
    _, packed = run(record)
    assert np.array_equal(plain, packed)
    return record, unpack_cells(packed, each.cells)


def taken(each: Trial, record: AcceptedSteps, number: int, change: dict[str, Array]) -> Array:
    """Return the state (species,) of one cell after its recorded steps by the twin, inputs changed by complex parts."""
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
    first, room = (values.reshape(-1)[number] for values in (record.first, record.room))
    for time, step in zip(record.time[first : first + room], record.step[first : first + room], strict=True):
        y = take(cell, each.tableau, time, step, y)
    return y


def adjoints(each: Trial, record: AcceptedSteps, weights: Array, reverser: ChemistryReverser) -> dict[str, Array]:
    """Return what the compiled adjoint makes of weights (species, cell), by the input."""
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


@pytest.mark.parametrize("moving", [False, True], ids=["still", "moving"])
@pytest.mark.parametrize("tableau", METHODS.values(), ids=METHODS)
def test_dot_products(chemistry: Chemistry, tableau: Tableau, moving: bool) -> None:
    """One cell, and more than fill a pack, each with its own steps."""
    for seed, cells in enumerate((1, 9)):
        assert worst(trial(chemistry("toy"), tableau, cells, seed, moving=moving), 5, seed=seed) < EXACT


@pytest.mark.parametrize("kind", [{"looped": True}, {"width": 4}], ids=["looped", "four lanes"])
def test_dot_products_of_other_code(chemistry: Chemistry, kind: dict[str, Any]) -> None:
    assert worst(trial(chemistry("toy", **kind), METHODS["rodas4"], 3), 5) < EXACT


@pytest.mark.parametrize("name", SHIPPED)
def test_dot_products_of_mechanisms(chemistry: Chemistry, name: str) -> None:
    for tableau in (METHODS["rodas4"], METHODS["ros3"]):
        each = trial(chemistry(name), tableau, 2, 3)
        assert recorded(each, 4)[0].room.reshape(-1)[:2].min() > 0
        assert worst(each, 4) < EXACT


def test_what_is_clipped_depends_on_nothing(chemistry: Chemistry) -> None:
    each = trial(chemistry("toy"), METHODS["ros3"], 4, 0, moving=False)
    each = replace(each, tolerances=Tolerances(0.9, 1e12))
    _, end = recorded(each, 1, first=300.0)
    assert (end == 0.0).any()
    assert worst(each, 1, first=300.0) < EXACT
    found = adjoints(each, recorded(each, 1, 300.0)[0], np.where(end == 0.0, 1.0, 0.0), each.solver.reversed())
    assert not any(values.any() for values in found.values())


def test_any_threads_give_the_same_bits(chemistry: Chemistry) -> None:
    each = trial(chemistry("toy"), METHODS["rodas4"], 37, 2)
    record, end = recorded(each, 30)
    one, three = (
        adjoints(each, record, 1.0 / (end + each.tolerances.absolute), replace(each.solver, threads=threads).reversed())
        for threads in (1, 3)
    )
    assert [name for name in one if not np.array_equal(one[name], three[name])] == []


def test_a_cell_does_not_depend_on_its_neighbours(chemistry: Chemistry) -> None:
    each = trial(chemistry("toy"), METHODS["rodas4"], 5, 2, moving=False)
    record, end = recorded(each, 30)
    all_of_them = adjoints(each, record, 1.0 / (end + each.tolerances.absolute), each.solver.reversed())
    one = replace(
        each, y=each.y[:, 3:4], values=lambda t: {n: v[..., 3:4] for n, v in each.values(t).items()},
        emission=lambda t: each.emission(t)[..., 3:4], loss=lambda t: each.loss(t)[..., 3:4],
    )  # fmt: skip
    alone = adjoints(one, recorded(one, 30)[0], 1.0 / (end[:, 3:4] + each.tolerances.absolute), one.solver.reversed())
    for name, values in alone.items():
        assert np.array_equal(values[:, 0], all_of_them[name][:, 3]), name


@pytest.mark.parametrize("tableau", METHODS.values(), ids=METHODS)
def test_taylor_remainders_are_of_second_order(chemistry: Chemistry, tableau: Tableau) -> None:
    """|F(x + e d) - F(x) - e dF/dx d| for e = 1e-2, 1e-3, of the twin's steps of fixed length."""
    each, random = trial(chemistry("toy"), tableau, 1, 7), np.random.default_rng(7)
    record, end = recorded(each, 8)
    weights = random.normal(size=end.shape) / (end + each.tolerances.absolute)
    found = adjoints(each, record, weights, each.solver.reversed())
    change = {name: random.normal(size=values.shape) for name, values in found.items()}
    change["y"] *= each.y
    slope = sum(float(np.sum(found[name] * change[name])) for name in found)

    def remainder(part: float) -> float:
        along = {name: -1j * part / TINY * values for name, values in change.items()}
        moved = taken(each, record, 0, along).real  # -i i = 1: a real change
        return abs(float(weights[:, 0] @ (moved - end[:, 0])) - part * slope)

    order = np.log10(remainder(1e-3) / remainder(1e-4))
    assert order == pytest.approx(2.0, abs=0.05)


def lines() -> Iterator[tuple[str, int, int]]:
    """Yield the place of each generated statement of the toy: its writer, its reaction or row, its number there."""
    from .conftest import chemistry

    kernel = chemistry("toy")
    writer = ReverseWriter(kernel.network, kernel.source.elimination)
    for name in ("of_tendency", "of_product"):
        for number, reactants in enumerate(kernel.network.reactant_indices):
            if name == "of_product" and not reactants:
                continue
            yield from ((name, number, place) for place, _ in enumerate(getattr(writer, name)(number)))
    for name in ("forward", "backward"):
        yield from ((name, 0, place) for place, _ in enumerate(getattr(writer, name)()))


def without(writing: Callable[..., Any], number: int, place: int) -> Callable[..., Any]:
    """Return a writer that leaves one statement away."""

    def write(self: ReverseWriter, *reaction: int) -> list[str]:
        found = list(writing(self, *reaction))
        return [line for at, line in enumerate(found) if (*reaction, at) != (*((number,) if reaction else ()), place)]

    return write


def test_a_forgotten_term_is_noticed(chemistry: Chemistry, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: each generated statement in turn is left away."""
    monkeypatch.setattr("airshed.kernels.cpu.chemistry.reverse.kernel.FLAGS", ("-O0",))
    kernel = chemistry("toy")
    each = trial(kernel, METHODS["rodas3"], 1, 1)
    y = 1e12 * np.random.default_rng(1).uniform(0.5, 2.0, each.y.shape)  # so that all reactions matter
    each = replace(each, y=y, tolerances=Tolerances(0.5, 1e12))
    assert recorded(each, 4)[0].room[0, 0] > 2
    assert worst(each, 4, even=True) < 1e2 * EXACT
    missed = []
    for name, number, place in lines():
        with monkeypatch.context() as patch:
            patch.setattr(ReverseWriter, name, without(getattr(ReverseWriter, name), number, place))
            reverser = ChemistryReverser(compile_reverse(kernel), each.solver)
        if not worst(each, 4, reverser=reverser, even=True) > 1e2 * EXACT:
            missed.append((name, number, place))
    assert missed == []
