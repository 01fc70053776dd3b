"""Observed order in time of all integrators, on a small smooth problem, by the reference executor.

Two species react, A + B -> 2 B; A is emitted, and B is deposited at the ground. A wind transports them through a row
of columns. They are mixed vertically and diffuse between columns. Wind, mixing and the temperature of the reaction
change linearly with time. The operators do not commute, so that splittings show their order. The wind is slow and the
profiles are smooth, so that the limiter takes the same branch nearly everywhere. The exact solution in time is that of
IMEX in small steps, extrapolated.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from airshed.core.arrays import Array
from airshed.formula.tree import Binary, Number, Symbol
from airshed.kernels.cells import METHODS, Tolerances
from airshed.kernels.host import AnyArray
from airshed.kernels.layout import Layout
from airshed.kernels.operators import ADVECTION, Operator, OperatorField
from airshed.kernels.step.arguments import ColumnForcing, Pair, StepForcing, TransportForcing
from airshed.kernels.step.reference import Fields, StepSetup
from airshed.kernels.transport.reference import BoundaryValues
from airshed.mechanism.network import Reaction, ReactionNetwork, Species
from airshed.models.air.programs.cell_chemistry import CellIntegration
from airshed.models.air.programs.records import (
    CellsRecord,
    CellWeather,
    FormulaStep,
    MoveRecord,
    StageRecord,
    StepRecord,
    SumRecord,
)
from airshed.models.air.programs.reference import ReferenceChemistry, ReferenceExecutor
from airshed.program.integrators import SPLITTINGS, imex
from airshed.program.stage import CELLS, Program, Stage
from airshed.program.weights import FORMULAS
from airshed.verify.figure import Figure, observed_order

LENGTH: Final = 3600.0
"""Length of the problem [s]."""

STEPS: Final = (8, 16)
"""Numbers of steps; the order follows from their errors."""

FINE: Final = 64
"""Steps of the finest run for the exact solution, extrapolated with a run of half as many steps."""

TOLERANCE: Final = 0.15
"""Largest amount by which the observed order may be below that of the program."""

_LEVELS, _COLUMNS = 2, 5
_AIR: Final = 1e10  # [mol] in a cell
_WIND: Final = 1.5e6, 2.25e6  # [mol/s] through faces, at both ends of time
_MIXING: Final = 3e6, 8e6  # [mol/s] through the face between layers
_DIFFUSION: Final = 5e5  # [mol/s] through faces between columns
_DEPOSITION: Final = 2e-4  # [1/s]
_EMISSION: Final = 3e-3  # [mol/s]
_TEMPERATURE: Final = 270.0, 300.0
_RATE: Final = 3e-19  # [cm3/s/K]


@dataclass(frozen=True)
class Problem:
    """Smooth problem of transport, columns and chemistry: its constants and its initial state."""

    setup: StepSetup
    layout: Layout
    chemistry: ReferenceChemistry
    start: Fields


def make_problem() -> Problem:
    """Return the problem of this module."""
    reaction = Reaction("r", (("A", 1.0), ("B", 1.0)), (("B", 2.0),), Binary("*", Number(_RATE), Symbol("TEMP")))
    network = ReactionNetwork("smooth", (Species("A"), Species("B")), (), (reaction,))
    shape = _LEVELS, 1, _COLUMNS
    operators = (
        ADVECTION,
        Operator("mixing", "exchange", (Symbol("mixing"),), fields=(OperatorField("mixing"),)),
        Operator("diffusion", "face_exchange", (Number(_DIFFUSION), Number(0.0))),
        Operator("deposition", "loss", (Number(_DEPOSITION),), species=(1,), ground=True, term="deposited"),
    )
    # from one cell to the next amounts change by a constant difference, also from the boundary to the first cell
    slope = np.array([[4e-9], [2e-9]]) * np.array([[1.0, 0.7]])
    around = np.array([[20e-9], [6e-9]]) * np.array([[1.0, 0.9]])
    q = around[:, :, None, None] + slope[:, :, None, None] * np.arange(1.0, _COLUMNS + 1.0)
    air, none = np.full(shape, _AIR), np.zeros(shape)
    setup = StepSetup(
        network, (0, 1), BoundaryValues(around, around[:, -1]), np.full(shape, 1.0 / _AIR),
        np.full((_LEVELS, 4), 0.25), np.full(_LEVELS, 100.0), (0,), (), 12, 0.21, 0.78, operators, ("deposited",), {},
    )  # fmt: skip
    chemistry = ReferenceChemistry(network, METHODS["rodas4"], Tolerances(1e-8, 0.1), [np.inf] * 8)
    return Problem(setup, Layout(1, _COLUMNS, 1, np.float64), chemistry, Fields(q, q, 0.0 * q, air, air, none))


def run(program: Program, steps: int, problem: Problem) -> Array:
    """Return the mixing ratios at the end, after equal steps."""
    executor = ReferenceExecutor(program, problem.setup, problem.layout, problem.chemistry, problem.start)
    ends, previous = np.linspace(0.0, LENGTH, steps + 1), None
    for begin, end in pairwise(ends.tolist()):
        stages = tuple(_record(stage, problem, stage.over(begin, end), previous) for stage in program.stages)
        executor.repeat(StepRecord(begin, end, program, stages))
        previous = end - begin
    return executor.state.q


def _record(stage: Stage, problem: Problem, span: tuple[float, float], previous: float | None) -> StageRecord:
    """Return the inputs of a stage over its time span [s]."""
    begin, end = span
    if not stage.operators:
        return SumRecord()
    pack, shape = problem.layout.pack, (_LEVELS, 1, _COLUMNS)

    def pair(ends: Sequence[float], shape: tuple[int, ...]) -> Pair:
        first, last = (pack(np.full(shape, each)) for each in ends)
        return first, last

    temperature, still = pair(_TEMPERATURE, shape), pair((0.0, 0.0), shape)
    dark = pack(np.stack([np.ones(shape[1:]), np.zeros(shape[1:])]))
    if stage.kernel == CELLS:
        first = np.full((_LEVELS * _COLUMNS, 1), end - begin)
        none: AnyArray = np.zeros((1, _COLUMNS, 0, _LEVELS, 1))
        weather = CellWeather(temperature, still, (none, none), 0.5 * (begin + end) / LENGTH, dark)
        return CellsRecord(weather, CellIntegration(begin, end, 0, first, np.zeros(first.shape, np.int32)))
    assert isinstance(stage.weights, str)
    formula, steps, start = FORMULAS[stage.weights], [], begin
    emission = np.zeros((1, 1, *shape[1:]))
    emission[...] = _EMISSION
    advances = formula.advances(end - begin, previous)
    for weights, (advance, _) in zip(formula.applications(end - begin, previous), advances, strict=True):
        until = begin + advance
        transport = TransportForcing(
            pair(_WIND, (_LEVELS, 1, _COLUMNS + 1)), pair((0.0, 0.0), (_LEVELS, 2, _COLUMNS)), still, start / LENGTH,
            start / LENGTH,
        )  # fmt: skip
        column = None
        if "column" in stage.operators:
            fields = {"mixing": pair(_MIXING, shape)}
            column = ColumnForcing(temperature, still, until / LENGTH, pack(emission), dark, fields=fields)
        steps.append(FormulaStep(start, until, StepForcing(weights, transport, column), ()))
        start = until
    return MoveRecord(tuple(steps))


def exact_solution(problem: Problem) -> Array:
    """Return the mixing ratios at the end, exact in time except for terms of third order."""
    coarse, fine = (run(imex(), steps, problem) for steps in (FINE // 2, FINE))
    return np.asarray((4.0 * fine - coarse) / 3.0)


def measured_order(program: Program, problem: Problem, exact: Array) -> float:
    """Return the observed order of a program, from the errors of all species relative to their largest values."""
    scale = exact.max(axis=(1, 2, 3), keepdims=True)
    coarse, fine = (float(np.abs((run(program, steps, problem) - exact) / scale).mean()) for steps in STEPS)
    return observed_order(coarse, fine)


def check() -> list[Figure]:
    """Return the observed orders of all integrators."""
    problem, figures = make_problem(), []
    exact = exact_solution(problem)
    for program in (imex(), *(make() for make in SPLITTINGS.values())):
        order, what = measured_order(program, problem, exact), f"order in time, {STEPS[0]} to {STEPS[1]} steps"
        test = f"{program.name}, smooth problem by the reference executor"
        figures.append(Figure(test, what, order, program.order - TOLERANCE, True, f"{program.order}"))
    return figures
