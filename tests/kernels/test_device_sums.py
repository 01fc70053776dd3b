"""Exact sums on a device have the bits of those on the host, for any order of blocks of threads."""

from functools import cache

import numpy as np
import pytest

from airshed.core import exact_sum
from airshed.kernels.backends.cpu.kernel import ExactSums
from airshed.kernels.backends.cuda.cells import device_copy
from airshed.kernels.backends.cuda.device import Shim, compile_text, device_text
from airshed.kernels.backends.cuda.sums import TEXT, DeviceSums, device_sums

from .conftest import toy_on_a_device

SHAPES = [(1, 1), (64, 32), (65, 33), (3, 200, 70), (2, 3, 130, 5)]
"""(..., summand, column): ends of ranges of summands and of warps, and beyond."""


@cache
def sums_of(warps: int = 2, seed: int = 1) -> tuple[DeviceSums, ExactSums]:
    """Return the exact sums of a device and of the host."""
    functions = toy_on_a_device().functions
    return device_sums(functions, Shim(warps, seed)), ExactSums(functions)


def random_values(shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """Return numbers of both signs over eighty decades; a column of zeros, and one whose sum nearly cancels."""
    random = np.random.default_rng(seed)
    values = random.choice([-1.0, 1.0], shape) * 10.0 ** random.uniform(-40, 40, shape)
    values[..., 0] = 0.0 if shape[-1] > 1 else values[..., 0]
    half = shape[-2] // 2
    values[..., half : 2 * half, -1] = -values[..., :half, -1]
    return values


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sums_have_the_bits_of_the_host(shape: tuple[int, ...]) -> None:
    device, host = sums_of()
    values = device_copy(device.device, random_values(shape))
    greatest = host.magnitudes(values)
    assert device.magnitudes(values).tobytes() == greatest.tobytes() == exact_sum.magnitudes(values).tobytes()
    parts = device.parts(values, greatest)
    assert np.array_equal(parts, host.parts(values, greatest))
    assert np.array_equal(parts, exact_sum.parts(values, greatest))
    assert device.value(parts, greatest).tobytes() == host.value(parts, greatest).tobytes()


@pytest.mark.parametrize(("warps", "seed"), [(1, 1), (3, 7), (2, 77)])
def test_neither_the_size_nor_the_order_of_blocks_changes_them(warps: int, seed: int) -> None:
    device, host = sums_of(warps, seed)
    values = device_copy(device.device, random_values((500, 70)))
    total = host.total(values)
    assert device.total(values).tobytes() == total.tobytes()
    assert not np.array_equal(values.sum(axis=0), total), "the negative control: plain sums differ"


def test_a_second_batch_does_not_contain_the_first() -> None:
    device, host = sums_of()
    for seed in range(2):
        values = device_copy(device.device, random_values((3, 200, 70), seed))
        assert np.array_equal(device.magnitudes(values), host.magnitudes(values))
        greatest = 2.0 * host.magnitudes(values)  # of other ranks
        assert np.array_equal(device.parts(values, greatest), host.parts(values, greatest))


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_gives_nan(wrong: float) -> None:
    device, _ = sums_of()
    values = device_copy(device.device, random_values((100, 4)))
    values[70, 2] = wrong
    assert device.magnitudes(values)[2] == np.inf
    assert list(np.isnan(device.total(values))) == [False, False, True, False]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_largest_value_of_the_state_is_found(dtype: type) -> None:
    device, _ = sums_of()
    state = device_copy(device.device, np.random.default_rng(1).uniform(size=(3, 2, 5, 7, 32)).astype(dtype))
    assert device.largest(state) == state.max()
    state[2, 1, 3, 6, 31] = 1.5
    assert device.largest(state) == 1.5
    state[0, 0, 0, 0, 0] = np.nan
    assert device.largest(state) == np.inf


def test_arrays_that_a_kernel_cannot_read_are_summed_on_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    device, host = sums_of()
    values = random_values((100, 4))
    monkeypatch.setattr(DeviceSums, "_run", lambda *_: pytest.fail("started a kernel"))
    assert device.total(values).tobytes() == host.total(values).tobytes()
    assert device.magnitudes(np.zeros((0, 4))).tobytes() == bytes(32)
    with pytest.raises(pytest.fail.Exception, match="started a kernel"):
        device.total(device_copy(device.device, values))


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_the_kernel_compiles_for_a_gpu_without_spills(architecture: str) -> None:
    pytest.importorskip("cuda.bindings", reason="cuda-bindings is not installed")
    _, log = compile_text(device_text(TEXT), architecture, contract=False)
    assert "0 bytes spill stores" in log
    assert "0 bytes stack frame" in log
