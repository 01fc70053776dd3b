"""Runs with a folder from Python: results are written once, and a stopped run continues in the same process."""

from pathlib import Path

import netCDF4
import pytest

import airshed
from airshed.core.errors import OutputError
from airshed.io.run_state import read_state

from .conftest import CUT, contents

OVERRIDES = ["time.length=3 h", "grid.spacing=0.5 deg"]


def simulation(folder: Path, *overrides: str, resume: bool = False) -> airshed.Simulation:
    return airshed.Simulation(
        airshed.Case.load("tracer-rotation", [*OVERRIDES, *overrides]), output=folder, resume=resume
    )


def times(folder: Path) -> int:
    with netCDF4.Dataset(folder / "output.nc") as file:
        return len(file["time"])


def test_a_second_run_to_the_end_leaves_the_results_unchanged(tmp_path: Path) -> None:
    with simulation(tmp_path / "run") as sim:
        sim.run()
        sim.run()
        assert times(tmp_path / "run") == 4
    assert times(tmp_path / "run") == 4


def test_a_stop_in_the_last_step_is_the_end(tmp_path: Path) -> None:
    with simulation(tmp_path / "run") as sim:
        sim.run(observer=lambda info: sim.request_stop() if info.fraction == 1.0 else None)
    state = read_state(tmp_path / "run")
    assert state is not None
    assert state.state == "finished"


def test_a_stopped_run_continues_in_the_same_process(tmp_path: Path) -> None:
    with simulation(tmp_path / "whole") as sim:
        sim.run()
    with simulation(tmp_path / "run") as sim:
        sim.run(observer=lambda info: sim.request_stop() if info.time > 4000.0 else None)
        assert 4000.0 < sim.seconds < 10800.0
        assert times(tmp_path / "run") == 2
        sim.run()
    assert contents(tmp_path / "run" / "output.nc") == contents(tmp_path / "whole" / "output.nc")


def test_a_run_in_parts_has_one_result(tmp_path: Path) -> None:
    with simulation(tmp_path / "run") as sim:
        for hour in (1, 2, 3):
            assert not (tmp_path / "run" / "output.nc").exists()
            sim.run(until=f"{hour} h")
    assert times(tmp_path / "run") == 4


def test_a_folder_that_cannot_be_used_is_refused_before_the_model_is_built(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "diary.txt").write_text("")
    (tmp_path / "broken.def").write_text("no mechanism")
    with pytest.raises(OutputError, match="holds other files"):
        simulation(tmp_path / "run", f"chemistry.mechanism={tmp_path / 'broken.def'}")


def test_a_resumed_run_reports_its_start(tmp_path: Path) -> None:
    with simulation(tmp_path / "run") as sim:
        sim.run(until="2 h")
        assert sim.notices == []
    with simulation(tmp_path / "run", resume=True) as sim:
        assert sim.notices == ["resumed at 2 h of the case"]
        assert sim.seconds == 7200.0
    for restart in (tmp_path / "run" / "restart").iterdir():
        restart.write_bytes(b"")
    with pytest.raises(OutputError, match=r"no restart in .* is intact"):
        simulation(tmp_path / "run", resume=True)


def test_emission_is_reported_by_kind_of_source(tmp_path: Path) -> None:
    with netCDF4.Dataset(tmp_path / "field.nc", "w") as file:
        for name in ("lat", "lon"):
            file.createDimension(name, 2)
            file.createVariable(name, "f8", (name,))[:] = [-1.0, 1.0]
        variable = file.createVariable("TRACER2", "f8", ("lat", "lon"))
        variable.units = "mol s-1"
        variable[:] = 0.5
    with simulation(tmp_path / "run", f'emissions.gridded=[{{files=["{tmp_path}/field.nc"], partial=true}}]') as sim:
        sim.run()
        tables = {table.title: table for table in sim.summary().tables}
    amounts = {(row[0], row[1]): row[2] for row in tables["Emission"].rows}
    assert amounts == {
        ("TRACER2", "gridded files"): pytest.approx(2.0 * 10800.0),
        ("TRACER", "point sources"): pytest.approx(10800.0),
    }


@pytest.mark.parametrize(("start", "advised"), [("2022-08-31T12:00:00Z", True), ("2022-08-31T00:00:00Z", False)])
def test_a_cold_start_at_noon_is_advised_against_and_one_at_night_is_not(start: str, advised: bool) -> None:
    case = airshed.Case.load("west-europe", [*CUT, "time.spinup=0 h", f"time.start={start}"])
    with airshed.Simulation(case) as sim:
        sim.run(until="20 min")
        facts = sim.summary(brief=True).facts
    advice = str(facts.get("advice", ""))
    assert advice.startswith("the iteration drifts by ") == advised
    instead = "take chemistry.sweeps = 4, a shorter time.step, or a time.spinup"
    assert (f" % of the nitrogen emitted; {instead}" in advice) == advised
