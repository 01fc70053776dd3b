"""Comparison of the solvers on a mechanism: sweep, alternating runs, agreement, counts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from airshed.kernels.backends.cpu.cells import CellKernel, compile_chemistry
from airshed.kernels.backends.cpu.kernel import StepKernel, compile_mechanism
from airshed.kernels.cells import method
from airshed.mechanism.openatmos import has_musica
from benchmarks.chemistry.airshed_cells import AirshedCells
from benchmarks.chemistry.contender import REGIMES, Contender, Trial, measure
from benchmarks.chemistry.counted import StepCost, step_cost
from benchmarks.chemistry.micm_cells import MicmCells, MicmModel, MicmSettings
from benchmarks.chemistry.problem import Problem
from benchmarks.chemistry.problems import trial
from benchmarks.chemistry.step_cells import StepCells
from benchmarks.chemistry.sweep import (
    Entry,
    airshed_families,
    fastest,
    finalists,
    in_turns,
    micm_families,
    sweep,
)

PRECISIONS: Final = ("double", "single")
HOW: Final = ("cold", "cached")
"""State of the folder of compiled code: empty or filled."""

STEPS: Final = (300.0, 60.0, 30.0, 15.0)
"""Step lengths [s] of the three-dimensional model."""

CELLS: Final = 8
"""Number of cells in which the accurate solutions of both sides are compared."""

LARGEST_DIFFERENCE: Final = 1e-4
"""Largest relative difference of the accurate solutions, above the floor of concentrations."""

_TIGHT: Final = MicmSettings("rosenbrock_dae6", 1e-8, 1e-2)

Progress = Callable[[str], object]


@dataclass(frozen=True)
class Agreement:
    """Largest relative difference between the accurate solutions of Airshed and MICM."""

    difference: float

    @property
    def holds(self) -> bool:
        """Return whether they agree; a NaN does not."""
        return self.difference <= LARGEST_DIFFERENCE


@dataclass(frozen=True)
class Comparison:
    """Results of a mechanism.

    entries    fastest accurate settings of each solver and precision, timed in alternation
    own_steps  the same for MICM with its own choice of the first step, its default
    seconds    (precision, "cold" or "cached") -> [s] from the network to loaded code
    costs      (solver, precision) -> cost of a step
    """

    problem: Problem
    entries: Sequence[Entry]
    own_steps: Sequence[Entry] = ()
    agreement: Agreement | None = None
    seconds: dict[tuple[str, str], float] = field(default_factory=dict)
    costs: dict[tuple[str, str], StepCost] = field(default_factory=dict)

    def best(self, regime: str, *, micm: bool) -> Entry | None:
        """Return the fastest accurate entry of a side."""
        return fastest([each for each in self.entries if is_micm(each.contender) == micm], regime)

    def ratio(self, regime: str, *, own_step: bool = False) -> float | None:
        """Return the ratio of CPU times of MICM and Airshed, each with its fastest accurate settings."""
        ours = self.best(regime, micm=False)
        theirs = fastest(self.own_steps, regime) if own_step else self.best(regime, micm=True)
        if ours is None or theirs is None:
            return None
        return theirs.run.mean("cpu", regime) / ours.run.mean("cpu", regime)


def is_micm(contender: Contender) -> bool:
    """Return whether a contender is MICM."""
    return isinstance(contender, MicmCells)


def compare(problem: Problem, progress: Progress = print) -> Comparison:
    """Compare all solvers on a problem, with MICM where it is installed."""
    seconds: dict[tuple[str, str], float] = {}
    progress(f"{problem.name}: compiling")
    kernels = [_compiled(problem, precision, seconds) for precision in PRECISIONS]
    step_kernel = compile_mechanism(problem.network, 1)
    seconds[StepCells.solver, "cold"] = sum(step_kernel.seconds.values())
    run = trial(problem, kernels[0])
    progress(f"{problem.name}: Airshed")
    entries = [
        entry for kernel in kernels for family in airshed_families(problem, kernel) for entry in sweep(family, run)
    ]
    chosen, own, agreed = finalists(entries), list[Entry](), None
    if has_musica():
        progress(f"{problem.name}: MICM")
        chosen_of_micm, own, agreed = _micm(problem, run)
        chosen += chosen_of_micm
    progress(f"{problem.name}: in turns")
    timed = in_turns([*chosen, *own, *_steps(problem, step_kernel, run)], run)
    micm_own = [each for each in timed if _chooses(each.contender)]
    costs = {
        (each.contender.solver, each.contender.precision): step_cost(
            each.contender.kernel, method(each.contender.chosen.method)
        )
        for each in timed
        if isinstance(each.contender, AirshedCells)
    }
    return Comparison(problem, timed, micm_own, agreed, seconds, costs)


def _compiled(problem: Problem, precision: str, seconds: dict[tuple[str, str], float]) -> CellKernel:
    """Compile twice: with an empty cache, then from the cache."""
    for state in HOW:
        kernel = compile_chemistry(problem.network, precision)
        seconds[precision, state] = sum(kernel.seconds.values())
    return kernel


def _micm(problem: Problem, run: Trial) -> tuple[list[Entry], list[Entry], Agreement]:
    """Return the finalists of MICM, those with its own first step, and the agreement."""
    model = MicmModel(problem)
    entries = [entry for family in micm_families(model, problem.cells) for entry in sweep(family, run)]
    own = [each for each in entries if _chooses(each.contender)]
    best = [fastest(own, regime) for regime in REGIMES]
    chosen = finalists(entries)
    known = {id(each.contender) for each in chosen}
    extra = {id(each): each for each in best if each is not None and id(each.contender) not in known}
    return chosen, list(extra.values()), agreement(problem, run)


def agreement(problem: Problem, trial: Trial) -> Agreement:
    """Compare the first cells over all calls, which detects different conditions or rates."""
    contender = MicmCells(MicmModel(problem.first(CELLS)), _TIGHT)
    return Agreement(float(np.max(measure(contender, trial.first(CELLS), repeats=1).largest)))


def _chooses(contender: Contender) -> bool:
    return isinstance(contender, MicmCells) and contender.chosen.first_step == 0.0


def _steps(problem: Problem, kernel: StepKernel, run: Trial) -> list[Entry]:
    contenders = [StepCells(kernel, problem, step) for step in STEPS]
    return [Entry(each, measure(each, run, repeats=1)) for each in contenders]
