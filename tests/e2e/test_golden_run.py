"""What is made of a finished run: pictures, budgets, a resumed tail, a gradient, a live session that starts from it."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from tests.golden import RECEPTOR
from tests.serve.conftest import serving
from typer.testing import CliRunner

import airshed
from airshed.cli.program import app
from airshed.runtime.registry import load_case


def command(*arguments: object) -> str:
    """Run the program in this process; return what it prints."""
    done = CliRunner().invoke(app, [str(each) for each in arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def tables(golden: Path) -> dict[str, list[dict[str, float]]]:
    found = json.loads((golden / "run" / "summary.json").read_text())["tables"]
    return {table["title"]: table["rows"] for table in found}


@pytest.fixture
def copy(golden: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(golden, tmp_path / "golden"))


def test_output_has_the_times_and_fields_of_the_case(golden: Path) -> None:
    with airshed.open_run(golden / "run") as hourly, airshed.open_run(golden / "run", "ground") as ground:
        assert list(hourly["time"].values - hourly["time"].values[0]) == [
            np.timedelta64(hour, "h") for hour in range(3)
        ]
        assert hourly["O3"].dims == ("time", "level", "lat", "lon")
        assert hourly["O3"].shape == (3, 3, 16, 16)
        assert len(ground["time"]) == 7
        np.testing.assert_array_equal(ground["O3"].values[::3], hourly["O3"].values[:, :1])


@pytest.mark.parametrize("term", ["residual", "inflow", "chemistry", "settled"])
def test_budgets_close_by_their_terms(golden: Path, term: str) -> None:
    """Change = the terms of sources less those of sinks; without any other term the budget does not close."""
    sources = ("inflow", "emitted", "given by the sea", "produced", "chemistry", "clipped")
    sinks = ("outflow", "deposited", "washed", "settled", "taken by the sea")
    for row in tables(golden)["Budgets of species [mol]"]:
        without = {name: 0.0 if name == term else float(row[name]) for name in (*sources, *sinks)}
        missing = sum(without[name] for name in sources) - sum(without[name] for name in sinks) - float(row["change"])
        size = max(abs(float(row[name])) for name in (*sources, *sinks))
        left_out = 0.0 if term == "residual" else abs(float(row[term]))
        assert abs(missing) == pytest.approx(left_out, abs=1e-9 * size)


def test_pictures_are_drawn(copy: Path) -> None:
    command("plot", copy / "run", "--field", "O3")
    drawn = {path.name for path in (copy / "run" / "maps").iterdir()}
    assert {"O3.png", "O3_curtain.png"} <= drawn
    assert (copy / "run" / "maps" / "O3.png").read_bytes().startswith(b"\x89PNG")


def test_a_run_that_lost_its_end_is_resumed_to_the_same_bits(copy: Path, golden: Path) -> None:
    run = copy / "run"
    for name in ("output.nc", "ground.nc", "summary.txt", "summary.json", "run.json"):
        (run / name).unlink()
    (run / "restart" / "7200.0.npz").unlink()
    case = load_case(copy / "case").allowing_code()
    with airshed.Simulation(case) as whole, airshed.open_run(golden / "run") as expected:
        whole.run()
        np.testing.assert_array_equal(whole["O3"].values.astype(np.float32), expected["O3"].values[-1])


def test_the_gradient_is_of_the_run(golden: Path) -> None:
    with xr.open_dataset(golden / "sensitivity.nc") as found, airshed.open_run(golden / "run") as run:
        place = {"lon": RECEPTOR["lon"], "lat": RECEPTOR["lat"], "level": 0.0}
        at_the_end = float(run["O3"].isel(time=-1).sel(place, method="nearest"))
        assert float(found["value"]) == pytest.approx(at_the_end, rel=1e-6)
        assert float(found["emission"].sel(species="NO").sum()) < 0.0 < float(found["initial"].sel(species="O3").sum())


def test_a_live_session_has_the_fields_of_the_run(golden: Path) -> None:
    case = load_case(golden / "case").allowing_code()
    with serving(case) as server, airshed.connect(server.url) as client, airshed.open_run(golden / "run") as run:
        client.run(until=7200.0)
        np.testing.assert_array_equal(client["O3"].values.astype(np.float32), run["O3"].values[-1])


def test_another_run_would_be_seen(golden: Path) -> None:
    """The negative control of the comparisons above: another wind gives other bits."""
    case = load_case(golden / "case", ['meteorology.eastward="6.01 m/s"']).allowing_code()
    with airshed.Simulation(case) as simulation, airshed.open_run(golden / "run") as run:
        simulation.run()
        assert not np.array_equal(simulation["O3"].values.astype(np.float32), run["O3"].values[-1])
