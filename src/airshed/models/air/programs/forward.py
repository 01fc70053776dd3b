"""Forward executor of the air: walks the program of a case on the packed state, step after step."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np

from airshed.core.arrays import Array
from airshed.core.errors import CaseError, ProgramError
from airshed.core.report import Table
from airshed.grid.box import Box
from airshed.kernels.backend import Stepper
from airshed.kernels.host import AnyArray
from airshed.kernels.step.arguments import Directions, State
from airshed.models.air.programs.cell_chemistry import CellCounts
from airshed.models.air.programs.cells import CellsRunner
from airshed.models.air.programs.context import (
    AirContext,
    StageRunner,
    make_chemistry,
    step_constants,
)
from airshed.models.air.programs.one_step import OneStepRunner, sums_of, used_lanes, without_reactions
from airshed.models.air.programs.records import OnStep, StepRecord, SumRecord
from airshed.models.air.programs.two_step import TwoStepRunner
from airshed.models.air.programs.updates import UpdatesRunner
from airshed.parallel.balance import LoadBalancer
from airshed.program.check import check
from airshed.program.execute import walk_forwards
from airshed.program.integrators import UPDATES
from airshed.program.stage import CELLS, COLUMN, EVERYTHING, TRANSPORT, TRANSPORT_AND_COLUMN, Kernel, Program
from airshed.runtime.model import SavedState, Snapshot

NEIGHBOURS, ELSEWHERE, BALANCE = "waiting for neighbours", "transport on other ranks", "balance of chemistry"

WAITING: Final = (NEIGHBOURS, ELSEWHERE, BALANCE)
"""Parts of the wall time in which a rank does not compute."""

_FORMULAS: Final[dict[Kernel, str]] = {
    EVERYTHING: "two-step", **dict.fromkeys((TRANSPORT_AND_COLUMN, TRANSPORT, COLUMN), "ARS(2,2,2)"), CELLS: "own",
}  # fmt: skip
"""Formulas that runners apply, by kernel."""


class PackedValues:
    """Packed state and budget as values of a program; implements :class:`airshed.program.execute.Values`."""

    def __init__(self, context: AirContext) -> None:
        self._context, self._used = context, used_lanes(context.stepper.layout)

    def copy(self) -> Any:
        """Return a copy of the mixing ratios, the air, and the budget."""
        state = self._context.stepper.state
        return state.q.copy(), state.air.copy(), self._context.budget.copy()

    def put(self, value: Any) -> None:
        """Replace the state and the budget."""
        state, (q, air, budget) = self._context.stepper.state, value
        state.q[...], state.air[...] = q, air
        self._context.budget.put(budget)

    def add_up(self, coefficients: Sequence[float], values: Sequence[Any]) -> SumRecord:
        """Sum amounts, air and budgets; negative mixing ratios become zero, and are counted as clipped."""
        context, state = self._context, self._context.stepper.state
        add_amounts(state, coefficients, [(q, air) for q, air, _ in values])
        added = np.maximum(-state.q, 0.0)
        np.maximum(state.q, 0.0, out=state.q)
        clipped = context.parts.subdomain.total(sums_of(added, state.air * self._used))
        context.budget.add_up(coefficients, [budget for *_, budget in values], clipped)
        return SumRecord()


def add_amounts(state: State, coefficients: Sequence[float], values: Sequence[tuple[AnyArray, AnyArray]]) -> None:
    """Write the linear combination of values (q, air) into a state.

        A' = sum w_i A_i,      q' = (sum w_i A_i q_i) / A'

    Mixing ratios are not yet clipped at zero.
    """
    state.air[...] = sum(each * air for each, (_, air) in zip(coefficients, values, strict=True))
    state.q[...] = sum(each * (q * air[:, :, None]) for each, (q, air) in zip(coefficients, values, strict=True))
    state.q /= state.air[:, :, None]


class ForwardExecutor:
    """Executor that advances the packed state of a case by its program.

    values   values of the placements of this process
    spent    wall time of stages by their keys so far [s];  walked  steps so far
    lasting  number of further steps for which the array of the newest mixing ratios is not overwritten
    """

    def __init__(self, program: Program, context: AirContext, runners: dict[str, StageRunner]) -> None:
        self.program, self._context, self.runners = program, context, runners
        self.values = {program.home: PackedValues(context)}
        self.spent: dict[str, float] = {}
        self.walked = 0
        single = len(program.stages) == 1
        self.batch = next(iter(runners.values())).batch if single else 1
        self.lasting = check(program).lasting
        self._on_step: OnStep | None = None

    def longest_step(self, seconds: float, until: float) -> float:
        """Return the longest step [s] from a time; raise NumericalError if that of the case is not stable."""
        return min(each.longest_step(seconds, until) for each in self.runners.values())

    def advance(self, begin: float, ends: Sequence[float]) -> Iterator[float]:
        """Advance by steps that end at increasing times [s] in one interval of the forcing; yield each end."""
        for first in range(0, len(ends), self.batch):
            batch = ends[first : first + self.batch]
            steps = list(pairwise([begin, *batch]))
            records = self._walk(steps)
            for number, (start, end) in enumerate(steps):
                if self._on_step is not None:
                    self._on_step(StepRecord(start, end, self.program, tuple(each[number] for each in records)))
                yield end
            begin = batch[-1]

    def _walk(self, steps: Sequence[tuple[float, float]]) -> list[Any]:
        """Walk the program over a batch of steps, several of them for a single stage; return records by stage."""
        given = [[stage.over(*step) for step in steps] for stage in self.program.stages]
        records = walk_forwards(self.program, self.runners, self.values, given, self.spent)
        self.walked += len(steps)
        self._context.check_finite(self._context.budget.amounts, steps[-1][1])
        return [[each] if isinstance(each, SumRecord) else each for each in records]

    def on_step(self, callback: OnStep | None, *, lengths: bool = False) -> None:
        """Set the callback that receives the record of each step; None removes it.

        lengths  whether records contain the step lengths of cell chemistry
        """
        if callback is not None and self.updates is not None:
            raise CaseError(
                "a case whose processes have updates cannot be recorded: it has no adjoint, tangent or gradient; leave "
                "out these processes"
            )
        self._on_step = callback
        for each in self.runners.values():
            each.recording = callback is not None
            if isinstance(each, CellsRunner):
                each.lengths = lengths

    def set_boundary(self, profile: Array, top: Array) -> None:
        """Change the lateral profile (species, level) and the top (species,), before the first step."""
        for each in self.runners.values():
            each.set_boundary(profile, top)

    def restart(self) -> None:
        """Continue without history: the state or its forcing has jumped."""
        for each in self.runners.values():
            each.restart()

    def save(self) -> Snapshot:
        """Return the state for :meth:`restore`; collective."""
        tiled: dict[str, AnyArray] = {}
        whole: dict[str, AnyArray] = {}
        metadata: dict[str, Any] = {}
        for each in self.runners.values():
            state = each.save()
            tiled |= state.tiled
            whole |= state.whole
            metadata |= state.metadata
        return Snapshot(tiled, whole, metadata)

    def restore(self, stored: SavedState, held: Box) -> None:
        """Restore a state that any number of ranks saved; collective."""
        for each in self.runners.values():
            each.restore(stored, held)

    @property
    def cells(self) -> CellsRunner | None:
        """The runner of separate stages of chemistry; None without one."""
        return next((each for each in self.runners.values() if isinstance(each, CellsRunner)), None)

    @property
    def updates(self) -> UpdatesRunner | None:
        """The runner of updates of processes; None without one."""
        return next((each for each in self.runners.values() if isinstance(each, UpdatesRunner)), None)

    @property
    def balance(self) -> LoadBalancer | None:
        """The load balance of chemistry; None if each rank integrates its own cells."""
        return None if self.cells is None else self.cells.chemistry.balance

    def cell_counts(self) -> CellCounts | None:
        """Return the counts of cells of all ranks; None without stages of chemistry."""
        return None if self.cells is None else self.cells.cell_counts()

    @property
    def steppers(self) -> list[Stepper]:
        """The steppers of all stages that advance the state."""
        runners = [each for each in self.runners.values() if isinstance(each, OneStepRunner)]
        steppers = [each.stepper for each in runners if each.context is self._context]
        return list(dict.fromkeys([self._context.stepper, *steppers]))

    def wall(self) -> dict[str, float]:
        """Return the wall time of the parts of all steps so far [s]; that of steppers is the mean of their threads."""
        steppers = self.steppers
        first = steppers[0]
        parts = {name: sum(each.seconds[name] for each in steppers) / first.threads for name in first.seconds}
        if first.neighbours is not None:
            parts[NEIGHBOURS] = first.waited
        for each in self.runners.values():
            parts |= each.wall()
        return parts | ({} if self.balance is None else {BALANCE: self.balance.wait})

    def tables(self) -> list[Table]:
        """Return tables for the summary of a run."""
        return [table for each in self.runners.values() for table in each.tables()]

    def close(self) -> None:
        """Close the runners and their steppers."""
        for each in self.runners.values():
            each.close()
        for stepper in self.steppers:
            stepper.close()


def make_executor(
    program: Program, context: AirContext, families: tuple[str, ...], *, threads: int
) -> ForwardExecutor:  # fmt: skip
    """Return the executor of a program, with runners of the stages at the placement of the state.

    families  elements whose atoms are counted where reactions do not conserve them

    Raises ProgramError for a stage without a runner that applies its formula.
    """
    for stage in program.stages:
        if stage.operators and _FORMULAS.get(stage.kernel) != stage.weights:
            known = ", ".join(f"{'+'.join(kernel)} by {formula!r}" for kernel, formula in _FORMULAS.items())
            raise ProgramError(
                f"program {program.name!r}: the air does not run {stage.key} by {stage.weights!r}; it runs {known}"
            )
    runners: dict[str, StageRunner] = {}
    for stage in (each for each in program.stages if each.placement == program.home):
        if stage.key == UPDATES:
            runners[stage.key] = UpdatesRunner(context, threads=threads)
        elif stage.kernel == CELLS and stage.key not in runners:
            chemistry = make_chemistry(context.parts, context.stepper.layout, families, program, threads=threads)
            assert chemistry is not None
            runners[stage.key] = CellsRunner(context, chemistry, program)
        elif stage.kernel == EVERYTHING:
            runners[stage.key] = TwoStepRunner(context)
        elif stage.operators and stage.key not in runners:
            stepper = _column_stepper(context, threads) if stage.kernel == COLUMN else context.stepper
            runners[stage.key] = OneStepRunner(context, stepper)
    return ForwardExecutor(program, context, runners)


def directions_of(program: Program) -> Directions:
    """Return the directions of transport of the main stepper: horizontal if columns are separate stages."""
    return "horizontal" if any(stage.kernel == COLUMN for stage in program.stages) else "all"


def _column_stepper(context: AirContext, threads: int) -> Stepper:
    """Return a stepper of the same state along columns, which reads no neighbours."""
    parts, stepper = context.parts, context.stepper
    kernel = parts.backend.compile_mechanism(
        without_reactions(parts.network), parts.grid.shape[0], parts.case.chemistry.precision, directions="vertical",
        operators=parts.processes.operators,
    )  # fmt: skip
    return kernel.stepper(
        stepper.layout, step_constants(parts, context.sources.species), threads=threads, state=stepper.state,
        total=parts.total(kernel),
    )  # fmt: skip
