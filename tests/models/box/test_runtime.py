"""Boxes as a case of the runtime: pauses, restarts, branches and steering with the same bits, and output."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from tests.models.box.toy import NAME, write_toy

import airshed
from airshed.case.failure import ChemistryFailure
from airshed.core.errors import CaseError
from airshed.mechanism import load_mechanism
from airshed.models.box import BoxConditions, load_states
from airshed.models.box.run import BoxRun, box
from airshed.program.check import check
from airshed.runtime.simulation import Simulation

pytestmark = pytest.mark.standard

CASE: dict[str, Any] = {
    "mechanism": NAME,
    "time": {"start": "6 h", "length": "5 h", "output_every": "30 min", "restarts": ["7.2 h"]},
    "environment": {"temperature": "290 + t/3600", "pressure": "1000 hPa"},
    "fixed": {"X": "0 molecules/cm3"},
    "rates": {"j_A": "1e-4*(1 + sin(t/3600))", "k_AX": "0 cm3/s", "k_grow": "0 cm3/s"},
    "initial": {"A": "40 ppb", "TRACER": "3 ppb"},
    "deposition": {"TRACER": "where(t < 8*3600, 1e-4, 2e-4)"},
}
WAYS = {
    "rosenbrock": {},
    "gauss-seidel": {"solver": {"method": "gauss-seidel", "step": "400 s"}},
    "many": {"states": "states.csv"},
    "many by gauss-seidel": {"states": "states.csv", "solver": {"method": "gauss-seidel", "step": "400 s"}},
}


@pytest.fixture(params=WAYS)
def case(request: pytest.FixtureRequest, tmp_path: Path) -> BoxConditions:
    return made(tmp_path, WAYS[request.param])


def made(folder: Path, more: Mapping[str, Any]) -> BoxConditions:
    write_toy(folder)
    (folder / "states.csv").write_text("A [ppb],pressure [hPa]\n10,1000\n20,900\n70,500\n", encoding="utf-8")
    return BoxConditions.from_dict({**CASE, **more}, folder)


def state(simulation: Simulation) -> np.ndarray:
    return np.array(simulation.model.concentrations())


def test_program_is_one_stage_of_cells(tmp_path: Path) -> None:
    model = Simulation(made(tmp_path, {})).model
    assert str(model.program).splitlines()[0] == "box: order 4"
    assert [stage.key for stage in model.program.stages] == ["cells"]
    assert check(model.program).buffers == 1


def test_records_are_the_time_series(case: BoxConditions, tmp_path: Path) -> None:
    """The output of a run has the values that the library returns with local times."""
    with Simulation(case, output=tmp_path / "run") as simulation:
        simulation.run()
    network = load_mechanism(tmp_path / NAME)
    series = box(network, case, load_states(tmp_path / "states.csv", network) if case.states else None)
    with xr.open_dataset(tmp_path / "run" / "output.nc") as records:
        assert records["time"].values[[0, -1]].astype(str).tolist() == [
            "2000-01-01T06:00:00.000000000", "2000-01-01T11:00:00.000000000",
        ]  # fmt: skip
        for name in ("A", "B", "TRACER", "temperature", "M"):
            wanted = series[name].values.astype(records[name].dtype)
            np.testing.assert_array_equal(records[name].values, wanted, name)


def test_same_bits_however_a_run_is_paused(case: BoxConditions) -> None:
    whole = Simulation(case)
    whole.run()
    paused = Simulation(case)
    for until in ("1 h", "1.3 h", "2 h"):  # the second one is within a step
        paused.run(until)
    saved, branch = paused.snapshot(), paused.branch()
    for each in (paused, branch):
        each.run()
        np.testing.assert_array_equal(state(each), state(whole))
    paused.restore(saved)
    assert paused.seconds == 7200.0
    paused.run()
    np.testing.assert_array_equal(state(paused), state(whole))
    assert paused.model.cells.steps == whole.model.cells.steps


def test_same_bits_after_a_restart(case: BoxConditions, tmp_path: Path) -> None:
    whole = Simulation(case)
    whole.run()
    with Simulation(case, output=tmp_path / "run") as first:
        first.run("2.5 h")
    with Simulation(case, output=tmp_path / "run", resume=True) as second:
        assert second.seconds == 9000.0
        second.run()
        np.testing.assert_array_equal(state(second), state(whole))


def test_a_species_can_be_set(case: BoxConditions) -> None:
    simulation = Simulation(case)
    simulation.run("1 h")
    simulation["TRACER2"] = "5e9 molecules/cm3"
    np.testing.assert_allclose(simulation["TRACER2"], 5e9)
    share = simulation["TRACER2"].values / simulation["M"].values
    simulation.run("2 h")
    assert np.all(simulation["TRACER2"].values < 5e9), "its air expands as it warms"
    np.testing.assert_allclose(simulation["TRACER2"].values / simulation["M"].values, share)
    with pytest.raises(CaseError, match="field M cannot be set"):
        simulation["M"] = "1e19 molecules/cm3"


def test_parts_of_boxes_are_those_of_all(tmp_path: Path) -> None:
    """As on ranks, a box does not depend on other boxes, and messages have its number."""
    case = made(tmp_path, {})
    network = load_mechanism(tmp_path / NAME)
    states = load_states(tmp_path / "states.csv", network)
    whole = box(network, case, states)
    last = states.part(1, 3)
    np.testing.assert_array_equal(box(network, case, last)["A"], whole["A"][:, 1:])
    assert BoxRun(network, case, states=last).model.forcing.number(1) == 2


def test_a_case_in_a_file(tmp_path: Path) -> None:
    """`airshed run` accepts conditions with a model and a mechanism; `airshed box` accepts the same file."""
    write_toy(tmp_path)
    text = made(tmp_path, {}).conditions_file()
    file = tmp_path / "morning.toml"
    file.write_text(
        f'model = "box"\nmechanism = "{NAME}"\n{text}\n[[output]]\nname = "a"\nfields = ["A"]\nevery = "1 h"\n'
    )
    case = airshed.load_case(file)
    assert (case.name, case.hash) == ("morning", airshed.load_case(file).hash)
    with Simulation(case, output=tmp_path / "run") as simulation:
        simulation.run()
        assert "rodas4" in simulation.summary().to_text()
    with xr.open_dataset(tmp_path / "run" / "a.nc") as records:
        assert records["A"].shape == (6,)
    with pytest.raises(CaseError, match=r"morning\.toml: mechanism is missing"):
        Simulation(airshed.load_case(file, ["mechanism="]))


def test_a_failure_is_kept_in_the_run_folder(tmp_path: Path) -> None:
    rates = {"j_A": "0 1/s", "k_AX": "0 cm3/s", "k_grow": "1e-10 cm3/s"}
    case = made(tmp_path, {"rates": rates, "initial": {"A": "1e6 molecules/cm3"}})
    with pytest.raises(ChemistryFailure, match=r"replay it: airshed box .*failed-cell\.toml"):
        Simulation(case, output=tmp_path / "run").run()
    replay = BoxConditions.load(tmp_path / "run" / "failed-cell.toml")
    with pytest.raises(ChemistryFailure):
        box(tmp_path / NAME, replay)
