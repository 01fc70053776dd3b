"""Chemistry of cells on a device, through the shim: reference, CPU, bits in any order, failures, foreign memory."""

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from airshed.core.errors import KernelError
from airshed.kernels.backends.cpu.cells import CellKernel
from airshed.kernels.backends.cuda import cells as device_cells
from airshed.kernels.backends.cuda.cells import CELLS, DeviceCellKernel, compile_chemistry
from airshed.kernels.backends.cuda.device import Shim, compile_text, device_text
from airshed.kernels.cells import METHODS, CellLayout, CellSteps, Sources, Tolerances, stack_inputs, unpack_cells
from airshed.kernels.cells.arguments import (
    AcceptedSteps,
    CellExtras,
    CellResults,
    Concentrations,
    integrate_cells,
    series,
)
from airshed.kernels.cells.emit import ChemistryShape, emit_chemistry
from airshed.kernels.host import aligned_copy, aligned_zeros
from airshed.kernels.layout import Layout
from airshed.kernels.schedule import noon

from ..conftest import cells_on_a_device as on_device
from ..test_cuda import spilled
from .conftest import chemistry as on_cpu
from .conftest import network
from .test_cells import assert_same_bits, states
from .test_twin import EMITTED, LOST, moving, still

Kernel = CellKernel | DeviceCellKernel
Array = npt.NDArray[np.float64]

LENGTH = 300.0
TIGHT = 1e-9
"""Difference from the CPU: compilers fuse other products, and a step of many digits less follows from the error."""


def solve(kernel: Kernel, y: Array, values: dict[str, Array], method: str = "rodas3", **limits: Any) -> CellResults:
    solver = kernel.solver(METHODS[method], Tolerances(1e-3, 1e3), **limits)
    return integrate_cells(solver, y, stack_inputs(kernel, values, (), y.shape[1]), 0.0, LENGTH)


def difference(one: CellResults, other: CellResults) -> float:
    """Return the greatest relative difference of concentrations; infinite where the steps differ."""
    for name in ("accepted", "rejected"):
        if not np.array_equal(getattr(one, name), getattr(other, name)):
            return np.inf
    return float(np.max(np.abs(one.y - other.y) / (np.abs(other.y) + 1e3)))


@pytest.mark.parametrize("tableau", METHODS.values(), ids=METHODS)
def test_a_device_makes_the_steps_of_the_reference(tableau: Any) -> None:
    assert still(on_device, "toy", tableau, 60, seed=1) < 1e-12
    for longest in (np.inf, 7.0):
        assert moving(on_device, tableau, 20, longest=longest) < 1e-10


def test_a_forgotten_change_with_time_is_detected_on_a_device() -> None:
    assert moving(on_device, METHODS["rodas4"], 20, forget=True) > 1e-9


@pytest.mark.parametrize("method", METHODS)
def test_many_cells_equal_those_of_the_cpu(method: str) -> None:
    y, values = states(network("toy"), 70)
    here, there = solve(on_cpu("toy"), y, values, method), solve(on_device("toy"), y, values, method)
    assert difference(there, here) < TIGHT
    np.testing.assert_allclose(there.step, here.step, rtol=1e-6)
    np.testing.assert_allclose(there.clipped, here.clipped, rtol=1e-6, atol=1.0)
    warmer = solve(on_device("toy"), y, {**values, "TEMP": values["TEMP"] + 1e-3}, method)
    assert difference(warmer, here) > TIGHT


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "precision", "limit"), [("emep", "double", 1e-6), ("toy", "single", 1e-3)])
def test_other_mechanisms_and_precisions_equal_those_of_the_cpu(name: str, precision: str, limit: float) -> None:
    """In single precision the results differ in digits of the tolerance of 1e-3."""
    y, values = states(network(name), 40)
    here, there = solve(on_cpu(name, precision), y, values), solve(on_device(name, precision), y, values)
    apart = np.abs(there.y - here.y) / (np.abs(here.y) + 1e4)
    assert np.all(there.reached == LENGTH)
    assert np.max(apart) < limit
    assert np.max(np.abs(there.accepted - here.accepted)) <= (0 if precision == "double" else 2)


@pytest.mark.thorough
def test_index_tables_solve_what_statements_solve() -> None:
    y, values = states(network("toy"), 40)
    assert difference(solve(on_device("toy", looped=True), y, values), solve(on_device("toy"), y, values)) < TIGHT


@pytest.mark.parametrize(("warps", "seed", "resident"), [(1, 1, 1), (3, 77, 2), (2, 5, 8)])
def test_neither_threads_nor_their_order_nor_neighbours_change_bits(
    monkeypatch: pytest.MonkeyPatch, warps: int, seed: int, resident: int
) -> None:
    y, values = states(network("toy"), 197)
    usual = solve(on_device("toy"), y, values)
    assert len(set(usual.accepted)) > 10
    monkeypatch.setattr(device_cells, "RESIDENT", resident)
    other = on_device("toy", warps=warps, seed=seed)
    assert_same_bits(solve(other, y, values), usual)
    some = np.random.default_rng(seed).permutation(197)[:41]
    assert_same_bits(usual, solve(other, y[:, some], {name: each[some] for name, each in values.items()}), some)


def test_a_stiff_cell_does_not_change_easy_ones() -> None:
    y, values = states(network("toy"), 40)
    easy = solve(on_device("toy"), y, values)
    stiff = y.copy()
    stiff[:, 7] *= 1e6
    found, others = solve(on_device("toy"), stiff, values), np.arange(40) != 7
    assert found.accepted[7] > 2 * easy.accepted[7]
    assert_same_bits(easy, replace_cells(found, others), others)


def replace_cells(found: CellResults, chosen: npt.NDArray[np.bool_]) -> CellResults:
    """Return the results of some cells."""
    return CellResults(**{name: each[..., chosen] for name, each in vars(found).items()})


def test_failed_cells_are_reported_as_on_the_cpu() -> None:
    """Cells with a NaN or with too many steps end before the end; all others reach it."""
    y, values = states(network("toy"), 40)
    y[2, 5] = np.nan
    most = int(np.median(solve(on_cpu("toy"), y, values).accepted))
    here, there = (solve(each("toy"), y, values, most_steps=most) for each in (on_cpu, on_device))
    assert there.reached[5] == 0.0
    assert 5 < np.count_nonzero(there.reached < LENGTH) < 35
    for name in ("reached", "step"):
        np.testing.assert_allclose(getattr(there, name), getattr(here, name), rtol=1e-6)
    for name in ("accepted", "rejected"):
        np.testing.assert_array_equal(getattr(there, name), getattr(here, name))
    solver = on_device("toy").solver(METHODS["rodas3"], Tolerances(1e-3, 1e3), most_steps=most).with_more_steps(10)
    again = integrate_cells(solver, y, stack_inputs(solver.kernel, values, (), 40), 0.0, LENGTH)
    assert np.flatnonzero(again.reached < LENGTH).tolist() == [5]


@pytest.mark.parametrize("degree", [0, 3])
def test_all_options_together_equal_those_of_the_cpu(degree: int) -> None:
    """Mixing ratios in the layout of a state, three levels, extra species, emission, loss, and separate results."""
    here, there = (options_together(each("toy"), degree) for each in (on_cpu, on_device))
    assert np.all(there["reached"] == LENGTH)
    assert there["extra"][:, 0].min() > 0.0
    for name, one in there.items():
        np.testing.assert_allclose(one, here[name], rtol=1e-7, atol=1e-25, err_msg=name)


def options_together(kernel: Kernel, degree: int) -> dict[str, Array]:
    """Return the arrays after a call of 2 rows of 37 columns in 3 levels, by name."""
    stored, levels, width = len(kernel.network.species) - 2, 3, kernel.shape.width
    grid = Layout(2, 37, width, np.float64)
    packs, random = grid.rows * grid.blocks * levels, np.random.default_rng(3)
    start = 10.0 ** random.uniform(-13.0, -9.0, (stored, levels, 2, 37))
    y, result, clipped = grid.pack(start), *(grid.zeros(stored, levels) for _ in range(2))
    extra, steps = grid.zeros(levels, 2), CellSteps.zeros(packs, width)
    table = unpack_cells(inputs_of(kernel, degree, start[0].size), start[0].size)
    inputs = np.moveaxis(grid.pack(table.reshape(*table.shape[:2], *start.shape[1:])), 4, 2)
    packed = aligned_copy(inputs.reshape(packs, *table.shape[:2], width))
    layout = CellLayout(
        levels, grid.blocks, grid.last_lanes, stored * levels * width, width, levels * width, mixing_ratios=True
    )
    solver = kernel.solver(METHODS["rodas3"], Tolerances(1e-3, 1e3), Sources(EMITTED[:1], LOST[:1]))
    state, more = Concentrations(y, result, layout), CellExtras(clipped, extra.reshape(packs, 2, width))
    solver.advance(state, packed, steps, 0.0, LENGTH, more)
    by_level = {name: each.reshape(2, grid.blocks, levels, width) for name, each in vars(steps).items()}
    found = {"y": y, "result": result, "clipped": clipped, "extra": extra, **by_level}
    return {name: grid.unpack(each) for name, each in found.items()}


def inputs_of(kernel: Kernel, degree: int, cells: int) -> Any:
    """Return inputs of cells with different temperatures, which vary in time with degree 1 or more."""
    warmth = np.linspace(0.0, 30.0, cells)

    def air(t: Array) -> dict[str, Any]:
        return {**noon(kernel.network), "TEMP": 270.0 + warmth[None] + 5.0 * t[:, None] / LENGTH}

    def sources(t: Array) -> list[Array]:
        return [1e6 * (1.0 + t / LENGTH), np.full_like(t, 1e-4)]

    return series(kernel, air, 0.0, LENGTH, degree=degree, cells=cells, sources=sources)  # type: ignore[arg-type]


def test_arrays_of_the_device_are_used_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, packs = on_device("toy"), 2
    species, memory = len(kernel.network.species), kernel.device.memory
    copied: list[Any] = []
    usual = device_cells.device_copy
    for allocate in (aligned_zeros, partial(aligned_zeros, memory=memory)):
        y = allocate((packs, species, 32), np.float64)
        y[...] = 1e8
        inputs = allocate((packs, 1, len(kernel.inputs), 32), np.float64)
        inputs[...] = stack_inputs(kernel, noon(kernel.network), (), 64)
        steps = CellSteps.zeros(packs, 32, *([memory] if allocate is not aligned_zeros else []))
        solver = kernel.solver(METHODS["ros2"], Tolerances())
        copied.clear()
        monkeypatch.setattr(device_cells, "device_copy", lambda *given: (copied.append(1), usual(*given))[1])
        layout = CellLayout(1, packs, 32, species * 32, 0, 32)
        solver.advance(Concentrations(y, y, layout), inputs, steps, 0.0, 10.0)
        monkeypatch.setattr(device_cells, "device_copy", usual)
        assert len(copied) == (6 if allocate is aligned_zeros else 0)
        assert np.all(steps.reached == 10.0)
        assert np.ptp(y[:, 0]) == 0.0
        assert y[0, 0, 0] != 1e8


def test_no_cells_and_inputs_that_cannot_be_written_are_accepted() -> None:
    y, values = states(network("toy"), 40)
    for kernel in (on_cpu("toy"), on_device("toy")):
        solver = kernel.solver(METHODS["ros2"], Tolerances(1e-3, 1e3))
        inputs = stack_inputs(kernel, values, (), 40)
        usual = integrate_cells(solver, y, inputs, 0.0, 10.0)
        inputs.flags.writeable = False
        assert_same_bits(integrate_cells(solver, y, inputs, 0.0, 10.0), usual)
        assert integrate_cells(solver, y[:, :0], inputs[:0], 0.0, 10.0).y.shape == (len(y), 0)


def test_arrays_that_a_device_cannot_read_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    y, values = states(network("toy"), 3)
    usual = device_cells.arrays_on

    everywhere = Shim()
    monkeypatch.setattr(everywhere.memory, "holds", lambda pointer: True)
    monkeypatch.setattr(device_cells, "arrays_on", lambda device: usual(everywhere))
    with pytest.raises(KernelError, match=r"cannot read these arrays of cells: y, result, clipped, inputs, step"):
        solve(on_device("toy"), y, values)


def test_freed_memory_is_not_that_of_a_device() -> None:
    device = Shim()
    array = device.memory.zeros(100)
    place = array.__array_interface__["data"][0]
    part = array[10:20]
    assert [device.memory.holds(place + each) for each in (-1, 0, 99, 100)] == [False, True, True, False]
    del array
    assert device.memory.holds(place), "a part holds the whole"
    del part
    assert not device.memory.holds(place)


def test_what_a_device_cannot_do_is_refused() -> None:
    kernel = on_device("toy")
    solver = kernel.solver(METHODS["ros2"], Tolerances())
    counts = np.zeros((1, 32), np.int32)
    record = AcceptedSteps.for_counts(counts, len(kernel.network.species), np.float64)
    y = aligned_zeros((1, len(kernel.network.species), 32), np.float64)
    given = Concentrations(y, y, CellLayout(1, 1, 32, y.size, 0, 32)), stack_inputs(kernel, noon(kernel.network), (), 1)
    with pytest.raises(KernelError, match="does not record its steps"):
        solver.advance(*given, CellSteps.zeros(1, 32), 0.0, 1.0, CellExtras(record=record))
    for refused, what in ((solver.reversed, "adjoint"), (solver.tangent, "tangent")):
        with pytest.raises(KernelError, match=f"no {what} yet"):
            refused()
    with pytest.raises(KernelError, match="have 32 cells, not 8"):
        compile_chemistry(network("toy"), width=8, device=Shim())


MOST_SPILLED = {"toy": 64, "emep": 1024, "musica:ts1": 2560}
"""Bytes of registers that a thread may spill or reload in each mechanism."""


@pytest.mark.parametrize(("precision", "architecture"), [("double", "sm_90"), ("single", "sm_80")])
def test_the_toy_mechanism_compiles_for_a_gpu(precision: str, architecture: str) -> None:
    assert spills("toy", precision, architecture) <= MOST_SPILLED["toy"]


@pytest.mark.thorough
@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
@pytest.mark.parametrize("precision", ["double", "single"])
@pytest.mark.parametrize("name", ["emep", "musica:ts1"])
def test_large_mechanisms_compile_for_a_gpu(name: str, precision: str, architecture: str) -> None:
    if name.startswith("musica:"):
        pytest.importorskip("musica", reason="musica is not installed")
    assert spills(name, precision, architecture) <= MOST_SPILLED[name]


def spills(name: str, precision: str, architecture: str) -> int:
    """Return the most bytes that a function of the chemistry of a mechanism spills or reloads."""
    pytest.importorskip("cuda.bindings", reason="cuda-bindings is not installed")
    text = emit_chemistry(network(name), ChemistryShape(32, precision), CELLS).text
    code, log = compile_text(device_text(text), architecture)
    assert code.startswith(b"\x7fELF")
    return spilled(log)
