"""A whole step of the CUDA backend: parity with the reference, and its time with that of one core of the CPU.

    python -m validation.cuda.whole_step --out DIR              on a GPU
    AIRSHED_CUDA_SHIM=1 python -m validation.cuda.whole_step --out DIR --tiny     the same through the shim

The benchmark advances EMEP in 32 levels over 256 x 512 columns of random air, with wind, mixing, emission and
deposition. It writes `whole_step.json`, and starts no part after its time limit.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from validation.cuda.device import processor_model

from airshed.core.atomic import write_whole
from airshed.formula import trace
from airshed.kernels.backends.cpu.kernel import StepKernel
from airshed.kernels.backends.cpu.kernel import compile_mechanism as compile_for_cpu
from airshed.kernels.backends.cuda.device import present_device
from airshed.kernels.backends.cuda.kernel import compile_mechanism
from airshed.kernels.operators import ADVECTION, Operator, OperatorField
from airshed.kernels.step.trial import compiled_step, difference, forcing, make_stepper, random_trial, reference_step
from airshed.mechanism import load_mechanism
from airshed.program.weights import two_step_weights

TIME_LIMIT: Final = 300.0
REPEATS: Final = 7
WEIGHTS: Final = two_step_weights(100.0, 100.0)
TOLERANCE: Final = {"double": 1e-12, "single": 1e-4}


def operators(species: int) -> tuple[Operator, ...]:
    """Return wind, mixing, and deposition of every third species."""
    mixing = Operator(
        "mixing", "exchange", trace(lambda exchange: exchange).outputs, fields=(OperatorField("exchange"),)
    )
    deposition = Operator(
        "dry_deposition", "loss", trace(lambda deposition, air: deposition / air).outputs, tuple(range(0, species, 3)),
        (OperatorField("deposition", "ground", species=True),), ground=True, term="deposited",
    )  # fmt: skip
    return ADVECTION, mixing, deposition


def kernels(levels: int, precision: str) -> dict[str, Callable[[], StepKernel]]:
    """Return functions that compile the step for both processors."""
    network = load_mechanism("emep")
    found = operators(len(network.species))
    return {
        "device": lambda: compile_mechanism(network, levels, precision, operators=found),
        "core": lambda: compile_for_cpu(network, levels, precision, operators=found),
    }


def parity(kernel: StepKernel, precision: str) -> float:
    """Return the largest difference of a step from the reference; raise SystemExit if it is too large."""
    trial = random_trial(kernel, (5, 70), WEIGHTS, sweeps=2)
    found = difference(compiled_step(kernel, trial), reference_step(trial), WEIGHTS.g)
    if not found < TOLERANCE[precision]:
        raise SystemExit(f"a step differs from its reference by {found:.1e}")
    return found


def seconds_per_cell(kernel: StepKernel, area: tuple[int, int], repeats: int) -> dict[str, float]:
    """Return median and range of the time of a step, in ns per cell; the first step is not counted."""
    trial = random_trial(kernel, area, WEIGHTS, sweeps=2)
    stepper = make_stepper(kernel, trial)
    given = WEIGHTS, *forcing(trial, stepper.layout)
    times = []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        stepper.step(*given)
        times.append((time.perf_counter() - began) * 1e9 / (area[0] * area[1] * kernel.shape.levels))
    stepper.close()
    return {"median": statistics.median(times[1:]), "least": min(times[1:]), "most": max(times[1:])}


def measure(out: Path, *, tiny: bool) -> dict[str, Any]:
    """Run all parts that fit into the time limit; write the results after each."""
    began = time.perf_counter()
    results: dict[str, Any] = {
        "device": present_device().card, "processor": processor_model(), "time": datetime.now(UTC).isoformat(),
        "tiny": tiny, "parts": [],
    }  # fmt: skip
    levels, large, small = (2, (4, 33), (4, 33)) if tiny else (32, (256, 512), (64, 64))
    for precision in ("double", "single"):
        for place, compiled in kernels(levels, precision).items():
            if time.perf_counter() - began > TIME_LIMIT:
                continue
            started = time.perf_counter()
            kernel = compiled()
            part = {"place": place, "precision": precision, "compile [s]": time.perf_counter() - started}
            part["difference"] = parity(kernel, precision)
            area = large if place == "device" else small
            part |= {
                "area": area,
                "levels": levels,
                "ns per cell": seconds_per_cell(kernel, area, 1 if tiny else REPEATS),
            }
            results["parts"].append(part)
            print(json.dumps(part), flush=True)
            with write_whole(out / "whole_step.json") as file:
                file.write_text(json.dumps(results, indent=1))
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path())
    parser.add_argument("--tiny", action="store_true", help="a few columns in two levels, for the shim")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    measure(given.out, tiny=given.tiny)
