"""Parts of the measurement: ``python -m validation.cuda.parts NAME [--tiny]``. Each prints its results as JSON.

A part raises SystemExit if results differ from those of the CPU or of the reference implementation.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, fields, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import numpy as np
from benchmarks.chemistry.problems import problem
from tests.builds import TOY
from tests.kernels.kinds import every, usual
from validation.cuda.chemistry import compare
from validation.cuda.roofline import predictions

import airshed
from airshed.core.arrays import Array
from airshed.kernels.backends.cpu.kernel import StepKernel
from airshed.kernels.backends.cpu.kernel import compile_mechanism as compile_for_cpu
from airshed.kernels.backends.cuda.cells import compile_chemistry
from airshed.kernels.backends.cuda.device import present_device
from airshed.kernels.backends.cuda.kernel import compile_mechanism
from airshed.kernels.step.trial import (
    Trial,
    compiled_step,
    difference,
    forcing,
    make_stepper,
    random_trial,
    reference_step,
    with_boundary,
)
from airshed.mechanism import load_mechanism
from airshed.mechanism.openatmos import has_musica
from airshed.models.air.budget import FAMILIES
from airshed.program.weights import two_step_weights
from airshed.runtime.registry import load_case

WEIGHTS: Final = two_step_weights(100.0, 100.0)
TOLERANCE: Final = {"double": 1e-12, "single": 1e-4}
CELLS_TOLERANCE: Final = {"double": 1e-6, "single": 1e-2}
"""For cells, whose steps depend on a difference of nearly equal numbers, the error estimate."""

REPEATS: Final = 7
Result = dict[str, Any]


@dataclass(frozen=True)
class Sizes:
    """Mechanism, numbers of levels, precisions, and the area of a measurement with its copies in both directions."""

    mechanism: str | Path
    levels: tuple[int, ...]
    precisions: tuple[str, ...]
    area: tuple[int, int]
    copies: int


FULL: Final = Sizes("emep", (18, 32), ("double", "single"), (64, 64), 8)
TINY: Final = Sizes(TOY, (7,), ("double",), (4, 32), 1)
"""Sizes for the shim; tests share this kernel."""


def facts(_: Sizes) -> Iterator[Result]:
    """Name the card, its driver and clocks, and the processor."""
    query = "name,driver_version,clocks.sm,clocks.max.sm,clocks.mem,memory.total,power.limit"
    answer = _output("nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader")
    found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    yield {
        "card": present_device(0).name, **dict(zip(query.split(","), answer.split(", "), strict=False)),
        "processor": found[1] if found else "unknown", "cores": os.cpu_count(), "numpy": np.__version__,
    }  # fmt: skip


def _output(*command: str) -> str:
    """Return the output of a program, empty if it is not installed."""
    if not shutil.which(command[0]):
        return ""
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


# ---- kernels of a step -----------------------------------------------------------------------------------------------


def kernel_of(place: str, mechanism: str | Path, levels: int, precision: str) -> StepKernel:
    """Return a step on the device or on a core of the CPU: EMEP with the usual operators, or a toy with all kinds."""
    network = load_mechanism(mechanism)
    chosen = compile_mechanism if place == "device" else compile_for_cpu
    families = tuple(element for element in FAMILIES if element in network.atoms)
    operators = every if mechanism == TOY else usual
    return chosen(network, levels, precision, families=families, operators=operators(len(network.species)))


def _compile(place: str, mechanism: str | Path, levels: int, precision: str) -> Result:
    began = time.perf_counter()
    if place == "cells":
        compile_chemistry(problem(str(mechanism), 1).network, precision)
    else:
        kernel_of(place, mechanism, levels, precision)
    return {"place": place, "mechanism": Path(mechanism).stem, "levels": levels, "precision": precision,
            "seconds": round(time.perf_counter() - began, 1)}  # fmt: skip


def compile(sizes: Sizes) -> Iterator[Result]:
    """Compile all steps and cells of the other parts at once, into the cache of kernels."""
    kernels = [("device", TOY, 7, precision) for precision in sizes.precisions]
    kernels += [
        (place, sizes.mechanism, levels, precision)
        for place in ("device", "core") for levels in sizes.levels for precision in sizes.precisions
    ]  # fmt: skip
    kernels += [("cells", name, 0, precision) for name, *_ in _cases(sizes) for precision in sizes.precisions]
    wanted = list(dict.fromkeys(kernels))
    with ProcessPoolExecutor(min(len(wanted), os.cpu_count() or 1), get_context("spawn")) as pool:
        yield from pool.map(_compile, *zip(*wanted, strict=True))


def parity(sizes: Sizes) -> Iterator[Result]:
    """Compare steps with the reference implementation: all kinds of operators, and EMEP."""
    for precision in sizes.precisions:
        kernel = kernel_of("device", TOY, 7, precision)
        for shape in ((1, 1), (2, 5), (3, 70)):
            for cells in (0, 1, 2):
                yield _difference(kernel, precision, shape, cells)
        for levels in sizes.levels:
            yield _difference(kernel_of("device", sizes.mechanism, levels, precision), precision, (2, 33))


def small(_: Sizes) -> Iterator[Result]:
    """Compare one step of all kinds of operators with the reference: a short program for the sanitizer."""
    yield _difference(kernel_of("device", TOY, 7, "double"), "double", (2, 33), 2)


def _difference(kernel: StepKernel, precision: str, shape: tuple[int, int], cells: int = 0) -> Result:
    """Return the difference of a step from its reference; `cells` beyond the faces have own concentrations."""
    trial = random_trial(kernel, shape, WEIGHTS, sweeps=2)
    given = with_boundary(trial, 1, cells) if cells else trial
    found = difference(compiled_step(kernel, given), reference_step(given), WEIGHTS.g)
    assert_small(found, TOLERANCE[precision])
    return {"species": len(kernel.network.species), "levels": kernel.shape.levels, "precision": precision,
            "shape": shape, "cells beyond": cells, "difference": found}  # fmt: skip


def assert_small(found: float, limit: float) -> None:
    """Raise SystemExit for a difference that is not below its limit, or not a number."""
    if not found < limit:
        raise SystemExit(f"results differ by {found:.1e}, more than {limit:.1e}")


# ---- time of a step --------------------------------------------------------------------------------------------------


def step(sizes: Sizes) -> Iterator[Result]:
    """Measure whole steps of 512 x 512 x 32 cells on the device, and of 64 x 64 x 32 cells on a core of the CPU."""
    for precision in sizes.precisions:
        found = {}
        for place, copies in (("device", sizes.copies), ("core", 1)):
            kernel = kernel_of(place, sizes.mechanism, sizes.levels[-1], precision)
            trial = tiled(random_trial(kernel, sizes.area, WEIGHTS, sweeps=2), copies)
            found[place] = _nanoseconds(kernel, trial)
            species, emitting = trial.columns[0].emission.shape[:2]
            expected = predictions(kernel, present_device(0).name, species * emitting / kernel.shape.levels)
            yield {"place": place, "precision": precision, "cells": trial.fields.air.size,
                   "ns per cell": found[place], **({"predicted": expected} if place == "device" else {})}  # fmt: skip
        yield {"precision": precision, "ratio": found["core"]["median"] / found["device"]["median"]}


def tiled(trial: Trial, across: int) -> Trial:
    """Return a trial of an area of `across` x `across` copies of that of another one, side by side."""
    if across == 1:
        return trial
    rows, columns = trial.fields.air.shape[-2:]

    def copies(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: copies(each) for name, each in value.items()}
        if not isinstance(value, np.ndarray):
            return replace(value, **{each.name: copies(getattr(value, each.name)) for each in fields(value)})
        inside = np.tile(value[..., :rows, :columns], (*[1] * (value.ndim - 2), across, across))
        extra = [(0, value.shape[-2] - rows), (0, value.shape[-1] - columns)]
        return np.pad(inside, [(0, 0)] * (value.ndim - 2) + extra, mode="wrap") if any(map(sum, extra)) else inside

    def pair(ends: tuple[Any, Any]) -> tuple[Any, Any]:
        return copies(ends[0]), copies(ends[1])

    factor = np.tile(trial.setup.density_factor, (1, across, across if trial.setup.density_factor.shape[2] > 1 else 1))
    return replace(
        trial, setup=replace(trial.setup, density_factor=factor), fields=copies(trial.fields),
        air_fluxes=pair(trial.air_fluxes), columns=pair(trial.columns), explicit=pair(trial.explicit),
    )  # fmt: skip


def _nanoseconds(kernel: StepKernel, trial: Trial) -> dict[str, float]:
    """Return median and range of the time of a step, in ns per cell; the first two steps are not counted."""
    stepper = make_stepper(kernel, trial)
    given = WEIGHTS, *forcing(trial, stepper.layout)
    times = []
    for _ in range(REPEATS + 2):
        began = time.perf_counter()
        stepper.step(*given)
        times.append((time.perf_counter() - began) * 1e9 / trial.fields.air.size)
    stepper.close()
    return {"median": statistics.median(times[2:]), "least": min(times[2:]), "most": max(times[2:])}


def _cases(sizes: Sizes) -> list[tuple[str, int, int]]:
    """Return mechanisms with their numbers of cells and intervals."""
    if sizes == TINY:
        return [("emep", 70, 2)]
    return [("emep", 262_144, 4), *([("ts1", 10_000, 30)] if has_musica() else [])]


def chemistry(sizes: Sizes) -> Iterator[Result]:
    """Integrate cells by ROS3 over intervals of 30 s on the device and on a core of the CPU."""
    if not has_musica():
        yield {"mechanism": "ts1", "skipped": "musica is not installed"}
    for precision in sizes.precisions:
        for name, count, intervals in _cases(sizes):
            found = compare(name, count, intervals, precision)
            yield found
            assert_small(found["difference"], CELLS_TOLERANCE[precision])


# ---- whole runs ------------------------------------------------------------------------------------------------------


def day(sizes: Sizes) -> Iterator[Result]:
    """Run a day of west-europe on the device, a second time after compilation, and on all cores of the CPU."""
    few = ("grid.spacing=2 deg", "time.length=20 min") if sizes == TINY else ()
    found, ozone = {}, {}
    for device in ("cuda", "cuda", "cpu"):
        case = load_case("west-europe", [f"run.device={device}", "time.spinup=0 h", *few])
        with airshed.Simulation(case) as simulation:
            began = time.perf_counter()
            simulation.run()
            found[device] = time.perf_counter() - began
            ozone[device] = np.array(simulation["O3"].values)
        yield {"device": device, "seconds": found[device]}
    apart = _largest(ozone["cuda"], ozone["cpu"])
    yield {"difference of O3": apart, "ratio": found["cpu"] / found["cuda"]}
    assert_small(apart, 1e-6)


def _largest(found: Array, expected: Array) -> float:
    return float(np.abs(found - expected).max() / np.abs(expected).max())


PARTS: Final[dict[str, Callable[[Sizes], Iterator[Result]]]] = {
    each.__name__: each for each in (facts, compile, parity, small, step, chemistry, day)
}


def main() -> None:
    """Run the part that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--tiny", action="store_true", help="sizes for the shim")
    options = parser.parse_args()
    for result in PARTS[options.part](TINY if options.tiny else FULL):
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
