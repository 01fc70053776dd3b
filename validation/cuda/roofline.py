"""Predicted time of a whole step on a GPU, from counted bytes of its kernels.

    python -m validation.cuda.roofline        the tables of the README

Bytes pass device memory, each array once, and the unit of a multiprocessor for loads, stores, shuffles and shared
memory. The floor of a kernel is the longer of both times. The expected range divides it by the shares that similar
kernels reached in the study of layouts. The README compares the instructions of the compiled code.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np
from tests.kernels.kinds import usual

from airshed.core.report import Cell, markdown_table
from airshed.formula.factoring import factored
from airshed.formula.tree import symbols
from airshed.kernels.backends.cpu.kernel import LARGEST_GROUP, StepKernel, StepPlan
from airshed.kernels.backends.cuda.device import WARP
from airshed.kernels.cells.emit import ChemistryShape, emit_chemistry
from airshed.kernels.cells.tableau import ROS3
from airshed.kernels.operators import members
from airshed.kernels.rates import rate_table
from airshed.kernels.step.emit import operand
from airshed.mechanism import load_mechanism
from airshed.mechanism.network import ReactionNetwork
from airshed.models.air.budget import FAMILIES

MOVED: Final = 30
"""Numbers of a species in a cell of transport: loads (13), stores (3) and shuffles (14)."""

SWEPT: Final = 11
"""Loads and stores of a species in a sweep without the operands of production and loss, from the code for sm_90."""

TREE: Final = 5
"""Shuffles of the sum of the lanes of a warp."""

Step = StepKernel | StepPlan
Share = tuple[float, float]
"""Worst and best share of the floor."""

UNIT: Final = 128 * 132 * 1.98e9
"""Bytes per second that pass the units of all multiprocessors of both cards."""


@dataclass(frozen=True, eq=False)
class Card:
    """A GPU: its measured bandwidth [B/s], and shares of transport by precision, and of cells.

    transport  with columns fastest in blocks of 32; the worst is 13 % less for blocks at the edge of the area
    """

    name: str
    bandwidth: float
    transport: Mapping[str, Share]
    cells: Share


H100: Final = Card("H100", 2.96e12, {"double": (0.345, 0.50), "single": (0.30, 0.40)}, (0.45, 1.0))
H200: Final = Card("H200", 4.32e12, {"double": (0.29, 0.385), "single": (0.22, 0.30)}, (0.35, 1.0))
CARDS: Final = (H100, H200)

COLUMNS: Final = 0.60, 0.85
"""Share of sweeps with a warp for each column and levels fastest, on both cards."""

SUMS: Final = 0.25, 0.9
"""Share of the sums, which no study measured."""

SIZES: Final = {"double": 8, "single": 4}


@dataclass(frozen=True)
class Kernel:
    """Bytes for each cell, and the share of the floor that a kernel reaches.

    memory  bytes that pass device memory if each array passes once
    unit    bytes that pass the unit of a multiprocessor
    """

    memory: float
    unit: float
    share: Share

    def times(self, card: Card) -> tuple[float, float, float]:
        """Return the floor and the expected range [ns]."""
        floor, (worst, best) = 1e9 * max(self.memory / card.bandwidth, self.unit / UNIT), self.share
        return floor, floor / best, floor / worst


@dataclass(frozen=True)
class Counts:
    """Counted sizes of a step.

    loads        operands of production and loss in a sweep, each once for a species
    transport    numbers of the forcing for transport at both instants in a cell;  column  the same for the column
    sums         sums of a block;  column_sums  sums to which columns add
    """

    species: int
    loads: int
    transport: float
    column: float
    sums: int
    column_sums: int


def count(step: Step, emission: float = 0.0) -> Counts:
    """Return the counts of a step.

    emission  numbers of the emission for each cell: species times levels with emission, over all levels
    """
    network, shape = step.network, step.shape
    table, levels, species = rate_table(network), shape.levels, len(network.species)

    # operands of production and loss
    loads = 0
    for terms in zip(network.production_terms, network.loss_terms, strict=True):
        loads += len(symbols(*(factored(table.products(each), operand) for each in terms)))

    # fields of operators, with fluxes of air, or with temperature, water, open parameters and the sun
    sizes = {"ground": 1.0 / levels, "matrix": float(levels)}
    explicit = implicit = 0.0
    for each in members(shape.operators):
        numbers = sizes.get(each.shape, 1.0) * max(each.species, 1) if each.shape else 0.0
        explicit, implicit = explicit + numbers * each.explicit, implicit + numbers * (not each.explicit)
    transport, column = 2 * (3 + explicit), 2 * (2 + len(network.parameters) + implicit) + 2 / levels + emission
    own = {(each.term, number) for each in shape.operators if each.term for number in each.species}
    return Counts(
        species, loads, transport, column,
        len(step.terms) * species + len(shape.families), 2 * species + len(own) + len(shape.families),
    )  # fmt: skip


def kernels(step: Step, card: Card, emission: float = 0.0, sweeps: int = 2) -> dict[str, Kernel]:
    """Return the kernels of a step."""
    counts, levels, precision = count(step, emission), step.shape.levels, step.shape.precision
    species, size, cells_of_block = counts.species, SIZES[precision], WARP * levels

    # transport: species, air now, other and tendency, forcing; inflow and outflow through the top
    moved = size * (6 * species + 5 + counts.transport) + 16 * species / cells_of_block

    # sums of blocks: summands by level or column; then the sums, twice
    summands, total = 8 * counts.sums * max(levels, WARP) / cells_of_block, 8 * counts.sums / cells_of_block
    return {
        "airshed_transport": Kernel(moved, size * species * MOVED, card.transport[precision]),
        "airshed_columns": _columns(counts, levels, size, sweeps),
        "airshed_sums": Kernel(summands + total, summands + 8 * counts.sums * TREE / levels, SUMS),
        "airshed_exact_sums": Kernel(2 * total, 2 * total, SUMS),
    }


def _columns(counts: Counts, levels: int, size: int, sweeps: int) -> Kernel:
    """Return the kernel of the implicit part; lanes without a level take time, too."""
    species, own = counts.species, -(-levels // WARP)  # levels of a thread
    rounds = (-(-levels // own) - 1).bit_length()  # of cyclic reduction

    # right-hand sides, mixing ratios twice, forcing, air and its density, and sums
    memory = size * (3 * species + counts.column + 1) + 8 + 8 * counts.column_sums / levels

    # of a level: right-hand sides to local memory, forcing, sweeps; of a thread: cyclic reduction, and sums; copies
    # between memory and shared memory
    of_level = size * (2 * species + counts.column + sweeps * (counts.loads + SWEPT * species))
    of_thread = size * sweeps * species * (6 * rounds - 2) + 8 * counts.column_sums * (TREE + 1)
    unit = size * 6 * species + (of_level * own + of_thread) * WARP / levels
    return Kernel(memory, unit, COLUMNS)


def cells(network: ReactionNetwork, card: Card, precision: str) -> Kernel:
    """Return the kernel of cells, with the bytes of an attempted step of ROS3.

    No cache holds its working memory: each array passes memory for each function that reads or writes it.
    """
    elements = emit_chemistry(network, ChemistryShape(WARP, "double")).elimination.size
    species, rates, stages = len(network.species), len(network.reactions), ROS3.stages
    evaluated = [number for number in range(stages) if number == 0 or ROS3.evaluates[number]]

    # sums of stages: arguments of the tendency, right-hand sides, and the result
    sums = sum(number + 2 for number in [*evaluated[1:], *range(stages), stages])
    tendencies, jacobian = len(evaluated) * (rates + 2 * species), rates + species + elements
    numbers = tendencies + jacobian + stages * (elements + 2 * species) + species * (sums + 2) + rates
    moved = float(SIZES[precision] * numbers)
    return Kernel(moved, moved, card.cells)


def predict(card: Card, *found: Kernel) -> dict[str, float]:
    """Return the predicted time of kernels in sequence [ns for each cell]: the floor, and the expected range."""
    times = np.sum([each.times(card) for each in found], axis=0)
    return dict(zip(("floor", "least", "most"), times.tolist(), strict=True))


def predictions(step: Step, card: str, emission: float = 0.0, sweeps: int = 2) -> dict[str, dict[str, float]]:
    """Return the predicted times of the kernels and of the whole step, to be written next to a measurement.

    card  its name, such as "NVIDIA H100 80GB HBM3"; there is no prediction for other cards
    """
    for each in CARDS:
        if each.name in card:
            found = kernels(step, each, emission, sweeps)
            times = {name: predict(each, kernel) for name, kernel in found.items()}
            return {**times, "step": predict(each, *found.values())}
    return {}


def emep(precision: str, levels: int = 32) -> StepPlan:
    """Return the plan of the step of EMEP with wind, mixing and deposition of every third species."""
    network = load_mechanism("emep")
    families = tuple(element for element in FAMILIES if element in network.atoms)
    return StepPlan.of(
        network, levels, precision, families=families, directions="all", operators=usual(len(network.species)),
        tuning=(WARP, LARGEST_GROUP),
    )  # fmt: skip


def emep_kernels(precision: str, card: Card, levels: int = 32) -> dict[str, Kernel]:
    """Return the kernels of the step of EMEP with emission of every second species in three levels."""
    return kernels(emep(precision, levels), card, 33 * 3 / levels)


def rows() -> Iterator[tuple[Cell, ...]]:
    """Yield the rows of the table of times: floor and expected range of a step and of its kernels."""
    for levels, precision, card in product((32, 18), SIZES, CARDS):
        found = list(emep_kernels(precision, card, levels).values())
        step, scale = predict(card, *found), 512 * 512 * levels / 1e6
        parts = predict(card, found[0]), predict(card, found[1]), predict(card, *found[2:]), step
        yield (levels, card.name, precision, f"{step['floor']:.2f}", *map(_range, parts),
               f"{step['least'] * scale:.0f} to {step['most'] * scale:.0f}")  # fmt: skip
    for precision, card in product(SIZES, CARDS):
        step = predict(card, cells(load_mechanism("emep"), card, precision))
        yield "cells", card.name, precision, f"{step['floor']:.2f}", "", "", "", _range(step), ""


def _range(found: dict[str, float]) -> str:
    return f"{found['least']:.1f} to {found['most']:.1f}"


if __name__ == "__main__":
    counted = {
        (name, levels): each for levels in (32, 18) for name, each in emep_kernels("double", H100, levels).items()
    }
    counted["cells", 1] = cells(load_mechanism("emep"), H100, "double")
    sizes = [(*key, *(f"{each:.0f}" for each in (kernel.memory, kernel.unit)))
             for key, kernel in counted.items()]  # fmt: skip
    print(markdown_table(("kernel", "levels", "memory", "unit"), sizes))
    names = "levels", "card", "precision", "floor", "transport", "columns", "sums", "step [ns]", "step [ms]"
    print(markdown_table(names, list(rows())))
