"""A run on a device, or on groups with devices, through the shim, equals the run on the CPU to rounding.

Its bits are the same on any number of ranks.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.kernels.fake_driver import FakeDriver, run_by_shim

import airshed
from airshed.core.errors import CaseError
from airshed.inverse.reverse.derivatives import create_derivatives
from airshed.kernels.backends.cuda import cells
from airshed.kernels.backends.cuda.device import SHIM_VARIABLE, present_device
from airshed.kernels.backends.cuda.gpu import Gpu
from airshed.models.air import placements

from .cases import small_case
from .ways import PLAIN

MPIEXEC = Path(sys.executable).with_name("mpiexec")
ROOT = Path(__file__).parents[2]
EDGE = "a bit of an edge"


@pytest.fixture(autouse=True)
def shim(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(SHIM_VARIABLE, "1")
    present_device.cache_clear()
    yield
    present_device.cache_clear()


@pytest.mark.thorough
@pytest.mark.parametrize("integrator", ["imex", "strang"])
def test_a_run_on_a_device_equals_that_on_the_cpu(tmp_path: Path, integrator: str) -> None:
    there, here = (fields_of(tmp_path, integrator, device) for device in ("cuda", "cpu"))
    assert worst(there, here) < 1e-10
    assert worst(there, fields_of(tmp_path, integrator, "cpu", wet_deposition={"coefficients": {}})) > 1e-6


@pytest.mark.thorough
@pytest.mark.compiles
def test_an_hour_of_western_europe_equals_that_on_the_cpu() -> None:
    """The whole area at one degree."""
    ozone = {}
    for device in ("cuda", "cpu"):
        settings = [f"run.device={device}", "time.spinup=0 h", "time.length=1 h", "grid.spacing=1 deg"]
        with airshed.Simulation(airshed.load_case("west-europe", settings)) as simulation:
            before = np.array(simulation["O3"].values)
            simulation.run()
            ozone[device] = np.array(simulation["O3"].values)
    assert worst({"O3": ozone["cuda"]}, {"O3": ozone["cpu"]}) < 1e-10
    assert worst({"O3": before}, {"O3": ozone["cpu"]}) > 1e-3, "the negative control"


@pytest.mark.thorough
@pytest.mark.parametrize("devices", [("cpu", "cuda"), ("cuda", "cpu")])
def test_a_run_continues_on_another_device(tmp_path: Path, devices: tuple[str, str]) -> None:
    def case(device: str) -> airshed.Case:
        sections = {"restart": {"every": "10 min"}, "output": [{"every": "10 min", "fields": ["O3"]}]}
        return small_case(tmp_path, run={"threads": 1, "device": device}, chemistry={"integrator": "strang"},
                          time={"length": "30 min"}, **sections)  # fmt: skip

    def fields(simulation: airshed.Simulation) -> dict[str, np.ndarray]:
        return {name: np.array(simulation[name].values) for name in simulation.species}

    with airshed.Simulation(case(devices[0]), output=tmp_path / "run") as simulation:
        simulation.run("15 min")
        early = fields(simulation)
    with airshed.Simulation(case(devices[1]), output=tmp_path / "run", resume=True) as simulation:
        simulation.run()
        found = fields(simulation)
    with airshed.Simulation(case("cpu")) as simulation:
        simulation.run()
        assert worst(found, fields(simulation)) < 1e-10
    assert worst(found, early) > 1e-6, "the negative control"


@pytest.mark.thorough
def test_a_run_on_a_device_has_no_adjoint(tmp_path: Path) -> None:
    case = small_case(tmp_path, run={"threads": 1, "device": "cuda"})
    with airshed.Simulation(case) as simulation, pytest.raises(CaseError, match=r"no adjoint yet; set run.device"):
        create_derivatives(simulation.model)


@pytest.mark.thorough
@pytest.mark.parametrize("vertical", ["with horizontal", "with chemistry"])
def test_groups_with_devices_equal_a_run_on_the_cpu_for_any_number_of_ranks(tmp_path: Path, vertical: str) -> None:
    if not MPIEXEC.exists():
        pytest.skip("mpiexec of the wheel mpich is not installed")
    command = [MPIEXEC, "-n", "4", sys.executable, "-m", "mpi4py", "-m", "tests.laws.devices", tmp_path, vertical]
    answer = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=600,
                            check=False, env={**os.environ, "PYTHONWARNINGS": "default"})  # fmt: skip
    assert answer.returncode == 0, answer.stderr[-4000:]
    found = json.loads(answer.stdout.splitlines()[-1])
    fields = {name: dict(np.load(tmp_path / f"{name}.npz")) for name in found}
    alone, control = (fields.pop(name) for name in ("cpu cpu 0+0", "other cpu 0+0"))
    assert len(fields) == 8
    for name in fields:
        assert worst(fields[name], alone) < 1e-10, name
        assert found[name] == found[f"{name.rpartition(' ')[0]} 1+1"], name
    assert found["cpu cpu 1+1"] == found["cpu cpu 0+0"] != found["other cpu 0+0"]
    assert worst(control, alone) > 1e-6, "the negative control"


def test_devices_of_groups_are_by_default_that_of_the_run(tmp_path: Path) -> None:
    def devices(**groups: Any) -> list[str]:
        case = small_case(tmp_path, chemistry={"integrator": "strang"}, run={"device": "cuda"},
                          parallel={"groups": groups})  # fmt: skip
        return [case.device_of("transport"), case.device_of("chemistry")]

    assert devices() == devices(transport="same") == ["cuda", "cuda"]
    assert devices(transport="same", transport_device="cpu") == ["cpu", "cuda"]
    with pytest.raises(CaseError, match=r"chemistry_device needs groups of ranks"):
        devices(chemistry_device="cpu")


@pytest.mark.thorough
def test_auto_runs_on_the_device_with_the_shorter_trial_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = small_case(tmp_path, run={"threads": 1, "device": "auto"}, time={"length": "20 min"})

    def width() -> tuple[int, list[list[Any]]]:
        monkeypatch.setattr(placements, "_TRIALS", {})
        with airshed.Simulation(case) as simulation:
            simulation.run()
            tables = {table.title: table.rows for table in simulation.summary().tables}
            return simulation.model.layout.width, [list(row) for row in tables["Device"]]

    packs, ((_, on_cpu, measured), (_, on_device, none)) = width()
    assert (packs, none) == (8, None)
    assert 0.0 < on_cpu < 0.2 * on_device, "the shim is some hundred times slower"
    assert 0.0 < measured < on_device
    times = {8: 2.0, 32: 1.0}
    trial = placements.time_steps
    monkeypatch.setattr(
        placements, "time_steps", lambda model: replace(trial(model), stages={"all": times[model.layout.width]})
    )
    packs, rows = width()
    assert packs == 32, "the negative control"
    assert [row[:2] for row in rows] == [["cpu", 2.0], ["cuda", 1.0]]


@pytest.mark.thorough
def test_placements_are_predicted_and_measured(tmp_path: Path) -> None:
    case = small_case(tmp_path, chemistry={"integrator": "strang"}, run={"threads": 1}, time={"length": "20 min"})
    (table,) = placements.placement_report(case).tables
    names, *columns = zip(*table.rows, strict=True)
    transport, others, (*none, moves), predicted, measured = columns
    assert names == ("all on cpu", "all on cuda", "transport on cpu, other stages on cuda")
    assert (transport[2], others[2], none) == (transport[0], others[1], [None, None])
    assert predicted[2] == transport[2] + others[2] + moves
    assert 0.0 < moves < min(predicted)
    assert min(measured) > 0.0
    assert "fastest: all on cpu" in table.note
    (table,) = placements.placement_report(small_case(tmp_path, run={"threads": 1})).tables
    assert len(table.rows) == 2
    assert "not on both: parallel.groups needs a splitting" in table.note


@pytest.mark.thorough
def test_ranks_with_a_device_each_have_the_bits_of_one(tmp_path: Path) -> None:
    if not MPIEXEC.exists():
        pytest.skip("mpiexec of the wheel mpich is not installed")
    save_small_case(tmp_path / "imex")
    rows = [PLAIN | {"model": "imex", "ranks": ranks} for ranks in ("1", "2: [2, 1]", "2: [1, 2]")]
    runs = [*((row, "") for row in rows), (rows[1], EDGE), (rows[2], EDGE)]  # the last two are negative controls
    (tmp_path / "rows.json").write_text(json.dumps(runs))
    command = [MPIEXEC, "-n", "2", sys.executable, "-m", "mpi4py", "-m", "tests.laws.ranks", tmp_path, tmp_path]
    answer = subprocess.run(
        command, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, timeout=300, check=False
    )
    assert answer.returncode == 0, answer.stderr[-6000:]
    one, *two, south, west = (
        {name: found[name] for name in ("state", "budget", "output")}
        for found in json.loads(answer.stdout.splitlines()[-1])
    )
    assert two == [one, one]
    assert south["state"] != one["state"] != west["state"]


@pytest.mark.thorough
def test_chemistry_by_the_class_of_a_gpu_copies_no_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The state, the inputs and the steps of cells are in memory of the GPU of the steps; constants are copied once."""
    expected, copied = fields_of(tmp_path, "strang", "cuda"), list[tuple[int, ...]]()
    driver, usual = use_stand_in(monkeypatch, {"airshed_chemistry": cells._CALL}), cells.device_copy
    monkeypatch.setattr(cells, "device_copy", lambda to, array: (copied.append(array.shape), usual(to, array))[1])
    found = fields_of(tmp_path, "strang", "cuda")
    assert all(np.array_equal(found[name], each) for name, each in expected.items())
    assert len(driver.named("cuMemAlloc")) == 1
    assert [len(shape) for shape in copied] == [1, 1, 1], "tolerances, emitted and lost species"


@pytest.mark.thorough
def test_a_run_by_the_class_of_a_gpu_has_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in for the driver refuses memory of the host, calls without context, and results without a wait."""
    expected = fields_of(tmp_path, "imex", "cuda")
    driver = use_stand_in(monkeypatch)
    with airshed.Simulation(small_case(tmp_path, run={"threads": 2, "device": "cuda"})) as simulation:
        simulation.run()
        state = simulation.model.stepper.state
        driver.copied = 0
        ozone = simulation["O3"].values
        assert driver.copied == state.q.nbytes // len(simulation.species)
        assert np.array_equal(ozone, expected["O3"])
        assert all(np.array_equal(simulation[name].values, each) for name, each in expected.items())
        saved = simulation.snapshot()
        assert driver.copied > 3 * state.q.nbytes
        assert np.array_equal(saved.tiled["state.q"], state.q)
    assert len(driver.named("cuMemAdvise")) > 10
    steps = [each for each in driver.named("cuLaunchKernel") if each[0] == b"kernel 0"]
    assert len(steps) == 24


def use_stand_in(monkeypatch: pytest.MonkeyPatch, structures: Any = None) -> FakeDriver:
    """Return a stand-in for the driver, whose GPU runs all further kernels by the shim."""
    driver = FakeDriver()
    run_by_shim(driver, monkeypatch, structures)
    card = Gpu(bindings=driver)
    monkeypatch.setattr("airshed.kernels.backends.cuda.backend.present_device", lambda local_rank: card)
    return driver


def save_small_case(folder: Path) -> None:
    """Write a case of 4 x 40 columns, two blocks of a device in each row, that runs on a device."""
    folder.mkdir()
    sections = {
        "grid": {"area": {"lon": [-30.0, -10.0], "lat": [40.0, 42.0]}},
        "time": {"length": "20 min"}, "run": {"device": "cuda"}, "restart": {"every": "20 min"},
        "output": [{"every": "10 min", "fields": ["O3", "NO2"]}],
    }  # fmt: skip
    (folder / "case.toml").write_text(small_case(folder, **sections).to_toml())


def fields_of(folder: Path, integrator: str, device: str, **sections: Any) -> dict[str, np.ndarray]:
    """Return the mixing ratios of all species after the case."""
    settings = {"chemistry": {"integrator": integrator}, "run": {"threads": 1, "device": device}, **sections}
    with airshed.Simulation(small_case(folder, **settings)) as simulation:
        simulation.run()
        return {name: np.array(simulation[name].values) for name in simulation.species}


def worst(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> float:
    """Return the largest difference, relative to the largest value of each species."""
    return max(float(np.abs(found[name] - each).max() / np.abs(each).max()) for name, each in expected.items())
