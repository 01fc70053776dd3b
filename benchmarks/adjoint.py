"""Measure the cost of gradients: an adjoint step relative to a step, and a gradient relative to a run.

Both sides of a ratio alternate, round by round, in one process; the ratio is the median over rounds, so that it holds
on a machine whose clock drifts. Steps of EMEP are those of west-europe. For TS1 that case has neither emission nor
photolysis, so its step is one of random air, with constant rates instead of photolysis.
"""

import resource
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Final

from airshed.core.report import Cell, Report, Table
from airshed.inverse.cost import CostOfFunction
from airshed.inverse.gradient import gradient
from airshed.inverse.verify.recording import RecordedRun, random_cost, record_case
from airshed.inverse.verify.replay import Replay
from airshed.kernels.backends.cpu.kernel import compile_reverse
from airshed.kernels.host import processor, usable_cores
from airshed.mechanism.openatmos import NO_MUSICA, has_musica
from airshed.models.air.case import Case
from airshed.runtime.simulation import Simulation
from benchmarks.chemistry.report import empty_cache
from benchmarks.random_air import random_air

HOURS, ROUNDS = 24.0, 9
"""Hours of the gradient, and rounds of steps."""

CASE: Final = "west-europe"
TS1: Final = "musica:ts1"
_STEPS: Final = 16
_SETTINGS: Final = ('time.spinup="0 h"', "run.threads=1")

Progress = Callable[[str], object]


@dataclass(frozen=True)
class AdjointReport(Report):
    """Report with `ratios` by the names that programs read."""

    ratios: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the report as a JSON object, including the ratios."""
        return {**super().to_dict(), **self.ratios}


@dataclass(frozen=True)
class Ratios:
    """Times of an adjoint step over a step: without and with the derivatives of operator inputs and rate factors."""

    some: float
    every: float


@dataclass(frozen=True)
class Whole:
    """Wall times [s] of a run and of its gradient, by rounds, and the greatest memory of the process [GB]."""

    runs: Sequence[float]
    gradients: Sequence[float]
    memory: float


def run(
    hours: float = HOURS, rounds: int = ROUNDS, overrides: Sequence[str] = (), progress: Progress = lambda message: None
) -> AdjointReport:
    """Measure with a gradient over `hours`; a day takes minutes, plus compilation.

    overrides  settings of the case of the gradient
    """
    progress(f"a gradient over {hours:g} h")
    whole = measure_whole(Case.load(CASE, [*_SETTINGS, f'time.length="{hours!r} h"', *overrides]))
    progress("steps of emep")
    emep, _ = record_case(Case.load(CASE, [*_SETTINGS, 'time.length="2 h"']), steps=_STEPS)
    progress("compilers")
    compiling = {"emep": compile_seconds(emep)}
    ratios: dict[str, Ratios | None] = {"emep": reverse_over_forward(emep, rounds), "ts1": None}
    if has_musica():
        progress("steps of ts1")
        ts1 = random_air(TS1, _STEPS)
        compiling["ts1"] = compile_seconds(ts1)
        ratios["ts1"] = reverse_over_forward(ts1, rounds)
    threads = two_over_one(emep, rounds) if usable_cores() > 1 else None
    return report(whole, ratios, compiling, threads, hours)


def reverse_over_forward(run: RecordedRun, rounds: int) -> Ratios:
    """Return the time of adjoint steps over that of the same steps forward, on one thread."""
    some, every = (Replay(run, random_cost(run, 0), all_inputs=each) for each in (False, True))
    works = some.repeat, some.reverse, every.reverse
    times = [[_timed(work) for work in works] for _ in range(rounds + 1)][1:]  # the first compiles and fills caches
    return Ratios(*(median(each[back] / each[0] for each in times) for back in (1, 2)))


def two_over_one(run: RecordedRun, rounds: int) -> float:
    """Return the speed-up of adjoint steps by a second thread."""
    one, two = (Replay(run, random_cost(run, 0), threads=threads, all_inputs=False) for threads in (1, 2))
    pairs = [(_timed(one.reverse), _timed(two.reverse)) for _ in range(rounds + 1)]
    return median(first / second for first, second in pairs[1:])


def compile_seconds(run: RecordedRun) -> float:
    """Return the time of building the adjoint step without any cache [s]."""
    with empty_cache():
        return sum(sum(compile_reverse(each).seconds.values()) for each in run.derivatives.kernels.values())


def measure_whole(case: Case, rounds: int = 3) -> Whole:
    """Return the times of a gradient of a mean at the end of a case, and of a run of the same case without output.

    A first gradient is not counted: it compiles the kernels and allocates memory, which a virtual machine may have to
    request from its host.
    """
    end = case.time.length.value
    gradient(case, mean_cost(case, end))
    runs, gradients = [], []
    for _ in range(rounds):
        gradients.append(_timed(lambda: gradient(case, mean_cost(case, end))))
        runs.append(_timed(lambda: _run(case)))
    return Whole(runs, gradients, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9)


def mean_cost(case: Case, seconds: float) -> CostOfFunction:
    """Return the mean of ozone, or of the first species of a case without ozone, at a time [s]."""
    names = case.network().names
    name = "O3" if "O3" in names else names[0]
    return CostOfFunction(seconds, [name], lambda q: (float(q[name].mean()), {name: 0.0 * q[name] + 1.0}))


def report(
    whole: Whole, ratios: Mapping[str, Ratios | None], compiling: Mapping[str, float], threads: float | None,
    hours: float,
) -> AdjointReport:  # fmt: skip
    """Return the measurements as a report."""
    over_run = median(back / forth for forth, back in zip(whole.runs, whole.gradients, strict=True))
    facts: dict[str, Cell] = {
        "processor": processor().model, "cores": usable_cores(), f"gradient over {hours:g} h, over the run": over_run,
        "run [s]": median(whole.runs), "gradient [s]": median(whole.gradients),
        "greatest memory of the process [GB]": whole.memory, "adjoint steps: two threads over one": threads,
    }  # fmt: skip
    if ratios.get("ts1") is None:
        facts["ts1"] = f"not measured: it needs {NO_MUSICA}"
    some = {name: None if each is None else each.some for name, each in ratios.items()}
    every = {name: None if each is None else each.every for name, each in ratios.items()}
    rows = [(name, some[name], every[name], compiling.get(name)) for name in ratios]
    heads = "mechanism", "over a step forward", "of all inputs, with rates", "compile [s]"
    table = Table("An adjoint step, one thread", heads, rows)
    found = {
        "reverse_over_forward": some, "reverse_of_all_over_forward": every,
        "gradient_over_run": over_run, "gradient_memory_gb": whole.memory,
        "reverse_compile_seconds": dict(compiling), "reverse_two_threads_over_one": threads,
    }  # fmt: skip
    return AdjointReport(f"Gradients on {CASE}", [table], facts, ratios=found)


def _run(case: Case) -> None:
    with closing(Simulation(case)) as simulation:
        simulation.run()


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
