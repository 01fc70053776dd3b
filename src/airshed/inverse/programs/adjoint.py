"""Adjoint executor: reverses recorded steps stage by stage, the last one first.

A formula with a history is the only stage of its program. It is reversed from the levels that the run stored: the
compiled adjoint fuses the transport of n+1 with the columns of n, so that the adjoint of a level is complete one step
later. A step of any other program is repeated from its first level; then its stages are reversed one by one.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from airshed.inverse.programs.cells import CellsAdjoint
from airshed.inverse.programs.formulas import FormulaAdjoint, FormulaLevels
from airshed.inverse.programs.replay import Recomputation
from airshed.inverse.programs.steps import ReverseStep, Totals
from airshed.inverse.programs.values import AdjointValues
from airshed.kernels.derivatives import ReadAdjoints, Reverser, SummedReads
from airshed.kernels.host import AnyArray
from airshed.kernels.step.data import FieldAdjoint, Level
from airshed.models.air.programs.records import FormulaStep, StepRecord
from airshed.program.execute import walk_backwards

Array = npt.NDArray[np.float64]


class AdjointExecutor:
    """Executor that reverses steps.

    x              adjoint of the mixing ratios of the current level, to which costs add their derivatives
    formulas       adjoints of formulas by the keys of their stages;  cells  those of chemistry
    recomputation  executor that repeats steps; None for a formula with a history
    owned          close the recomputation with this executor
    """

    def __init__(
        self, x: AnyArray, formulas: Mapping[str, FormulaAdjoint], cells: Mapping[str, CellsAdjoint],
        recomputation: Recomputation | None, *, owned: bool,
    ) -> None:  # fmt: skip
        self._x, self._formulas, self._cells = x, formulas, cells
        self._recomputation, self._owned = recomputation, owned
        self._values = AdjointValues(x)

    @property
    def x(self) -> AnyArray:
        """The adjoint of the mixing ratios of the current level."""
        return self._x

    @property
    def totals(self) -> Totals:
        """The adjoints summed so far."""
        reversers = self._reversers.values()
        reactions = [each.reactions for each in reversers] + [each.reactions for each in self._cells.values()]
        return Totals(
            _by_instant([each.boundary for each in reversers]),
            _sum([each.boundary_profile for each in reversers]), _sum([each.top for each in reversers]),
            _sum([each for each in reactions if each.size] or reactions[:1]), _joined(self.reads),
        )  # fmt: skip

    @property
    def reads(self) -> Sequence[SummedReads]:
        """The adjoints of the inputs of operators, for each kernel; empty if not computed."""
        return [each.read for each in self._reversers.values() if each.read is not None]

    @property
    def _reversers(self) -> dict[str, Reverser]:
        return {key: each.reverser for key, each in self._formulas.items()}

    @property
    def _history(self) -> Reverser | None:
        """The adjoint of a formula with a history; None without one."""
        return None if self._recomputation is not None else next(iter(self._reversers.values()))

    def start(self, tendency: AnyArray) -> None:
        """Start after the last step, whose tendency T(n) is given, with adjoints of zero."""
        for each in self._reversers.values():
            each.start(tendency)
        for cells in self._cells.values():
            cells.reactions[...] = 0.0

    def reverse(self, step: ReverseStep, sources: Mapping[float, AnyArray]) -> None:
        """Reverse a step.

        sources  adjoints of sources by the beginnings of their periods [s], to which the step adds
        """
        for each in self._formulas.values():
            each.sources = sources
        stages = self._stages_of(step)
        walk_backwards(step.record.program, {**self._formulas, **self._cells}, self._values, stages)

    def _stages_of(self, step: ReverseStep) -> list[Any]:
        """Return the input of the adjoint of each stage."""
        if self._recomputation is not None:
            return self._recomputation.run(step.levels[1], step.record)
        before = step.before if isinstance(step.before, np.ndarray) else _only_step(step.before).forcing
        return [FormulaLevels([_only_step(step.record)], step.levels, before=before)]

    def finish(self, first: Level) -> None:
        """Complete the adjoint of the first level."""
        if self._history is not None:
            self._history.finish(first)

    def jump(self, now: Level) -> AnyArray:
        """Return the adjoint of a jump of the mixing ratios just before the last reversed step, for its level n.

        With a history both levels jump.
        """
        return self._x.copy() if self._history is None else self._history.jump(now)

    def save(self) -> dict[str, AnyArray]:
        """Return the arrays with which another executor continues, without :attr:`reads`."""
        stored = {
            f"{key}.{name}": array for key, each in self._reversers.items() for name, array in each.save().items()
        }
        return stored | {f"{key}.reactions": each.reactions for key, each in self._cells.items()}

    def restore(self, stored: Mapping[str, AnyArray], after: StepRecord) -> None:
        """Continue from the arrays of another executor; after: the record of the last reversed step."""
        for key, each in self._reversers.items():
            own = {name.removeprefix(f"{key}."): array for name, array in stored.items() if name.startswith(f"{key}.")}
            each.restore(own, None if self._history is None else _only_step(after).forcing)
        for key, cells in self._cells.items():
            cells.reactions[...] = stored[f"{key}.reactions"]

    def close(self) -> None:
        """End the threads."""
        for each in self._reversers.values():
            each.close()
        if self._recomputation is not None and self._owned:
            self._recomputation.close()


class JoinedReads:
    """Adjoints of the inputs of operators of several kernels; satisfies ``kernels.derivatives.ReadAdjoints``."""

    def __init__(self, reads: Sequence[ReadAdjoints]) -> None:
        self._reads, self.numbers = reads, dict[str, Array]()
        for name, values in ((name, values) for each in reads for name, values in each.numbers.items()):
            self.numbers[name] = self.numbers[name] + values if name in self.numbers else values

    @property
    def fields(self) -> list[FieldAdjoint]:
        """Adjoints of fields at each instant of the forcing."""
        return [each for read in self._reads for each in read.fields]


def _joined(reads: Sequence[ReadAdjoints]) -> ReadAdjoints | None:
    return JoinedReads(reads) if len(reads) > 1 else next(iter(reads), None)


def _sum(arrays: Sequence[Array]) -> Array:
    return np.sum(arrays, axis=0) if len(arrays) > 1 else arrays[0]


def _by_instant(found: Sequence[Mapping[float, Array]]) -> dict[float, Array]:
    """Return the sums of what several kernels found, by the instants of the boundary."""
    instants = sorted({seconds for each in found for seconds in each})
    return {seconds: _sum([each[seconds] for each in found if seconds in each]) for seconds in instants}


def _only_step(record: StepRecord) -> FormulaStep:
    """Return the application of a formula with a history, the only one of its step."""
    (step,) = record.formula_steps
    return step
