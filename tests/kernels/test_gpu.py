"""The class of a GPU against a stand-in for the driver: memory, threads, streams, errors, and a whole step."""

import ctypes
import gc
import threading
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from airshed.core.errors import KernelError
from airshed.kernels import abi
from airshed.kernels.backends.cuda import gpu as module
from airshed.kernels.backends.cuda.device import Kernel
from airshed.kernels.backends.cuda.gpu import Gpu, block_of, rows_of, visible_gpus
from airshed.kernels.backends.cuda.kernel import compile_mechanism
from airshed.kernels.backends.cuda.memory import ShimMemory
from airshed.kernels.host import HOST, Memory, address
from airshed.kernels.layout import Layout, PackedView
from airshed.kernels.operators import members
from airshed.kernels.step.reference import Fields
from airshed.kernels.step.trial import compiled_step, random_trial
from airshed.program.weights import two_step_weights

from .conftest import network, toy_on_a_device
from .fake_driver import (
    CUDA_MEMCPY2D,
    ENUMS,
    OK,
    SECOND,
    CUmemLocation,
    CUresult,
    FakeDriver,
    FakeDriver12,
    run_by_shim,
)
from .kinds import every
from .test_cuda import same_bits


@pytest.fixture(params=[FakeDriver, FakeDriver12], ids=["CUDA 13", "CUDA 12"])
def driver(request: pytest.FixtureRequest) -> FakeDriver:
    made: FakeDriver = request.param()
    return made


@pytest.fixture
def card(driver: FakeDriver) -> Gpu:
    return Gpu(bindings=driver)


def kernel_of(card: Gpu, driver: FakeDriver, function: Kernel, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """Return a function of Python as a kernel of the GPU."""
    monkeypatch.setattr(module, "machine_code", lambda *_, **__: driver.compile(function))
    return card.compile("", kernel="airshed_test", name="test", contract=True)


def add_one(argument: int, warps: int) -> None:
    """Add one to the number at an address."""
    ctypes.c_double.from_address(argument).value += 1.0


# ---- memory ----


def test_memory_is_zeroed_and_freed_with_the_last_array(card: Gpu, driver: FakeDriver) -> None:
    memory = card.memory.zeros(1000)
    assert not memory.any()
    part = memory[104:].view(np.float64)[3:]
    assert list(driver.blocks.values()) == [1000]
    del memory
    gc.collect()
    assert len(driver.blocks) == 1, "a view holds the block"
    del part
    gc.collect()
    assert driver.blocks == {}
    assert len(driver.named("cuMemFree")) == 1


def test_more_memory_than_the_gpu_has_is_refused() -> None:
    memory = Gpu(bindings=FakeDriver(free=3000)).memory
    kept = memory.zeros(2000)
    with pytest.raises(KernelError, match=r"more than 4e-06 GB of the 3e-06 GB .+: take fewer cells"):
        memory.zeros(2000)
    del kept
    gc.collect()
    assert memory.zeros(2000).size == 2000


def test_memory_is_made_prefetched_read_and_freed_on_any_thread(card: Gpu, driver: FakeDriver) -> None:
    errors: list[BaseException] = []

    def work() -> None:
        try:
            array = card.memory.zeros(800).view(np.float64)
            array[...] = 2.0
            card.memory.prefetch([array], constant=False)
            assert card.memory.fetch(array).sum() == 200.0
            card.wait()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    gc.collect()
    assert errors == []
    assert driver.blocks == {}


def test_the_stand_in_notices_a_thread_without_a_context(card: Gpu, driver: FakeDriver) -> None:
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(driver.cuMemAllocManaged(8, 1)))
    thread.start()
    thread.join()
    assert found == [(CUresult.CUDA_ERROR_INVALID_CONTEXT, None)]


def test_the_stand_in_notices_memory_after_it_was_freed(card: Gpu, driver: FakeDriver) -> None:
    place = address(card.memory.zeros(64))
    gc.collect()
    assert driver.cuMemFree(place) == (CUresult.CUDA_ERROR_INVALID_VALUE,)


def test_constant_inputs_get_a_copy_on_each_side(card: Gpu, driver: FakeDriver) -> None:
    whole, state = (card.memory.zeros(size).view(np.float64) for size in (800, 1600))
    card.memory.prefetch([whole[:50], whole[50:], np.zeros(3)], constant=True)
    card.memory.prefetch([state], constant=False)
    advised, prefetched = driver.named("cuMemAdvise"), driver.named("cuMemPrefetchAsync")
    assert [each[:2] for each in advised] == [(address(whole), 800)]
    assert [each[:2] for each in prefetched] == [(address(whole), 800), (address(state), 1600)]
    assert card.memory.fetch(whole) is whole, "the host has its copy"
    assert card.memory.fetch(state) is not state


def test_steps_inputs_and_results_have_streams_of_their_own(
    card: Gpu, driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = card.memory.zeros(8).view(np.float64)
    kernel_of(card, driver, add_one, monkeypatch)(address(array), 1)
    card.memory.prefetch([array], constant=False)
    card.memory.fetch(array)
    card.wait()
    launched, prefetched = driver.named("cuLaunchKernel")[0][8], driver.named("cuMemPrefetchAsync")[0][3]
    copied = driver.named("cuMemcpy2DAsync")[0][1]
    assert len({launched, prefetched, copied}) == 3
    assert [each[0] for each in driver.named("cuStreamSynchronize")] == [copied, launched]


# ---- reading parts of the state ----


def test_reading_a_species_copies_its_rows_alone(card: Gpu, driver: FakeDriver) -> None:
    layout = Layout(3, 40, 32, np.float64, card.memory)
    field = np.random.default_rng(3).uniform(size=(5, 7, 3, 40))
    state = layout.pack(field)
    assert block_of(state) is not None
    for number in range(5):
        driver.copied = 0
        assert np.array_equal(layout.unpack(state[:, :, number]), field[number])
        assert driver.copied == state.nbytes // 5
    target = np.zeros((2, 3, 40))
    for levels, most in (([6, 5], 2), (slice(1, 3), 2), ([-1, 5], 2), ([0, 6], 7)):
        driver.copied = 0
        PackedView(layout, state[:, :, 2]).copy_to(target, levels)
        assert np.array_equal(target, field[2][levels])
        assert driver.copied == most * 3 * 2 * 32 * 8
    assert np.array_equal(layout.unpack(state), field)


def test_results_of_the_stand_in_need_a_wait(card: Gpu, driver: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    array = card.memory.zeros(8).view(np.float64)
    kernel_of(card, driver, add_one, monkeypatch)(address(array), 1)
    assert array[0] == 0.0
    card.wait()
    assert array[0] == 1.0


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (np.s_[:], (4, 480, 480)), (np.s_[1:3], (2, 480, 480)), (np.s_[:, 1], (4, 480, 160)),
        (np.s_[:, :, 2], (12, 160, 32)), (np.s_[:, :, 1:3], (12, 160, 64)), (np.s_[1, 1, 1], (4, 8, 8)),
        (np.s_[:, :, :, 1], (60, 32, 8)), (np.s_[:, :2, 2], None), (np.s_[::2, :, 2], None), (np.s_[:, :, ::2], None),
        (np.s_[:, :0], None), (np.s_[::-1], None), (np.s_[2, 1, 4, 3], (1, 8, 8)),
    ],
    ids=str,
)  # fmt: skip
def test_rows_of_an_array(index: Any, expected: tuple[int, int, int] | None) -> None:
    array = np.arange(4.0 * 3 * 5 * 4).reshape(4, 3, 5, 4)
    part = array[index]
    found = rows_of(part)
    assert found == expected
    if found is not None:
        count, distance, size = found
        rows = [ctypes.string_at(address(np.asarray(part)) + row * distance, size) for row in range(count)]
        assert b"".join(rows) == part.tobytes()


def test_arrays_without_rows_at_a_constant_distance_are_read_in_place(card: Gpu, driver: FakeDriver) -> None:
    array = card.memory.zeros(8 * 24).view(np.float64).reshape(4, 3, 2)
    part = array[::2, :, 0]
    assert rows_of(array[:, :2, 0]) is None
    assert card.memory.fetch(array[:, :2, 0]).base is part.base
    assert driver.copied == 0


@pytest.mark.parametrize("memory", [HOST, ShimMemory()], ids=["host", "shim"])
def test_memory_of_the_host_moves_nothing(memory: Memory) -> None:
    array = memory.zeros(16)
    memory.prefetch([array], constant=True)
    assert memory.fetch(array) is array
    assert memory.holds(address(array) + 15)
    assert memory.holds(address(array) + 16) == (memory is HOST)


# ---- errors ----


@pytest.mark.parametrize(
    ("call", "status", "message"),
    [
        ("cuInit", CUresult.CUDA_ERROR_NO_DEVICE, r"no device \(CUDA_ERROR_NO_DEVICE\).*CUDA_VISIBLE_DEVICES \(7\)"),
        ("cuDevicePrimaryCtxRetain", CUresult.CUDA_ERROR_OUT_OF_MEMORY, "out of memory .*; take fewer cells"),
        ("cuDevicePrimaryCtxRetain", CUresult.CUDA_ERROR_DEVICE_UNAVAILABLE, "as many ranks as GPUs"),
        ("cuStreamCreate", CUresult.CUDA_ERROR_INVALID_VALUE, r"cuStreamCreate .*: invalid value \(CUDA_ERROR"),
    ],
)
def test_errors_are_named_in_words(
    call: str, status: CUresult, message: str, driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    driver.errors[call] = status
    with pytest.raises(KernelError, match=message):
        Gpu(bindings=driver)


def test_a_driver_without_a_function_of_the_bindings_is_reported(
    card: Gpu, driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: Any) -> None:
        raise RuntimeError('Function "cuMemAdvise_v2" not found')

    monkeypatch.setitem(vars(driver), "cuMemAdvise_v2", missing)
    with pytest.raises(KernelError, match=r"driver is older than CUDA 12\.2, which added cuMemAdvise_v2: update it"):
        card.memory.prefetch([card.memory.zeros(8)], constant=True)


def test_memory_that_is_exhausted_is_reported(card: Gpu, driver: FakeDriver) -> None:
    driver.errors["cuMemAllocManaged"] = CUresult.CUDA_ERROR_OUT_OF_MEMORY
    with pytest.raises(KernelError, match="out of memory"):
        card.memory.zeros(10)


def test_a_failed_kernel_is_reported_by_the_wait(
    card: Gpu, driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, outside = kernel_of(card, driver, add_one, monkeypatch), np.zeros(1)
    kernel(address(outside), 1)
    with pytest.raises(KernelError, match=r"illegal address.*the state is invalid"):
        card.wait()
    assert outside[0] == 0.0, "the kernel has not read memory of the host"
    with pytest.raises(KernelError, match="illegal address"):
        card.memory.zeros(8)


def test_a_kernel_has_as_many_blocks_as_its_warps_need(
    card: Gpu, driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    array, seen = card.memory.zeros(8), []
    kernel = kernel_of(card, driver, lambda argument, warps: seen.append(warps), monkeypatch)
    for warps in (1, 4, 5):
        kernel(address(array), warps)
    card.wait()
    assert seen == [4, 4, 8]


# ---- several GPUs ----


def test_processes_of_a_machine_use_its_gpus_in_turn() -> None:
    found = [Gpu(local_rank, FakeDriver(("Card A", "Card B"))) for local_rank in range(4)]
    assert [each.name for each in found] == ["Card A", "Card B", "Card A", "Card B"]
    assert found[0].identity == found[2].identity != found[1].identity
    assert found[0].architecture == "sm_90"


def test_all_gpus_are_listed() -> None:
    assert visible_gpus(FakeDriver(("Card A", "Card B"))) == ["Card A", "Card B"]
    with pytest.raises(KernelError, match="no device"):
        visible_gpus(FakeDriver(()))


def test_a_gpu_that_does_not_share_memory_during_kernels_is_refused() -> None:
    with pytest.raises(KernelError, match=r"memory of the Card A during a kernel.*run.device"):
        Gpu(bindings=FakeDriver(shared=False))
    with pytest.raises(KernelError, match="Card A"):
        visible_gpus(FakeDriver(shared=False))


# ---- a whole step ----


def test_a_step_reads_managed_memory_alone_and_has_the_bits_of_the_shim(
    card: Gpu, driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual, found = toy_on_a_device(), network("toy")
    operators = every(len(found.species))
    structure = abi.structure(abi.STEP, "Step", tuple(each.declaration for each in members(operators)))
    kernels = dict.fromkeys(("airshed_transport", "airshed_columns", "airshed_sums"), structure)
    run_by_shim(driver, monkeypatch, kernels | {"airshed_exact_sums": abi.structure(abi.SUMS, "Summands")})
    kernel = compile_mechanism(found, 7, families=found.atoms, operators=operators, device=card)
    trial = random_trial(kernel, (2, 40), two_step_weights(100.0, None), seed=3)
    sums = len(kernel.terms) * len(found.species) + len(kernel.shape.families)
    assert same_bits(compiled_step(kernel, trial), compiled_step(usual, trial))
    assert len(driver.named("cuLaunchKernel")) == 3 + 4, "the step, greatest summands and sums, each after zeros"
    copied = [copy.WidthInBytes * copy.Height for copy, _ in driver.named("cuMemcpy2DAsync")]
    assert copied[:2] == [2 * 8 * sums] * 2, "sums of blocks stay on the GPU"
    assert len(copied) == 2 + len(fields(Fields))

    # the negative control: the forcing is in memory of the host
    elsewhere = Layout.pack
    monkeypatch.setattr(Layout, "pack", lambda self, field, **options: np.array(elsewhere(self, field, **options)))
    with pytest.raises(KernelError, match="illegal address"):
        compiled_step(kernel, trial)


# ---- the stand-in and the bindings ----


def test_the_stand_in_has_the_names_parameters_and_numbers_of_the_bindings() -> None:
    bindings = pytest.importorskip("cuda.bindings.driver", reason="cuda-bindings is not installed")
    for each in ENUMS:
        real = getattr(bindings, each.__name__)
        assert {member.name: int(getattr(real, member.name)) for member in each} == {
            member.name: member for member in each
        }
    for each in (CUDA_MEMCPY2D, CUmemLocation):
        assert set(each.__slots__) <= set(dir(getattr(bindings, each.__name__)))
    functions = [name for name in dir(FakeDriver) if name.startswith("cu")]
    assert len(functions) > 10
    for name in functions:
        function = getattr(bindings, f"{name}_v2" if name in SECOND else name, None) or getattr(bindings, name)
        given = function.__doc__.partition("\n")[0].partition("(")[2].rpartition(")")[0]
        parameters = getattr(FakeDriver, name).__wrapped__.__code__.co_argcount - 1
        assert len([each for each in given.split(", ") if each]) == parameters, name
    assert OK == bindings.CUresult.CUDA_SUCCESS
