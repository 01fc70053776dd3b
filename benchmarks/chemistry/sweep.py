"""Search for the fastest accurate settings of each solver, with a final timing in alternation."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from airshed.kernels.backends.cpu.cells import CellKernel
from airshed.kernels.cells import METHODS
from benchmarks.chemistry.airshed_cells import AirshedCells, Settings
from benchmarks.chemistry.contender import REGIMES, Contender, Run, Trial, measure
from benchmarks.chemistry.micm_cells import MicmCells, MicmModel, MicmSettings
from benchmarks.chemistry.problem import Problem

RELATIVE: Final = (1.0, 0.1, 0.03, 0.01, 3e-3, 1e-3)
"""Relative tolerances, from loose to tight."""

ABSOLUTE: Final = 1e4
"""Absolute tolerance of both sides [molecules cm-3], a tenth of the floor of the error."""

FIRST_STEPS: Final = ((0.0, True), (10.0, True), (10.0, False), (30.0, False), (100.0, False), (300.0, False))
"""First steps of Airshed [s], and whether cells reuse their last step in the next call."""

MICM_FIRST_STEPS: Final = (0.0, 10.0, 30.0, 100.0, 300.0)
"""First steps of MICM [s]; 0 is its default."""

MICM_KINDS: Final = (
    "rosenbrock", "rosenbrock_standard_order", "rosenbrock_dae4", "rosenbrock_dae6", "backward_euler",
)  # fmt: skip
"""MICM's solvers for CPUs: three, four and six stages with vectors of four cells, and three stages cell by cell.

The last one makes the whole call in a step where its iteration converges."""

ROUNDS: Final = 5

Family = Callable[[float], Contender]
"""Contenders of the same settings by relative tolerance."""


@dataclass(frozen=True)
class Entry:
    """A contender with its figures, and the regimes in which it is the fastest of its solver."""

    contender: Contender
    run: Run
    regimes: tuple[str, ...] = ()


def airshed_families(problem: Problem, kernel: CellKernel) -> Iterator[Family]:
    """Yield Airshed's methods with every first step."""
    for name in METHODS:
        for first, reuses_step in FIRST_STEPS:
            yield lambda relative, name=name, first=first, reuses_step=reuses_step: AirshedCells(  # type: ignore[misc]
                kernel, problem, Settings(name, relative, ABSOLUTE, first, reuses_step)
            )


def micm_families(model: MicmModel, cells: int) -> Iterator[Family]:
    """Yield MICM's solvers with every first step, for states of the size of a vector and for a single state."""
    for kind in MICM_KINDS:
        steps = MICM_FIRST_STEPS if kind.startswith("rosenbrock") else (0.0,)
        for first in steps:
            for count in (1 if "standard" in kind else 4, cells):
                yield lambda relative, kind=kind, first=first, count=count: MicmCells(  # type: ignore[misc]
                    model, MicmSettings(kind, relative, ABSOLUTE, first, count)
                )


def sweep(family: Family, trial: Trial) -> list[Entry]:
    """Measure from loose to tight tolerances until all calls are accurate: tighter ones take longer."""
    found = []
    for relative in RELATIVE:
        contender = family(relative)
        found.append(Entry(contender, measure(contender, trial)))
        if found[-1].run.accurate("disturbed"):
            break
    return found


def fastest(entries: Sequence[Entry], regime: str) -> Entry | None:
    """Return the accurate entry with the least CPU time in a regime; None where none is accurate."""
    accurate = [each for each in entries if each.run.accurate(regime)]
    return min(accurate, key=lambda each: each.run.mean("cpu", regime), default=None)


def finalists(entries: Sequence[Entry]) -> list[Entry]:
    """Return for each solver and precision the fastest accurate entry per regime, or else the most accurate one."""
    groups: dict[tuple[str, str], list[Entry]] = {}
    for each in entries:
        groups.setdefault((each.contender.solver, each.contender.precision), []).append(each)
    found = []
    for group in groups.values():
        best = {regime: fastest(group, regime) for regime in REGIMES}
        chosen = [each for each in best.values() if each is not None]
        chosen = chosen or [min(group, key=lambda each: each.run.error("disturbed"))]
        for entry in {id(each): each for each in chosen}.values():
            regimes = tuple(regime for regime, each in best.items() if each is entry)
            found.append(Entry(entry.contender, entry.run, regimes))
    return found


def in_turns(entries: Sequence[Entry], trial: Trial, rounds: int = ROUNDS) -> list[Entry]:
    """Time contenders again, in alternation in every round; speeds are medians over rounds."""
    runs = [[measure(each.contender, trial) for each in entries] for _ in range(rounds)]
    return [
        Entry(entry.contender, _median([each[number] for each in runs]), entry.regimes)
        for number, entry in enumerate(entries)
    ]


def _median(runs: Sequence[Run]) -> Run:
    def speeds(name: str) -> tuple[float, ...]:
        return tuple(median(each) for each in zip(*(getattr(run, name) for run in runs), strict=True))

    return Run(speeds("cpu"), speeds("wall"), runs[0].largest, runs[0].rms, runs[0].steps)
