"""`airshed bench chemistry`: the comparisons as tables, and as ratios for programs."""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Final

import numpy as np

from airshed.core.report import Cell, Report, Table
from airshed.kernels.cache import VARIABLE as CACHE_VARIABLE
from airshed.kernels.host import processor, usable_cores
from airshed.mechanism.openatmos import NO_MUSICA, has_musica
from benchmarks.chemistry.airshed_cells import AirshedCells
from benchmarks.chemistry.comparison import CELLS, HOW, LARGEST_DIFFERENCE, PRECISIONS, Comparison, compare, is_micm
from benchmarks.chemistry.contender import ACCURATE, CALL, FLOOR, REGIMES
from benchmarks.chemistry.counted import DECODED, nominal_clock
from benchmarks.chemistry.problems import BALANCE, DISTURBANCE, PROBLEMS, SPREAD, TEMPERATURES, problem
from benchmarks.chemistry.step_cells import StepCells
from benchmarks.chemistry.sweep import ABSOLUTE, ROUNDS, Entry

CELLS_BY_DEFAULT: Final = 128

_RATIOS: Final = {
    "later": "ratio_to_micm_tuned_first_step",
    "first": "ratio_to_micm_first_call",
    "disturbed": "ratio_to_micm_disturbed",
}
_OWN: Final = "ratio_to_micm"

NOTES: Final = {
    "states": f"balanced for {BALANCE / 60:g} min at noon, every species varied log-uniformly by a factor {SPREAD:g} "
    f"(except air), {TEMPERATURES[0]:g} to {TEMPERATURES[1]:g} K, fixed seed",
    "calls": f"{CALL:g} s at constant rates: the first from these states; three later ones, from each solver's own "
    f"results; three more, each after a change of every concentration by up to {100 * (DISTURBANCE - 1):.0f} %",
    "error": f"largest relative one over cells and species above {FLOOR:g} molecules/cm3, against the accurate "
    f"solution of the same calls; accurate: at most {ACCURATE:g} in all calls up to the compared ones",
    "time": f"CPU time of the thread, medians of {ROUNDS} alternating rounds; from states in memory to states in "
    "memory, rate constants included",
    "tolerances": f"absolute {ABSOLUTE:g} molecules/cm3 on both sides, relative tolerances and first steps varied",
    "ratios": "ratio_to_micm: later calls, MICM with its own choice of the first step; other ratios: with the best "
    "first step of the sweep",
    "reused": "Airshed reuses the last step of each cell in its next call where the settings state it; MICM begins "
    "each call with the given first step, varied from its own choice to the whole call",
}  # fmt: skip
"""Description of the comparison."""


@dataclass(frozen=True)
class ChemistryReport(Report):
    """Report with ratios by the name of each mechanism, for programs."""

    ratios: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as a JSON object with an object for each ratio."""
        return {**super().to_dict(), **{name: dict(values) for name, values in self.ratios.items()}}


def run(
    mechanisms: Sequence[str] = (), cells: int = CELLS_BY_DEFAULT, progress: Callable[[str], object] = print
) -> ChemistryReport:
    """Compare on the given mechanisms, by default on all available ones.

    Raises CaseError for a mechanism without a benchmark, MechanismError where it needs the missing package musica.
    """
    names = tuple(dict.fromkeys(mechanisms)) or tuple(PROBLEMS if has_musica() else ("emep",))
    with empty_cache():
        problems = [problem(name, cells) for name in names]
    with empty_cache():
        return report([compare(each, progress) for each in problems])


@contextmanager
def empty_cache() -> Iterator[None]:
    """Compile into an empty folder, so that compile times are without a cache."""
    before = os.environ.get(CACHE_VARIABLE)
    with tempfile.TemporaryDirectory() as folder:
        os.environ[CACHE_VARIABLE] = folder
        try:
            yield
        finally:
            if before is None:
                del os.environ[CACHE_VARIABLE]
            else:
                os.environ[CACHE_VARIABLE] = before


def report(comparisons: Sequence[Comparison]) -> ChemistryReport:
    """Return comparisons as a report; not ok where the two sides do not solve the same problem."""
    ratios = {name: {each.problem.name: each.ratio(regime) for each in comparisons} for regime, name in _RATIOS.items()}
    ratios[_OWN] = {each.problem.name: each.ratio("later", own_step=True) for each in comparisons}
    facts: dict[str, Cell] = {
        "processor": processor().model, "cores": usable_cores(), "musica": _musica(),
        "cells": comparisons[0].problem.cells, **NOTES,
        **{f"conditions of {each.problem.name}": each.problem.notes for each in comparisons},
    }  # fmt: skip
    checked = [each for each in comparisons if each.agreement is not None]
    tables = [*([_ratio_table(comparisons, ratios), _agreements(checked)] if checked else []), _solvers(comparisons)]
    ok = all(each.agreement is not None and each.agreement.holds for each in checked)
    return ChemistryReport(
        "Chemistry of independent cells", [*tables, _compilation(comparisons), _counts(comparisons)], facts, ok, ratios
    )


def _musica() -> str:
    return str(import_module("musica").__version__) if has_musica() else f"not compared: it needs {NO_MUSICA}"


def _ratio_table(comparisons: Sequence[Comparison], ratios: Mapping[str, Mapping[str, float | None]]) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for each in comparisons:
        for regime, name in _RATIOS.items():
            sides = [each.best(regime, micm=micm) for micm in (False, True)]
            cells = [cell for side in sides for cell in _side(side, regime)]
            rows.append((each.problem.name, regime, ratios[name][each.problem.name], *cells))
        rows.append((each.problem.name, "later, MICM's own first step", ratios[_OWN][each.problem.name], *[None] * 6))
    columns = (
        "mechanism",
        "calls",
        "ratio",
        "Airshed [us]",
        "error of Airshed",
        "Airshed settings",
        "MICM [us]",
        "error of MICM",
        "MICM settings",
    )
    return Table("CPU time of a cell for 300 s at equal accuracy", columns, rows)


def _side(entry: Entry | None, regime: str) -> tuple[Cell, ...]:
    if entry is None:
        return None, None, "no accurate settings"
    contender, run = entry.contender, entry.run
    return (
        run.mean("cpu", regime), run.error(regime), f"{contender.solver}, {contender.precision}; {contender.settings}",
    )  # fmt: skip


def _agreements(comparisons: Sequence[Comparison]) -> Table:
    rows = [
        (each.problem.name, each.agreement.difference, LARGEST_DIFFERENCE, each.agreement.holds)
        for each in comparisons
        if each.agreement is not None
    ]
    columns = ("mechanism", "largest relative difference", "threshold", "holds")
    return Table(f"Accurate solutions of Airshed and MICM, {CELLS} cells, all calls", columns, rows)


def _solvers(comparisons: Sequence[Comparison]) -> Table:
    columns = (
        "mechanism", "solver", "precision", "settings", "fastest in", *(f"{name} [us]" for name in REGIMES),
        *(f"error {name}" for name in REGIMES), "rms later", "steps first", "later", "disturbed", "compiled [s]",
    )  # fmt: skip
    rows = [_row(each, entry) for each in comparisons for entry in each.entries]
    note = (
        "errors: the largest up to then; h: first step of every call; reused: of the first call, later each cell's own"
    )
    return Table("Each solver with its fastest accurate settings", columns, rows, note)


def _row(comparison: Comparison, entry: Entry) -> tuple[Cell, ...]:
    contender, run = entry.contender, entry.run
    key = StepCells.solver if isinstance(contender, StepCells) else contender.precision
    return (
        comparison.problem.name, contender.solver, contender.precision, contender.settings, ", ".join(entry.regimes),
        *(run.mean("cpu", regime) for regime in REGIMES), *(run.error(regime) for regime in REGIMES),
        run.mean("rms", "later"), *(run.mean("steps", regime) for regime in REGIMES),
        None if is_micm(contender) else comparison.seconds.get((key, "cold")),
    )  # fmt: skip


def _compilation(comparisons: Sequence[Comparison]) -> Table:
    columns = ("mechanism", "species", "reactions", *(f"{each}, {how} [s]" for each in PRECISIONS for how in HOW))
    rows: list[tuple[Cell, ...]] = []
    for each in comparisons:
        network = each.problem.network
        seconds = [each.seconds.get((precision, how)) for precision in PRECISIONS for how in HOW]
        rows.append((each.problem.name, len(network.species), len(network.reactions), *seconds))
    return Table("From the network to loaded code", columns, rows)


def _counts(comparisons: Sequence[Comparison]) -> Table:
    clock = nominal_clock()
    rows = [
        _count(each, entry, contender, clock)
        for each in comparisons
        for entry in _most_different(each)
        if isinstance(contender := entry.contender, AirshedCells)
    ]
    columns = (
        "mechanism", "solver", "precision", "operations", "touched [B]", "pack [kB]", "code [kB]", "us per step",
        "us per call", "Gop/s", "cycles per pack", "at least: operations", "decoding",
    )  # fmt: skip
    note = (
        "of a step of a cell; a call also has rate constants and lanes; pack: bytes touched by a pack of cells; "
        "cycles at the clock rate in the processor's name, which it may exceed; operations: two vectors per cycle; "
        f"decoding: {DECODED:g} bytes of straight-line code per cycle"
    )
    return Table("Counted work of a step", columns, rows, note)


def _most_different(comparison: Comparison) -> list[Entry]:
    """Return for each of Airshed's methods and precisions the entry whose calls differ most in steps."""
    found: dict[tuple[str, str], Entry] = {}
    for entry in comparison.entries:
        key = entry.contender.solver, entry.contender.precision
        if key not in found or np.ptp(entry.run.steps) > np.ptp(found[key].run.steps):
            found[key] = entry
    return list(found.values())


def _count(comparison: Comparison, entry: Entry, contender: AirshedCells, clock: float | None) -> tuple[Cell, ...]:
    cost = comparison.costs[contender.solver, contender.precision]
    micro, call = np.polyfit(entry.run.steps, entry.run.cpu, 1).tolist()
    cycles = None if clock is None else 1e-6 * micro * clock * contender.kernel.shape.width
    return (
        comparison.problem.name, contender.solver, contender.precision, cost.operations, cost.touched,
        cost.working_set / 1e3, None if cost.code is None else cost.code / 1e3, micro, call,
        1e-3 * cost.operations / micro, cycles, cost.least_cycles(), cost.decoding_cycles(),
    )  # fmt: skip
