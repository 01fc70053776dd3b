"""Derivatives of the steps of a model, built from the kernels of the stages of its program."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from airshed.core.arrays import Array
from airshed.core.errors import CaseError
from airshed.inverse.reverse.area import Area
from airshed.inverse.reverse.direction import Changes
from airshed.inverse.reverse.executors import AdjointExecutor, Recomputation, ReplayExecutor, TangentExecutor
from airshed.inverse.reverse.runners import (
    AdjointOptions,
    CellsAdjoint,
    CellsReplay,
    CellsTangent,
    FormulaAdjoint,
    FormulaReplay,
    FormulaTangent,
    with_rates,
)
from airshed.kernels.backend import StepKernel, Stepper
from airshed.kernels.operators import Member, Operator, members
from airshed.kernels.step.arguments import State, StateAndChanges, StepConstants
from airshed.mechanism.network import ReactionNetwork
from airshed.models.air.case import Case
from airshed.models.air.model import AirModel
from airshed.models.air.programs.cell_chemistry import CellChemistry
from airshed.models.air.programs.cells import CellsRunner
from airshed.models.air.programs.context import number_per_mole
from airshed.models.air.programs.records import OnStep
from airshed.program.stage import Program
from airshed.runtime.registry import load_case
from airshed.runtime.simulation import Simulation

Chemistry = Callable[[int], CellChemistry]
"""Function that returns the chemistry of cells with a number of threads."""


@dataclass(frozen=True)
class Derivatives:
    """Derivatives of the steps of a program; they remain valid after the model is closed.

    kernels         kernels of stages that apply a formula, by the keys of the stages
    chemistry       functions that return the chemistry of stages of cells, by the keys of the stages
    density_factor  number density [molecules cm-3] of one mole of air in a cell, [lat][1 or block][level][W]
    shared          recomputation with the state and threads of the model, valid while it is open; None for its own
    """

    program: Program
    kernels: Mapping[str, StepKernel]
    chemistry: Mapping[str, Chemistry]
    area: Area
    constants: StepConstants
    network: ReactionNetwork
    density_factor: Array
    shared: Recomputation | None = None

    @property
    def precision(self) -> str:
        """Precision of the steps, "double" or "single"."""
        return next(iter(self.kernels.values())).shape.precision

    @property
    def record_bytes(self) -> int:
        """Size of the record of a step [bytes]: first step size and number of accepted steps of each cell."""
        layout = self.area.layout
        return 12 * layout.rows * layout.blocks * layout.width * self._levels * len(self.program.cells)

    @property
    def operators(self) -> Sequence[Operator]:
        """Operators of all kernels."""
        return [each for kernel in self.kernels.values() for each in kernel.shape.operators]

    @cached_property
    def members(self) -> Mapping[str, Member]:
        """Fields and numbers that operators read, by name."""
        return {each.key: each for each in members(self.operators)}

    @property
    def _levels(self) -> int:
        return next(iter(self.kernels.values())).shape.levels

    def adjoint(self, options: AdjointOptions) -> AdjointExecutor:
        """Return the executor that reverses steps."""
        area, (recomputation, owned) = self.area, self._recomputation(options.threads)
        x = area.layout.zeros(len(self.network.species), self._levels)
        zero = x if recomputation is None else np.zeros_like(x)  # not read by a formula with a history
        formulas = {}
        for key, kernel in self.kernels.items():
            reverser = kernel.reverser(
                area.layout, self.constants, frozen=options.frozen, threads=options.threads,
                input_adjoints=options.read, reactions=options.reactions,
                halo_exchange=area.halo_exchange if kernel.shape.horizontal else None,
            )  # fmt: skip
            reverser.x = x
            formulas[key] = FormulaAdjoint(reverser, zero)
        chemistry = {} if recomputation is None else recomputation.chemistry
        cells = {key: CellsAdjoint(each, x) for key, each in chemistry.items()}
        return AdjointExecutor(x, formulas, cells, recomputation, owned=owned)

    def replay(self, changes: Changes, size: float, threads: int = 1) -> ReplayExecutor:
        """Return the executor that repeats steps with inputs perturbed by a multiple of a direction."""
        rates, layout = changes.direction.rates, self.area.layout
        changed = {key: with_rates(kernel, rates, size, layout) for key, kernel in self.kernels.items()}
        constants = changes.constants(self.constants, size)
        runners: dict[str, FormulaReplay | CellsReplay] = {}
        for key, stepper in self._steppers({key: kernel for key, (kernel, _) in changed.items()}, constants, threads):
            runners[key] = FormulaReplay(stepper, changes, size, changed[key][1])
            state = stepper.state
        factors = np.broadcast_to(1.0 if rates is None else 1.0 + size * rates, (len(self.network.reactions),))
        for key, make in self.chemistry.items():
            runners[key] = CellsReplay(make(threads), self.density_factor, state, factors)
        return ReplayExecutor(state, runners, changes, size)

    def tangent(self, threads: int = 1) -> TangentExecutor:
        """Return the executor that repeats steps together with their tangent."""
        area = self.area
        states = StateAndChanges.zeros(area.layout, len(self.network.species), self._levels)
        runners: dict[str, FormulaTangent | CellsTangent] = {}
        for key, kernel in self.kernels.items():
            stepper = kernel.tangent_stepper(
                area.layout, self.constants, threads=threads, states=states,
                halo_exchange=area.halo_exchange if kernel.shape.horizontal else None,
            )  # fmt: skip
            runners[key] = FormulaTangent(kernel, stepper)
        for key, make in self.chemistry.items():
            runners[key] = CellsTangent(make(threads), self.density_factor, states)
        return TangentExecutor(states, runners, area)

    def _recomputation(self, threads: int) -> tuple[Recomputation | None, bool]:
        """Return the executor that repeats steps, None for a formula with a history, and whether the caller owns it."""
        if self.program.has_history:
            return None, False
        if self.shared is not None:
            return self.shared, False
        steppers = dict(self._steppers(self.kernels, self.constants, threads))
        chemistry = {key: make(threads) for key, make in self.chemistry.items()}
        return Recomputation(steppers, chemistry, self.density_factor), True

    def _steppers(
        self, kernels: Mapping[str, StepKernel], constants: StepConstants, threads: int
    ) -> Iterator[tuple[str, Stepper]]:
        """Yield the key and a stepper of each kernel; all steppers advance the same state."""
        state: State | None = None
        for key, kernel in kernels.items():
            neighbours = self.area.neighbours(kernel)
            stepper = kernel.stepper(self.area.layout, constants, threads=threads, neighbours=neighbours, state=state)
            state = stepper.state
            yield key, stepper


def create_simulation(case: Case | str | Path, **given: Any) -> Simulation:
    """Return the simulation of a case without groups of ranks, which has the same steps.

    given  further parameters of :class:`airshed.Simulation`
    """
    loaded: Any = load_case(case) if isinstance(case, str | Path) else case
    return Simulation(loaded.without_groups() if isinstance(loaded, Case) else loaded, **given)


@contextmanager
def observing(model: AirModel, on_step: OnStep, *, lengths: bool = False) -> Iterator[None]:
    """Set a callback for the record of each step; lengths: see ``ForwardExecutor.on_step``."""
    model.executor.on_step(on_step, lengths=lengths)
    try:
        yield
    finally:
        model.executor.on_step(None)


def create_derivatives(model: AirModel, *, share: bool = False) -> Derivatives:
    """Return the derivatives of the steps of a model; raises CaseError for a case that has none.

    share  use the state and threads of the model; the derivatives are then valid only while it is open
    """
    program, case, runners = model.program, model.case, model.executor.runners
    if case.has_groups:
        raise CaseError("groups of ranks (parallel.groups) have no adjoint; use case.without_groups()")
    if model.backend.devices:
        raise CaseError('steps on a GPU have no adjoint yet; set run.device = "cpu"')
    if not program.has_history and case.adjoint.rounding != "none":
        raise CaseError(
            f"adjoint.rounding = {case.adjoint.rounding!r} would change the repeated steps of chemistry.integrator = "
            f'"{case.chemistry.integrator}"; set "none"'
        )
    steppers = {key: each.stepper for key, each in runners.items() if each.stepper is not None}
    cells = {key: each.chemistry for key, each in runners.items() if isinstance(each, CellsRunner)}
    lacking = [each.key for each in program.stages if each.operators and each.key not in {**steppers, **cells}]
    if lacking:
        raise CaseError(
            f"a case whose processes have {', '.join(lacking)} cannot be recorded: it has no adjoint, tangent or "
            "gradient; remove these processes"
        )
    packed = replace(model.layout, dtype=np.float64).pack(number_per_mole(model.parts.grid))
    factor = np.asarray(packed, np.float64)
    return Derivatives(
        program, {key: each.kernel for key, each in steppers.items()},
        {key: each.alike for key, each in cells.items()}, Area.of(model), model.constants, model.network, factor,
        Recomputation(steppers, cells, factor) if share else None,
    )  # fmt: skip
