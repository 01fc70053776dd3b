"""Measure the speed of the west-europe case over a day, and compare it with the limits of memory and cores.

All figures are from runs of the case itself, with forcing and without output. Speeds are medians over simulated
hours, on one core in double precision, on one in single precision, and on two threads, alternating hour by hour.
Operations and bytes are counted in the generated code, not by the processor.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import compress
from math import ceil
from typing import Any

import numpy as np

from airshed.core.report import Cell, Report, Table
from airshed.kernels.abi import PARTS
from airshed.kernels.backends.cpu.kernel import StepKernel
from airshed.kernels.cache import VARIABLE as CACHE_VARIABLE
from airshed.kernels.host import processor, usable_cores
from airshed.models.air.case import Case
from airshed.runtime.simulation import Simulation
from benchmarks.counting import bytes_per_cell, operations_per_cell

_CASE = "west-europe"
_DAY = 86400.0
_COPY_BYTES = 256 * 2**20
_DISTURBED = 0.05
"""Cores used by other programs above which an hour is excluded from ratios: two threads need both cores."""
_FEWEST = 3
"""Least number of undisturbed hours; with fewer, ratios use all hours."""


@dataclass(frozen=True)
class Speed:
    """Results of a measured run.

    cell_steps     cells advanced by a step per second of wall time, median over simulated hours; rates: each hour's
    inside         cells advanced by a step per second of a thread's time in the compiled step, each hour's
    others         cores used by other programs during the runs, each hour's
    cell_days      simulated cells times days per hour of one core, over the whole run
    parts          share of each part of the step in the threads' time [1]
    """

    label: str
    threads: int
    precision: str
    steps: int
    wall: float
    cell_steps: float
    rates: tuple[float, ...]
    inside: tuple[float, ...]
    others: tuple[float, ...]
    cell_days: float
    parts: dict[str, float]
    cells: int
    species: int
    sweeps: int
    operations: float
    bytes: float


def run(hours: float = 24.0) -> Report:
    """Measure and report; `hours` of the case are simulated at each setting, alternating hour by hour."""
    bandwidth = copy_bandwidth()
    settings = [("double", 1), ("single", 1)] + ([("double", 2)] if usable_cores() > 1 else [])
    speeds = measure(settings, hours)
    facts: dict[str, Cell] = {
        "processor": processor().model, "cores": usable_cores(), "memory bandwidth, one core copying [GB/s]": bandwidth,
        "cores used by other programs": statistics.mean(speeds[0].others),
        "undisturbed hours, used for ratios": sum(_undisturbed(speeds[0])),
        "speed of single over double precision": _ratio(speeds[1], speeds[0]),
    }  # fmt: skip
    if len(speeds) > 2:
        facts["speed of two threads over one"] = _ratio(speeds[2], speeds[0])
        facts["of the compiled step alone"] = 2.0 * _ratio(speeds[2], speeds[0], "inside")
    facts |= _start_facts()
    return Report(
        f"Airshed on {_CASE}, {hours:g} h", [_speeds(speeds), _shares(speeds), _roofline(speeds, bandwidth)], facts
    )


def measure(settings: Sequence[tuple[str, int]], hours: float) -> list[Speed]:
    """Run the case without output at several settings (precision, threads), alternating hour by simulated hour.

    The speed of a shared machine changes from minute to minute; alternation makes ratios meaningful.
    """
    with ExitStack() as stack:
        runs = [stack.enter_context(_simulation(precision, threads, hours)) for precision, threads in settings]
        for simulation in runs:
            simulation.step()  # fills caches; the step is not counted
        before = [(simulation.seconds, simulation.model.stepper.seconds) for simulation in runs]
        passed: list[list[_Hour]] = [[] for _ in runs]
        others = []
        for hour in range(1, ceil(hours) + 1):
            began, taken = time.perf_counter(), _taken_by_others()
            for simulation, its_hours in zip(runs, passed, strict=True):
                its_hours.append(_pass(simulation, min(hour, hours) * 3600.0))
            others.append(max(_taken_by_others() - taken, 0.0) / (time.perf_counter() - began))
        return [_speed(*each, tuple(others)) for each in zip(runs, before, passed, strict=True)]


@dataclass(frozen=True)
class _Hour:
    """A simulated hour: steps, wall time [s], the threads' time inside the compiled step [s]."""

    steps: int
    wall: float
    inside: float


def _pass(simulation: Simulation, until: float) -> _Hour:
    model, start = simulation.model, time.perf_counter()
    done, inside = model.steps, sum(model.stepper.seconds.values())
    simulation.run(until=until)
    wall = time.perf_counter() - start
    return _Hour(model.steps - done, wall, sum(model.stepper.seconds.values()) - inside)


def _simulation(precision: str, threads: int, hours: float) -> Simulation:
    overrides = [
        f'chemistry.precision="{precision}"', 'time.spinup="0 h"', f'time.length="{hours} h"', f"run.threads={threads}",
    ]  # fmt: skip
    return Simulation(Case.load(_CASE, overrides))


def _speed(
    simulation: Simulation, before: tuple[float, dict[str, float]], hours: list[_Hour], others: tuple[float, ...]
) -> Speed:
    model, (first, spent_before), wall = simulation.model, before, sum(hour.wall for hour in hours)
    steps = sum(hour.steps for hour in hours)
    precision, threads = model.case.chemistry.precision, model.stepper.threads
    assert isinstance(model.kernel, StepKernel)
    spent = {name: seconds - spent_before[name] for name, seconds in model.stepper.seconds.items()}
    total = sum(spent.values())
    rates = tuple(model.domain.cells * hour.steps / hour.wall for hour in hours)
    return Speed(
        f"{precision}, {threads} thread{'s' * (threads > 1)}", threads, precision, steps, wall,
        cell_steps=statistics.median(rates), rates=rates,
        inside=tuple(model.domain.cells * hour.steps / hour.inside for hour in hours), others=others,
        cell_days=model.domain.cells * (simulation.end - first) / _DAY / (wall * threads / 3600.0),
        parts={name: spent[name] / total for name in PARTS} | {"forcing and control": 1.0 - total / (wall * threads)},
        cells=model.domain.cells, species=len(model.network.species), sweeps=model.case.chemistry.sweeps,
        operations=operations_per_cell(model.kernel, model.case.chemistry.sweeps), bytes=bytes_per_cell(model.kernel),
    )  # fmt: skip


def _taken_by_others() -> float:
    """Return the core time used by other programs since the start of the machine [s]; 0 without a record."""
    try:
        with open("/proc/stat") as statistic:
            user, nice, system, _, _, interrupts, soft, stolen, *_ = map(int, statistic.readline().split()[1:])
    except OSError:
        return 0.0
    busy = user + nice + system + interrupts + soft + stolen
    return busy / os.sysconf("SC_CLK_TCK") - time.process_time()


def _undisturbed(speed: Speed) -> list[bool]:
    """Return for each hour whether other programs used almost no core time."""
    return [taken < _DISTURBED for taken in speed.others]


def _ratio(one: Speed, other: Speed, rates: str = "rates") -> float:
    """Return the ratio of the speeds of two runs: the median over undisturbed hours, each measured in alternation."""
    ratios = [a / b for a, b in zip(getattr(one, rates), getattr(other, rates), strict=True)]
    undisturbed = _undisturbed(one)
    return float(statistics.median(compress(ratios, undisturbed) if sum(undisturbed) >= _FEWEST else ratios))


def copy_bandwidth(repeats: int = 7) -> float:
    """Return the median rate of copying large arrays on one core [GB/s], bytes read plus bytes written."""
    source = np.ones(_COPY_BYTES // 8)
    target = np.empty_like(source)
    rates = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        np.copyto(target, source)
        rates.append(2.0 * source.nbytes / (time.perf_counter() - start) / 1e9)
    return statistics.median(rates[1:])


def _speeds(speeds: list[Speed]) -> Table:
    columns = (
        "run", "M cell-steps/s", "M cell-days per core-hour", "ns per cell-step and core", "steps", "wall [s]",
    )  # fmt: skip
    rows = [
        (s.label, s.cell_steps / 1e6, s.cell_days / 1e6, 1e9 * s.threads / s.cell_steps, s.steps, s.wall)
        for s in speeds
    ]
    return Table("Speed", columns, rows)


def _shares(speeds: list[Speed]) -> Table:
    names = list(speeds[0].parts)
    rows: list[tuple[Cell, ...]] = [(s.label, *(s.parts[name] for name in names)) for s in speeds]
    note = "of the time in the compiled step; forcing and control: share of the wall time in which the threads wait"
    return Table("Share of each part", ("run", *names), rows, note)


def _roofline(speeds: list[Speed], bandwidth: float) -> Table:
    columns = (
        "run", "operations per cell-step", "Gflop/s per core", "bytes per cell-step", "GB/s per core",
        "share of copy bandwidth",
    )  # fmt: skip
    rows: list[tuple[Cell, ...]] = []
    for s in speeds:
        rate = s.cell_steps / s.threads / 1e9
        rows.append((s.label, s.operations, rate * s.operations, s.bytes, rate * s.bytes, rate * s.bytes / bandwidth))
    return Table("Counted work and limits of the machine", columns, rows, "bytes: each array of the state once")


_START = """
import json, sys, time
began = time.perf_counter()
import airshed
airshed.Simulation("west-europe").step()
first = time.perf_counter() - began
print(json.dumps({"first": first, "modules": sorted(sys.modules)}))
"""


_MEMORY = """
import contextlib, importlib, json, sys
def anonymous():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon")) / 1024.0
for name in json.load(sys.stdin):
    with contextlib.suppress(Exception):
        importlib.import_module(name)
import airshed
from benchmarks.counting import array_bytes
libraries = anonymous()
simulation = airshed.Simulation("west-europe")
for _ in range(40):
    simulation.step()
model = simulation.model
if model.stepper.pool is not None:
    model.stepper.pool.submit(int).result()  # prefetched data have arrived
facts = {
    "own": anonymous() - libraries,
    "array": model.stepper.state.q.nbytes / 2**20,
    "state": array_bytes(model.stepper.state) / 2**20,
    "forcing": array_bytes(model.forcing, model.sources, without=[model]) / 2**20,
}
simulation.close()
print(json.dumps(facts))
"""


_COMPILATION = """
import json
from airshed.kernels.backends.cpu.kernel import compile_mechanism
from airshed.mechanism import load_mechanism
print(json.dumps(sum(compile_mechanism(load_mechanism("emep"), 18).seconds.values())))
"""


def _start_facts() -> dict[str, Cell]:
    """Return compile time, start-up time and memory, each in a separate process."""
    with tempfile.TemporaryDirectory() as empty:
        compilation = _answer(_COMPILATION, {CACHE_VARIABLE: empty})
    _answer(_START, {})  # fills the caches of kernels and of Python modules
    start = _answer(_START, {})
    memory = _answer(_MEMORY, {}, json.dumps(start["modules"]))
    return {
        "compilation of emep without cache [s]": compilation,
        "start of the program to the end of the first step, with cache [s]": start["first"],
        "the model's own memory [MiB]": memory["own"],
        "state [MiB]": memory["state"],
        "forcing [MiB]": memory["forcing"],
        "target: four state arrays and the forcing [MiB]": 4.0 * memory["array"] + memory["forcing"],
    }


def _answer(code: str, environment: dict[str, str], text: str = "") -> Any:
    """Run a program in another process with a text as standard input and an optional module cache; return its JSON."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", code]
    variables |= environment
    answer = subprocess.run(command, env=variables, input=text, capture_output=True, text=True, check=True)
    return json.loads(answer.stdout)
