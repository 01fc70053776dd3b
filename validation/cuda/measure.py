"""Build the kernels, compare them with the reference, and measure them.

python -m validation.cuda.measure --out DIR          on a GPU: one JSON and one log
python -m validation.cuda.measure --out DIR --shim   the same at a tiny size on the CPU, for parity only
"""

import argparse
import json
import os
import platform
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final, TextIO

import numpy as np
from validation.cuda import cells, problem
from validation.cuda.device import (
    Gpu,
    Launch,
    Memory,
    Shim,
    arguments,
    compile_cubin,
    median_and_spread,
    processor_model,
)
from validation.cuda.source import Mechanism, mechanism, source
from validation.cuda.variants import Variant, variants

LIMIT: Final = 330.0
"""Seconds after which no further variant is started."""

HARD_LIMIT: Final = 400
"""Seconds after which a run is ended."""

REPEATS: Final = 7
LARGE: Final = (64, 64)
"""Rows and columns of the area that is copied side by side for measurements."""

KERNELS: Final = ("air_step", "prepare", "transport", "solve")
TOLERANCE: Final[Mapping[str, float]] = {"double": 1e-12, "float": 1e-4}


@dataclass
class Study:
    """Results of a run so far, written after each result."""

    out: Path
    device: Any
    parts: Mechanism
    levels: int
    began: float = field(default_factory=time.perf_counter)
    results: dict[str, Any] = field(default_factory=dict)
    log: TextIO = sys.stdout

    @property
    def elapsed(self) -> float:
        """Return the seconds since the start of the run."""
        return time.perf_counter() - self.began

    def say(self, text: str) -> None:
        """Write a line to the log and to the terminal."""
        line = f"{self.elapsed:6.1f} s  {text}"
        print(line, flush=True)
        print(line, file=self.log, flush=True)

    def add(self, key: str, value: Any) -> None:
        """Add a result, and write all results."""
        self.results.setdefault(key, []).append(value)
        (self.out / "cuda.json").write_text(json.dumps(self.results, indent=1))


class State:
    """Arrays of a step on a device, of an area `across` times that of its inputs in both directions."""

    def __init__(self, study: Study, module: Any, variant: Variant, inputs: problem.Inputs, across: int = 1) -> None:
        self.study, self.module, self.variant, self.device, self.across = study, module, variant, study.device, across
        self.small = (int(inputs.numbers["nx"]), int(inputs.numbers["ny"]))
        self.nx, self.ny = self.small[0] * across, self.small[1] * across
        self.layout = problem.Layout(variant.levels_fastest, variant.block, variant.dtype)
        self.values: dict[str, Any] = {**inputs.numbers, "nx": self.nx, "ny": self.ny}
        for name, array in inputs.arrays.items():
            self.values[name] = self._placed(name, array)
        size, species, parts = (variant.levels, self.ny, self.nx), len(study.parts.network.species), study.parts
        empty = {
            "rhs": (species, *size), "air_next": size, "weights": (4, *size), "density": size, "above": size,
            "below": size, "rate": (max(parts.rates, 1), *size), "photolysis": (max(parts.photolyses, 1), *size[1:]),
        }  # fmt: skip
        for name, shape in empty.items():
            if name not in self.values:
                self.values[name] = self._empty(name, shape)

    def _empty(self, name: str, shape: Sequence[int]) -> Memory:
        return self.device.empty(self.layout.shape(name, shape), self.variant.dtype)

    def _placed(self, name: str, array: np.ndarray) -> Memory:
        """Return an input on the device, copied side by side for a larger area."""
        across, pack = self.across, self.layout.pack
        if across == 1 or name in ("outside", "top", "vertical"):
            return self.device.upload(pack(name, array))
        nx, ny = self.small
        inside = array[..., :ny, :nx]
        if array.ndim < 4:
            whole = np.tile(inside, (*[1] * (array.ndim - 2), across, across))
            pad = [(0, 0)] * (array.ndim - 2) + [(0, array.shape[-2] - ny), (0, array.shape[-1] - nx)]
            return self.device.upload(pack(name, np.pad(whole, pad, mode="wrap")))
        small = self.device.upload(pack(name, inside))
        large = self._empty(name, (len(array), self.variant.levels, self.ny, self.nx))
        size, block = int(np.prod(large.shape)), self.layout.block
        inner = self.variant.levels if self.layout.levels_fastest else 1
        if block:
            inner = len(array) * self.variant.levels * block
        plane = self.nx * self.ny // max(block, 1)
        step = arguments({
            "q": small, "other": large, "nx": nx // max(block, 1), "ny": ny, "across": across, "inner": inner,
            "outer": size // inner // plane,
        })  # fmt: skip
        self.device.run(self.module, Launch("replicate", (-(-size // 256), 1, 1), (256, 1, 1)), step)
        self.device.free(small)
        return large

    def launch(self, kernel: str) -> Launch:
        """Return the launch of a kernel."""
        if kernel == "transport":
            return self.variant.transport(self.nx, self.ny)
        if kernel == "solve":
            return self.variant.solve(self.nx, self.ny, len(self.study.parts.network.species))
        threads = 128 if kernel == "prepare" else 256
        return Launch(kernel, (-(-self.nx * self.ny * self.variant.levels // threads), 1, 1), (threads, 1, 1))

    def run(self, *kernels: str) -> None:
        """Run kernels."""
        step = arguments(self.values)
        for kernel in kernels:
            self.device.run(self.module, self.launch(kernel), step)

    def array(self, name: str) -> np.ndarray:
        """Return an array with its axes in the order (.., level, lat, lon)."""
        return self.layout.unpack(name, self.device.download(self.values[name]))

    def free(self) -> None:
        """Release all arrays."""
        for value in self.values.values():
            if isinstance(value, Memory):
                self.device.free(value)


def parity(study: Study, module: Any, variant: Variant, given: Any, expected: Any) -> dict[str, float]:
    """Run a whole step on a small area; return the differences from the reference."""
    state = State(study, module, variant, problem.Inputs.of(given))
    state.run(*KERNELS)
    found = {
        "air": problem.difference(state.array("air_next"), expected.air),
        "tendency": problem.difference(state.array("tendency"), expected.tendency),
        "q": problem.difference(state.array("other"), expected.q),
    }
    state.free()
    return found


def timings(study: Study, module: Any, variant: Variant, inputs: problem.Inputs, across: int) -> dict[str, Any]:
    """Measure the kernels of a step on a large area, each by itself and all in sequence."""
    large = State(study, module, variant, inputs, across)
    count, found = large.nx * large.ny * variant.levels, {}
    large.run("air_step")
    for name, kernels in {**{each: (each,) for each in KERNELS}, "all": KERNELS}.items():
        seconds, spread = median_and_spread(study.device.seconds(lambda kernels=kernels: large.run(*kernels), REPEATS))
        found[name] = {"seconds": seconds, "spread": spread, "ns per cell": 1e9 * seconds / count}
        if name != "all":
            found[name] |= study.device.attributes(module, large.launch(name))
    found["finite"] = bool(np.isfinite(_sample(study, large)).all())
    large.free()
    return found


def _sample(study: Study, state: State) -> np.ndarray:
    """Return a few thousand mixing ratios of the last species."""
    whole, size = state.values["other"], 4096
    first = int(np.prod(whole.shape[1:])) * (whole.shape[0] - 1) * whole.dtype.itemsize
    return study.device.download(Memory(whole.address + first, (size,), whole.dtype))


def triad(study: Study, module: Any, real: str, count: int = 2**28) -> dict[str, float]:
    """Measure the bandwidth of memory: two arrays read and one written."""
    dtype = {"double": np.float64, "float": np.float32}[real]
    arrays = {name: study.device.empty((count,), dtype) for name in ("q", "rhs", "other")}
    launch, step = Launch("triad", (count // 256, 1, 1), (256, 1, 1)), arguments(arrays)
    seconds, spread = median_and_spread(study.device.seconds(lambda: study.device.run(module, launch, step), REPEATS))
    for each in arrays.values():
        study.device.free(each)
    return {"bytes per second": 3 * count * np.dtype(dtype).itemsize / seconds, "spread": spread}


def processor(network: Any, levels: int, precision: str, steps: int = 8) -> dict[str, float]:
    """Measure Airshed's kernel of the same step on one core: ns per cell of each part."""
    from airshed.kernels.backends.cpu.kernel import compile_mechanism
    from airshed.kernels.step.trial import forcing, make_stepper

    kernel = compile_mechanism(network, levels, precision, operators=problem.OPERATORS)
    given = problem.trial(network, levels, (32, 64), smooth=True)
    stepper = make_stepper(kernel, given)
    ready = given.weights, *forcing(given, stepper.layout)
    before, each = dict.fromkeys(stepper.seconds, 0.0), []
    for _ in range(steps):
        stepper.step(*ready)
        each.append({part: seconds - before[part] for part, seconds in stepper.seconds.items()})
        before = dict(stepper.seconds)
    stepper.close()
    count = levels * 32 * 64
    return {part: 1e9 * float(np.median([one[part] for one in each[1:]])) / count for part in before}


def measure(study: Study, chosen: Sequence[Variant], area: tuple[int, int], across: int) -> None:
    """Run all variants until the time limit."""
    network, device = study.parts.network, study.device
    study.add("facts", facts(study))
    study.say(json.dumps(study.results["facts"][0]))
    rough = problem.trial(network, study.levels, area, smooth=False)
    expected = problem.reference(rough)
    inputs = problem.Inputs.of(problem.trial(network, study.levels, LARGE, smooth=True))
    parts = {each.group: mechanism(network, each.group) for each in chosen}
    texts = [source(parts[each.group], each.options, shim=not device.is_gpu) for each in chosen]
    study.say("reference computed")
    with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as pool:
        cubins = [pool.submit(compile_cubin, text) for text in texts] if device.is_gpu else []
        for number, variant in enumerate(chosen):
            if study.elapsed > LIMIT:
                study.say("out of time")
                break
            try:
                module = device.load(cubins[number].result()) if device.is_gpu else device.build(texts[number])
                if device.is_gpu and variant.real not in study.results:
                    study.add(variant.real, triad(study, module, variant.real))
                    study.say(f"triad, {variant.real}: {study.results[variant.real]}")
                result = one_variant(study, module, variant, rough, expected, inputs, across)
            except RuntimeError as error:
                result = {**variant.options, "names": variant.names, "error": str(error)}
            study.add("variants", result)
            study.say(json.dumps(result))
        for pending in cubins:
            pending.cancel()


def one_variant(
    study: Study, module: Any, variant: Variant, rough: Any, expected: Any, inputs: problem.Inputs, across: int
) -> dict[str, Any]:
    """Return the differences of a variant from the reference and, on a large area, its times."""
    differences = parity(study, module, variant, rough, expected)
    agrees = max(differences.values()) <= TOLERANCE[variant.real]
    result = {**variant.options, "names": variant.names, "parity": differences, "agrees": agrees}
    return result | (timings(study, module, variant, inputs, across) if across > 1 else {})


def measure_cells(study: Study, chosen: Sequence[tuple[str, int, int, int]]) -> None:
    """Run the Rosenbrock kernel for the chosen number types, cells, threads of a block, and threads in total."""
    given = cells.prepare(study.parts.network)
    for real, count, threads, slots in chosen:
        module = study.device.build(cells.cell_source(given.network, real, threads, shim=not study.device.is_gpu))
        dtype = {"double": np.float64, "float": np.float32}[real]
        found = cells.run_cells(study.device, module, given, dtype, count, threads, slots, REPEATS)
        study.add("cells", {"real": real, "cells": count, "threads": threads, **found})
        study.say(json.dumps(study.results["cells"][-1]))
    if study.device.is_gpu:
        for precision in ("double", "single"):
            study.add("processor cells", {"precision": precision, "ns": cells.processor_cells(given, precision)})
            study.say(json.dumps(study.results["processor cells"][-1]))


def facts(study: Study) -> dict[str, Any]:
    """Return the machine, the date and the size of the mechanism."""
    parts = study.parts
    return {
        **study.device.facts(), "processor": processor_model(), "python": platform.python_version(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"), "species": len(parts.network.species),
        "levels": study.levels, "rate functions": parts.rates, "loads of a sweep": parts.loads,
        "operations of a sweep": parts.operations,
    }  # fmt: skip


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--shim", action="store_true")
    parser.add_argument("--mechanism", default="emep")
    parser.add_argument("--across", type=int, default=8, help="copies of the area in both directions")
    parser.add_argument("--only", type=int, nargs="*", help="numbers of variants")
    options = parser.parse_args()
    signal.alarm(HARD_LIMIT)
    options.out.mkdir(parents=True, exist_ok=True)
    network = problem.load(options.mechanism)
    with open(options.out / "cuda.log", "w") as log:
        study = Study(options.out, Shim() if options.shim else Gpu(), mechanism(network), 32, log=log)
        chosen = [each for number, each in enumerate(variants(32)) if options.only is None or number in options.only]
        if options.shim:  # shuffles are slow in the shim
            for levels_fastest, area in ((False, (8, 64)), (True, (8, 16))):
                measure(study, [each for each in chosen if each.levels_fastest is levels_fastest], area, 1)
            return
        for precision in ("double", "single"):
            for _ in range(2):
                study.add("processor", {"precision": precision, "ns per cell": processor(network, 32, precision)})
                study.say(json.dumps(study.results["processor"][-1]))
        measure(study, chosen, (8, 64), options.across)
        slots = [study.results["facts"][0]["multiprocessors"] * each for each in (64, 256, 1024)]
        large = [(real, 2**18, 64, each) for real in ("double", "float") for each in slots]
        measure_cells(study, [*large, ("double", 10240, 32, slots[-1])])


if __name__ == "__main__":
    main()
