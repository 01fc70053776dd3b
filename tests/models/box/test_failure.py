"""A cell whose integration fails: repeated, reported with cell, time and state, and replayed from a file."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from tests.models.box.toy import NAME, write_toy
from typer.testing import CliRunner

from airshed.case.failure import ChemistryFailure, replay_conditions
from airshed.cli.program import app
from airshed.core.errors import NumericalError
from airshed.mechanism import ReactionNetwork, load_mechanism
from airshed.models.box import BoxConditions, states_from_dataset
from airshed.models.box.run import BoxRun, box

CONDITIONS = """
[time]
start = "6 h"
length = "6 h"
output_every = "1 h"
[initial]
A = "1e6 molecules/cm3"
[rates]
j_A = "1e-6*(1 + sin(t/3600)) + 9e-6"
k_AX = "0 cm3/s"
k_grow = "1e-10 cm3/s"
[fixed]
X = "0 molecules/cm3"
[deposition]
TRACER = "0 1/s"
[emission]
B = { csv = "source.csv", column = "E" }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_toy(tmp_path)
    (tmp_path / "grow.toml").write_text(CONDITIONS, encoding="utf-8")
    (tmp_path / "source.csv").write_text("time [h],E [molecules/cm3/s]\n0,1e3\n24,0\n", encoding="utf-8")
    (tmp_path / "out").mkdir()
    return tmp_path


def run(folder: Path, conditions: str, output: str, *more: str) -> str:
    arguments = ["box", str(folder / NAME), "--conditions", str(folder / conditions)]
    result = CliRunner().invoke(app, [*arguments, "--output", str(folder / output), *more])
    assert result.exit_code == 2, result.output
    assert not (folder / output).exists()
    return result.stderr


def told(message: str) -> str:
    return message.partition("; to replay it")[0]


def test_a_failure_is_told_and_replayed(folder: Path) -> None:
    """A grows without bound near 8.9 h: dA/dt = k A^2 - j A. The replay fails at the same time and message."""
    first = run(folder, "grow.toml", "out/box.nc")
    assert "the chemistry goes no further than t = 32163.47" in first
    assert "on its way from 28800 s to 32400 s, also with smaller steps (most there is of A" in first
    replay = folder / "out" / "box-failed.toml"
    text = replay.read_text(encoding="utf-8")
    assert "#   A = " in text
    assert 'csv = "../source.csv"' in text
    again = run(folder, "out/box-failed.toml", "out/replay.nc")
    assert told(again) == told(first)
    replay.write_text(text.replace("j_A = ", 'j_A = "1e-3 1/s" # '), encoding="utf-8")
    result = CliRunner().invoke(
        app, ["box", str(folder / NAME), "--conditions", str(replay), "--output", str(folder / "out" / "fine.nc")]
    )
    assert result.exit_code == 0, result.output


STEPS = '[solver]\nmethod = "gauss-seidel"\nstep = "100 s"\n'


def test_a_failure_of_gauss_seidel_is_told_and_replayed(folder: Path) -> None:
    """The two-step solution diverges as well; the replay begins at the last output and fails in the same interval."""
    (folder / "steps.toml").write_text(
        CONDITIONS.replace("[initial]", 'restarts = ["8.5 h"]\n[initial]') + STEPS, encoding="utf-8"
    )
    first = run(folder, "steps.toml", "out/box.nc")
    assert (
        "on its way from 32400 s to 36000 s, where a step of 100 s gives values of A, B that are not finite (most "
        in first
    )
    assert "reduce solver.step, or use a Rosenbrock method; to replay it: airshed box" in first
    text = (folder / "out" / "box-failed.toml").read_text(encoding="utf-8")
    assert 'restarts = ["8.5 h"]' in text
    assert "#   A = " in text
    assert "nan" not in text
    again = run(folder, "out/box-failed.toml", "out/replay.nc")
    assert again.partition(" s, on its way")[0] == first.partition(" s, on its way")[0]


def test_a_failure_of_gauss_seidel_among_many_cells(folder: Path) -> None:
    network = load_mechanism(folder / NAME)
    (folder / "steps.toml").write_text(CONDITIONS + STEPS, encoding="utf-8")
    conditions = BoxConditions.load(folder / "steps.toml")
    states = xr.Dataset({"A": ("cell", [1e2, 1e6, 2e2], {"units": "molecules cm-3"})})
    with pytest.raises(ChemistryFailure, match="of cell 1 goes no further than t = ") as caught:
        box(network, conditions, states=states_from_dataset(states, network))
    assert np.isfinite(caught.value.state).all()
    with pytest.raises(ChemistryFailure) as again:
        box(network, caught.value.conditions)
    assert (again.value.cell, again.value.interval) == (None, caught.value.interval)
    assert abs(again.value.time - caught.value.time) <= 200.0


def test_a_failure_among_many_cells(folder: Path) -> None:
    states = folder / "states.csv"
    states.write_text("A [molecules/cm3],j_A [1/s]\n1e2,1e-5\n2e6,1e-6\n5e3,1e-5\n", encoding="utf-8")
    first = run(folder, "grow.toml", "out/box.nc", "--states", str(states))
    assert "the chemistry of cell 1 goes no further than t = 26" in first
    again = run(folder, "out/box-failed-cell-1.toml", "out/replay.nc")
    assert told(again) == told(first).replace(" of cell 1", "")


def test_too_few_steps(emep: ReactionNetwork, problem) -> None:  # type: ignore[no-untyped-def]
    """The integration is repeated with a small first step and ten times as many steps, which may be sufficient."""
    given = {"time__start": "10 h", "time__length": "1 h", "time__output_every": "1 h"}
    with pytest.raises(NumericalError, match=r"raise solver\.most_steps"):
        box(emep, problem(solver={"most_steps": 2}, **given))
    few = BoxRun(emep, problem(solver={"most_steps": 30}, **given))
    series = few.run()
    assert few.model.cells.retried == 1
    plain = BoxRun(emep, problem(solver={}, **given))
    assert np.allclose(series["O3"], plain.run()["O3"], rtol=1e-6)
    assert plain.model.cells.retried == 0


def test_the_failure_knows_all_that_is_needed(folder: Path) -> None:
    network = load_mechanism(folder / NAME)
    conditions = BoxConditions.load(folder / "grow.toml")
    states = xr.Dataset({"A": ("cell", [1e2, 1e6], {"units": "molecules cm-3"})})
    with pytest.raises(ChemistryFailure) as caught:
        box(network, conditions, states=states_from_dataset(states, network))
    failure = caught.value
    assert failure.cell == 1
    assert failure.interval == (28800.0, 32400.0)
    assert failure.interval[0] < failure.time < failure.interval[1]
    assert failure.state.shape == (7,)
    with pytest.raises(ChemistryFailure) as again:
        box(network, failure.conditions)
    assert again.value.time == failure.time
    assert np.array_equal(again.value.state, failure.state)


def test_replay_of_a_cell_of_a_grid(emep: ReactionNetwork) -> None:
    """The inputs are constant and have the names of mechanisms, as in the three-dimensional model."""
    state = np.linspace(1e8, 2e9, len(emep.species))
    inputs = {"TEMP": 285.0, "PRESS": 9e4, "M": 2.28e19, "O2": 4.8e18, "N2": 1.78e19, "H2O": 2e17}
    light = {"SUN": 0.5, "sec_zenith": 2.0, "daylight": 0.8}
    more = {"emission": {"NO": "1e6 molecules/cm3/s"}, "deposition": {"O3": "1e-5 1/s"}, "solver": {"method": "ros3"}}
    conditions = replay_conditions(emep, state, {**inputs, **light}, 300.0, more)
    box = BoxRun(emep, BoxConditions.from_dict(conditions))
    values = box.model.forcing.at([0.0])
    wanted = {**{key: value for key, value in inputs.items() if key[1:] not in ("EMP", "RESS")}, **light, "T": 285.0}
    assert {key: values[key].item() for key in wanted} == pytest.approx(wanted)
    series = box.run()
    assert [float(series[name][0]) for name in emep.names] == state.tolist()
    assert float(series["time"][-1]) == 300.0


def test_replay_gives_open_parameters(folder: Path) -> None:
    network = load_mechanism(folder / NAME)
    conditions = replay_conditions(
        network,
        [1e6, *[0.0] * 6],
        {"TEMP": 285.0, "M": 2e19, "X": 0.0, "j_A": 1e-3, "k_AX": 0.0, "k_grow": 1e-10},
        60.0,
    )
    assert float(box(network, conditions)["B"][-1]) > 1e4
