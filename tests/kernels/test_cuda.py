"""A step of the CUDA backend through the shim: its reference, the same bits in any order, and detected errors."""

import ctypes
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields

import numpy as np
import pytest

from airshed.core.errors import KernelError
from airshed.kernels.backends.cpu.kernel import LARGEST_GROUP, StepKernel, StepPlan
from airshed.kernels.backends.cuda import kernel as cuda_kernel
from airshed.kernels.backends.cuda.device import WARP, Shim, compile_text, device_text
from airshed.kernels.backends.cuda.kernel import LaunchQueue, columns_text, transport_text
from airshed.kernels.backends.cuda.memory import foreign_members
from airshed.kernels.host import address
from airshed.kernels.step.reference import StepResult
from airshed.kernels.step.trial import (
    compiled_step,
    difference,
    forcing,
    make_stepper,
    random_trial,
    reference_step,
    with_boundary,
)
from airshed.program.weights import two_step_weights

from .conftest import network, shim_controls, toy_on_a_device
from .kinds import every

SHAPES = [(1, 1), (2, 5), (1, 33), (2, 64), (3, 70)]
"""Rows x columns: one column in the last warp, full warps, and in between."""

SECOND = two_step_weights(130.0, 100.0)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_step_of_all_operators_equals_its_reference(shape: tuple[int, int]) -> None:
    kernel = toy_on_a_device()
    for seed, weights in enumerate((two_step_weights(100.0, None), SECOND)):
        trial = random_trial(kernel, shape, weights, seed=seed, sweeps=1 + seed)
        for given in (trial, with_boundary(trial, seed), with_boundary(trial, seed, 2)):
            assert difference(compiled_step(kernel, given), reference_step(given), weights.g) < 1e-13


@pytest.mark.thorough
@pytest.mark.parametrize("levels", [1, 2, 31, 32, 33])
def test_a_step_of_any_number_of_levels_equals_its_reference(levels: int) -> None:
    compare(toy_on_a_device(levels=levels))


@pytest.mark.thorough
def test_a_step_of_a_mechanism_too_large_for_shared_memory_equals_its_reference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cuda_kernel, "_MOST_SHARED", 2 * 7 * 8)  # two species in seven levels
    compare(toy_on_a_device())


@pytest.mark.parametrize("levels", [1, 7, 100, 385, 1000])
def test_a_block_of_four_columns_fits_into_shared_memory(levels: int) -> None:
    """Cards have at least 99 kB."""
    plan = plan_of_toy("double", levels)
    assert levels * cuda_kernel._tile(plan) <= cuda_kernel._span(plan)
    assert 4 * 8 * cuda_kernel._span(plan) <= 99 * 1024


def compare(kernel: StepKernel) -> None:
    trial = with_boundary(random_trial(kernel, (2, 37), SECOND, sweeps=2), 1)
    assert difference(compiled_step(kernel, trial), reference_step(trial), SECOND.g) < 1e-13


def same_bits(a: StepResult, b: StepResult) -> bool:
    pairs = [(getattr(a.fields, each.name), getattr(b.fields, each.name)) for each in fields(a.fields)]
    return all(
        one.tobytes() == other.tobytes() for one, other in [*pairs, (a.sums, b.sums), (a.imbalance, b.imbalance)]
    )


@pytest.mark.parametrize(("warps", "seed"), [(1, 1), (8, 1), (2, 77)])
def test_neither_the_size_nor_the_order_of_blocks_changes_bits(warps: int, seed: int) -> None:
    usual, other = toy_on_a_device(), toy_on_a_device(warps, seed)
    trial = random_trial(usual, (3, 70), SECOND, seed=5, sweeps=2)
    assert same_bits(compiled_step(other, trial), compiled_step(usual, trial))


def test_an_interrupted_step_leaves_no_state_to_continue_from(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = toy_on_a_device()
    trial = random_trial(kernel, (1, 3), SECOND)
    stepper = make_stepper(kernel, trial)
    given = trial.weights, *forcing(trial, stepper.layout)
    stepper.step(*given)

    def interrupted(self: Shim) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Shim, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        stepper.step(*given)
    monkeypatch.undo()
    with pytest.raises(KernelError, match="its state is invalid"):
        stepper.step(*given)


def test_a_device_has_allocated_all_arrays_of_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, found = toy_on_a_device(), list[list[str]]()
    usual = LaunchQueue.work

    def work(queue: LaunchQueue, count: int, between: Callable[[], None] | None = None) -> None:
        steps = queue._table._steps
        changed = type(steps[0]).from_buffer_copy(steps[0])
        changed.q = changed.temperature.start = np.zeros(1).ctypes.data
        found.extend(foreign_members(each, queue._device.memory) for each in (*steps, changed))
        usual(queue, count, between)

    monkeypatch.setattr(LaunchQueue, "work", work)
    compiled_step(kernel, random_trial(kernel, (2, 33), SECOND))
    *steps, changed = found
    assert not any(steps)
    assert changed == ["q", "temperature.start"]


@pytest.mark.parametrize("place", [-1, 100])
def test_the_shim_reports_a_store_beyond_an_array(place: int) -> None:
    device = Shim()
    array = device.memory.zeros(100)
    ctypes.memset(address(array), 7, 100)
    device.wait()
    ctypes.memset(address(array) + place, 7, 1)
    with pytest.raises(KernelError, match="beyond an array"):
        device.wait()


def test_the_shim_exchanges_values_between_threads() -> None:
    assert np.array_equal(run_control("exchange"), (np.arange(64) // 32) * 32 + (np.arange(64) + 1) % 32)


def test_the_threads_of_the_shim_wait_at_a_barrier() -> None:
    neighbour = np.arange(64) + (np.arange(64) % 32 < 31)
    assert np.array_equal(run_control("barrier"), 63 - neighbour)


@pytest.mark.parametrize("name", ["unset", "unset_shared"])
def test_the_shim_fills_unset_memory_with_nan(name: str) -> None:
    assert np.isnan(run_control(name)).all()


FAULTS = {
    "divergent": "do not exchange together",
    "no_barrier": "ends before a barrier",
    "beyond_shared": "stores beyond shared memory",
}
"""Small kernels with a fault, and the message of the shim."""


@pytest.mark.parametrize(("name", "message"), FAULTS.items(), ids=str)
def test_the_shim_ends_a_program_with_a_fault(name: str, message: str) -> None:
    code = f"from tests.kernels.test_cuda import run_control; run_control({name!r})"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode < 0
    assert message in ended.stderr


def run_control(name: str) -> np.ndarray:
    """Run a small kernel with two warps; return the value of each thread."""
    found = np.zeros(64)
    getattr(shim_controls(), f"launch_{name}")(ctypes.byref(ctypes.c_void_p(found.ctypes.data)))
    return found


MOST_SPILLED = {"transport": 128, "columns": 0}
"""Bytes of registers that a thread may spill; transport does so only in blocks at the edge of the area."""


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("part", MOST_SPILLED)
def test_a_step_compiles_for_a_gpu(part: str, precision: str, architecture: str) -> None:
    pytest.importorskip("cuda.bindings", reason="cuda-bindings is not installed")
    text = {"transport": transport_text, "columns": columns_text}[part](plan_of_toy(precision))
    code, log = compile_text(device_text(text), architecture)
    assert code.startswith(b"\x7fELF")
    assert spilled(log) <= MOST_SPILLED[part], log


def test_a_text_that_does_not_compile_for_a_gpu_is_reported() -> None:
    pytest.importorskip("cuda.bindings", reason="cuda-bindings is not installed")
    with pytest.raises(KernelError, match="no_such_function"):
        compile_text('extern "C" __global__ void airshed_step() { no_such_function(); }', "sm_90")


def test_spilled_bytes_are_read_from_the_messages_of_the_compiler() -> None:
    assert spilled("ptxas info: 4288 bytes stack frame, 2420 bytes spill stores, 2684 bytes spill loads") == 2684


def spilled(log: str) -> int:
    """Return the most bytes that a function spills or reloads."""
    return max(map(int, re.findall(r"(\d+) bytes spill", log)))


def plan_of_toy(precision: str, levels: int = 7) -> StepPlan:
    """Return the plan of the step of the toy mechanism with all kinds of operators, for a device."""
    found = network("toy")
    return StepPlan.of(
        found, levels, precision, families=found.atoms, directions="all", operators=every(len(found.species)),
        tuning=(WARP, LARGEST_GROUP),
    )  # fmt: skip
