"""Predicted time of a whole step on a GPU, from counted bytes and operations.

    python -m validation.cuda.roofline        the tables of the README

A floor is the time in which the counted numbers pass device memory, or in which the instructions are issued.
The expected range divides it by the shares of the floor that kernels of the same kind reached in the study of layouts.
Two designs of a step are counted:

    single  one kernel, a thread for each column, whose working memory is in device memory where caches are too small
    split   transport writes right-hand sides, rate functions and exchange; a second kernel reads them for the sweeps,
            with the mixing ratios in shared memory
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final, Literal, Protocol, get_args

from tests.kernels.kinds import usual

from airshed.core.report import Cell, markdown_table
from airshed.formula.factoring import factored
from airshed.formula.tree import Call, Expression, operations, ordered, symbols
from airshed.kernels.backends.cpu.kernel import LARGEST_GROUP, StepPlan
from airshed.kernels.backends.cuda.device import WARP
from airshed.kernels.cells.emit import ChemistryShape, emit_chemistry
from airshed.kernels.cells.tableau import ROS3, Tableau
from airshed.kernels.layout import MechanismShape
from airshed.kernels.operators import members
from airshed.kernels.rates import rate_table
from airshed.kernels.step.emit import operand
from airshed.mechanism import load_mechanism
from airshed.mechanism.network import ReactionNetwork
from airshed.models.air.budget import FAMILIES

FACES: Final = 5
"""Faces of a cell that its thread computes, the west and south ones again."""

FACE: Final = 14
"""Additions, products and comparisons of a face."""

UPDATE: Final = 16
"""Operations of the tendency of a cell, its right-hand side, and the start of the sweeps."""

SOLVE: Final = 26
"""Operations of a species in a sweep by elimination, with sums of budgets, without production and loss."""

REDUCTION: Final = 90
"""The same by parallel cyclic reduction, a thread for each level."""

LONG: Final = 20
"""Operations of a division or an exponential."""

ELIMINATION: Final = 6
"""Numbers of a species that elimination writes, and substitution reads."""

AIR: Final = 5
"""Numbers of the air of a cell that pass memory: now, other and tendency, of which two are read and written."""

OF_COLUMN: Final = 4
"""Numbers of a cell that sweeps read, without rates: exchange with both neighbours, density, and the weight in sums."""

FUSED: Final = 2
"""Most operations of an instruction: a product and a sum."""

Share = tuple[float, float]
"""Worst and best share of the floor that kernels of the study reached in double precision."""


@dataclass(frozen=True)
class Card:
    """A GPU: measured bandwidth [B/s], and instructions in double precision per second, without tensor cores.

    transport, sweeps  columns fastest in blocks of 32 at worst, levels fastest in blocks at best
    operands           of sweeps whose operands all come from device memory;  cells  of Rosenbrock methods
    """

    name: str
    bandwidth: float
    instructions: float
    transport: Share
    sweeps: Share
    operands: Share
    cells: Share


H100: Final = Card("H100", 2.96e12, 17e12, (0.35, 0.65), (0.16, 0.37), (0.9, 1.1), (0.45, 1.0))
H200: Final = Card("H200", 4.32e12, 17e12, (0.27, 0.55), (0.11, 0.27), (0.8, 0.95), (0.35, 1.0))
CARDS: Final = (H100, H200)


@dataclass(frozen=True)
class Work:
    """Work for each cell: numbers of the state's precision and doubles that pass memory, and operations."""

    reals: float = 0.0
    doubles: float = 0.0
    operations: float = 0.0

    def __add__(self, other: "Work") -> "Work":
        return Work(self.reals + other.reals, self.doubles + other.doubles, self.operations + other.operations)

    def bytes(self, precision: str) -> float:
        """Return the bytes that pass device memory."""
        return (8 if precision == "double" else 4) * self.reals + 8 * self.doubles

    def floor(self, card: Card, precision: str) -> float:
        """Return the least time [ns]."""
        rate = FUSED * card.instructions * (1 if precision == "double" else 2)
        return 1e9 * max(self.bytes(precision) / card.bandwidth, self.operations / rate)


class Step(Protocol):
    """A compiled step, or its plan."""

    @property
    def network(self) -> ReactionNetwork:
        """The mechanism."""

    @property
    def shape(self) -> MechanismShape:
        """The options of the code."""

    @property
    def terms(self) -> tuple[str, ...]:
        """The budget terms."""


@dataclass(frozen=True)
class Counts:
    """Counted sizes of a step, numbers and operations for each cell.

    loads      operands of production and loss in a sweep, each once for a species;  chemistry  their operations
    rates      rate functions, and photolysis functions over the levels;  rate_operations  of all of them
    transport  numbers of the forcing for transport at both instants;  column  the same for the column
    losses     rates of operators that sweeps read;  sums  doubles of budgets
    """

    species: int
    loads: int
    chemistry: int
    rates: float
    rate_operations: float
    transport: float
    column: float
    losses: float
    sums: float


def count(step: Step, emission: float = 0.0) -> Counts:
    """Return the counts of a step.

    emission  numbers of the emission for each cell: species times levels with emission, over all levels
    """
    network, shape = step.network, step.shape
    table, levels, species = rate_table(network), shape.levels, len(network.species)

    # production and loss of all species, and rate functions
    loads = chemistry = 0
    for terms in zip(network.production_terms, network.loss_terms, strict=True):
        formulas = [factored(table.products(each), operand) for each in terms]
        loads += len(set(symbols(*formulas)))
        chemistry += sum(map(operations, formulas))
    of_light = len(table.photolyses) / levels
    of_rates = sum(map(_operations, table.functions)) + of_light * (LONG + 2)

    # fields and rates of operators
    sizes = {"ground": 1.0 / levels, "matrix": float(levels)}
    fields = [each for each in members(shape.operators) if each.shape is not None]
    explicit, implicit = (
        sum(sizes.get(each.shape or "", 1.0) * max(each.species, 1) for each in fields if each.explicit is at_n)
        for at_n in (True, False)
    )
    losses = sum(
        len(each.species) / (levels if each.ground else 1)
        for each in shape.operators if each.kind in ("loss", "settling")
    )  # fmt: skip
    instants, fluxes, air, sun = 2.0, 3.0, 2.0 + len(network.parameters), 2.0 / levels
    return Counts(
        species, loads, chemistry, len(table.functions) + of_light, of_rates, instants * (fluxes + explicit),
        instants * (air + implicit) + sun + emission, losses,
        (len(step.terms) * species + len(shape.families)) / (shape.width * levels),
    )  # fmt: skip


def _operations(formula: Expression) -> int:
    """Return the operations of a rate function."""
    return operations(formula) + LONG * sum(isinstance(node, Call) for node in ordered([formula]))


Design = Literal["single", "split"]


@dataclass(frozen=True)
class Part:
    """Part of a step: work if arrays pass memory once, expected work, and the share of its floor that is reached."""

    once: Work
    least: Work
    most: Work
    share: Share


def parts(counts: Counts, design: Design, card: Card, sweeps: int) -> dict[str, Part]:
    """Return the parts of a step; those of a single kernel use memory again where caches are too small."""
    species, scratch = counts.species, counts.rates + OF_COLUMN + counts.losses
    moved = Work(5 * species + AIR + counts.transport, 0.0, species * (FACES * FACE + UPDATE))
    prepared = Work(counts.column, 1.0, counts.rate_operations + LONG)
    each = LONG + (SOLVE if design == "single" else REDUCTION)
    solved = Work(2 * species, counts.sums, sweeps * (counts.chemistry + species * each))
    if design == "split":
        moved, prepared, solved = moved + Work(species), prepared + Work(scratch), solved + Work(species + scratch)
        return {
            "transport": Part(moved, moved, moved, card.transport),
            "rates and sources": Part(prepared, prepared, prepared, card.transport),
            "sweeps": Part(solved, solved, solved, card.sweeps),
        }
    carried = Work(5 * species)  # faces to the west and south, written and read, and right-hand sides
    operands = solved + Work(sweeps * (counts.loads + species * (2 + ELIMINATION)))
    return {
        "transport": Part(moved, moved, moved + carried, card.transport),
        "rates and sources": Part(prepared, prepared, prepared + Work(scratch), card.transport),
        "sweeps": Part(solved, operands, operands, card.operands),
    }


@dataclass(frozen=True)
class Prediction:
    """Predicted time for each cell [ns]: the floor, and the expected range."""

    floor: float
    least: float
    most: float


def predict(counts: Counts, design: Design, card: Card, precision: str, sweeps: int = 2) -> Prediction:
    """Return the predicted time of the kernels of a step."""
    return predict_parts(parts(counts, design, card, sweeps).values(), card, precision)


def predictions(step: Step, card: str, emission: float = 0.0, sweeps: int = 2) -> dict[str, dict[str, float]]:
    """Return the predicted times of a step by design, to be written next to a measurement.

    card  its name, such as "NVIDIA H100 80GB HBM3"; there is no prediction for other cards
    """
    counts, precision = count(step, emission), step.shape.precision
    return {
        design: vars(predict(counts, design, each, precision, sweeps))
        for each in CARDS if each.name in card for design in get_args(Design)
    }  # fmt: skip


def predict_parts(found: Iterable[Part], card: Card, precision: str) -> Prediction:
    """Return the predicted time of parts one after the other."""
    floor = least = most = 0.0
    for each in found:
        worst, best = each.share
        floor += each.once.floor(card, precision)
        least += each.least.floor(card, precision) / best
        most += each.most.floor(card, precision) / worst
    return Prediction(floor, least, most)


def cells(network: ReactionNetwork, card: Card, method: Tableau = ROS3) -> Part:
    """Return the work of an attempted step of a Rosenbrock method in a cell.

    No cache holds its working memory: each array passes memory for each function that reads or writes it.
    """
    source = emit_chemistry(network, ChemistryShape(WARP, "double"))
    cost, size = source.operations, source.elimination.size
    species, rates, stages = len(network.species), len(network.reactions), method.stages
    evaluated = [number for number in range(stages) if number == 0 or method.evaluates[number]]
    work = len(evaluated) * cost["tendency"] + cost["jacobian"] + FUSED * (cost["factor"] + stages * cost["solve"])

    # sums of stages: arguments of the tendency, right-hand sides, and the result
    sums = sum(number + 2 for number in [*evaluated[1:], *range(stages), stages])
    once = Work(2 * species + rates, 0.0, work + species * (FUSED * sums + LONG))
    functions = len(evaluated) * (rates + 2 * species) + rates + species + size + stages * (size + 2 * species)
    memory = once + Work(functions + species * sums)
    return Part(once, memory, memory, card.cells)


def emep(precision: str, levels: int = 32) -> StepPlan:
    """Return the plan of the step of EMEP with wind, mixing and deposition of every third species."""
    network = load_mechanism("emep")
    families = tuple(element for element in FAMILIES if element in network.atoms)
    return StepPlan.of(
        network, levels, precision, families=families, directions="all", operators=usual(len(network.species)),
        tuning=(WARP, LARGEST_GROUP),
    )  # fmt: skip


CELLS: Final = 512 * 512 * 32
_EMISSION: Final = 33 * 3 / 32
"""Numbers of the emission: every second species in three of 32 levels."""


def rows() -> Iterator[tuple[Cell, ...]]:
    """Yield the rows of the table: design, card and precision, floor and range in ns for a cell and ms for a step."""
    for design in get_args(Design):
        for precision in ("double", "single"):
            counts = count(emep(precision), _EMISSION)
            for card in CARDS:
                yield design, card.name, precision, *_columns(predict(counts, design, card, precision), CELLS)


def cell_rows() -> Iterator[tuple[Cell, ...]]:
    """Yield the same of an attempted step of ROS3 in cells of EMEP."""
    network = load_mechanism("emep")
    for precision in ("double", "single"):
        for card in CARDS:
            yield (
                "cells",
                card.name,
                precision,
                *_columns(predict_parts([cells(network, card)], card, precision), CELLS),
            )


def _columns(found: Prediction, count: int) -> list[str]:
    milliseconds = count / 1e6
    return [
        f"{found.floor:.2f}", f"{found.least:.1f} to {found.most:.1f}", f"{found.floor * milliseconds:.0f}",
        f"{found.least * milliseconds:.0f} to {found.most * milliseconds:.0f}",
    ]  # fmt: skip


if __name__ == "__main__":
    headings = "design", "card", "precision", "floor [ns]", "expected [ns]", "floor [ms]", "expected [ms]"
    print(markdown_table(headings, list(chain(rows(), cell_rows()))))
    works = {(design, part): each for design in get_args(Design)
             for part, each in parts(count(emep("double"), _EMISSION), design, H100, 2).items()}  # fmt: skip
    works["cells", "a step"] = cells(load_mechanism("emep"), H100)
    table = [(*key, *(f"{work.bytes('double'):.0f}" for work in (each.once, each.most)), f"{each.once.operations:.0f}")
             for key, each in works.items()]  # fmt: skip
    print(markdown_table(("design", "part", "bytes, once", "bytes, without caches", "operations"), table))
