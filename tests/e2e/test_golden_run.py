"""Uses of a finished run: pictures, budgets, a resumed end, a gradient, and a live session that starts from it."""

import json
import re
import shutil
from pathlib import Path

import netCDF4
import numpy as np
import pytest
import xarray as xr
from tests.golden import RECEPTOR
from tests.serve.conftest import serving
from typer.testing import CliRunner

import airshed
from airshed.cli.program import app
from airshed.core.report import cell_text
from airshed.runtime.registry import load_case

from .conftest import contents, difference


def command(*arguments: object) -> str:
    """Run the program in this process; return its output."""
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
    """The change is the sum of sources minus the sum of sinks; without any of the terms the budget does not close."""
    sources = ("inflow", "emitted", "given by the sea", "produced", "chemistry", "clipped")
    sinks = ("outflow", "deposited", "washed", "settled", "taken by the sea")
    rows = tables(golden)["Budgets of species [mol]"]
    assert term == "residual" or any(row[term] for row in rows)
    for row in rows:
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


def test_a_run_that_was_stopped_is_resumed_to_the_same_bits(golden: Path, tmp_path: Path) -> None:
    with airshed.Simulation(load_case(golden / "case").allowing_code(), output=tmp_path / "run") as simulation:
        simulation.run("70 min")
    command("run", golden / "case", "--allow-code", "-q", "--resume", "--output", tmp_path / "run")
    assert difference(tmp_path / "run", golden / "run") == ""
    assert contents(tmp_path / "run" / "ground.nc") == contents(golden / "run" / "ground.nc")
    with netCDF4.Dataset(tmp_path / "run" / "output.nc", "a") as file:  # the control
        file["O3"][-1, 0, 0, 0] *= np.float32(1.0 + 2.0**-23)
    assert difference(tmp_path / "run", golden / "run") == "O3"


def test_the_summary_has_the_numbers_of_its_tables(golden: Path) -> None:
    text = (golden / "run" / "summary.txt").read_text()
    section = text.partition("Budgets of species [mol]\n")[2].partition("Budgets of families")[0]
    lines = [line.split() for line in section.splitlines()]
    for row in tables(golden)["Budgets of species [mol]"]:
        numbers = [cell_text(value) for name, value in row.items() if name != "species"]
        shown = [cell for line in lines if line[:1] == [str(row["species"])] for cell in line[1:]]  # in several parts
        assert shown == numbers
        assert shown != [*numbers[1:], numbers[0]]  # the control: in another order


def test_the_case_is_shown_and_read_again(golden: Path, tmp_path: Path) -> None:
    text = command("show", golden / "case")
    assert re.search(r"grid +16 x 16 columns, 3 layers: 768 cells", text)
    assert re.search(r'time\.spinup +"20 min" +case\.toml:\d+', text)
    assert re.search(r'time\.step +"5 min" +case\.toml:\d+', text)
    (tmp_path / "case.toml").write_text(command("show", golden / "case", "--toml"))
    for path in (golden / "case").iterdir():
        if path.name != "case.toml":
            shutil.copy(path, tmp_path)
    again, known = (load_case(folder).to_dict() for folder in (tmp_path, golden / "case"))
    assert again == known


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


def test_another_run_is_detected(golden: Path) -> None:
    """Negative control of the comparisons above: another wind gives other bits."""
    case = load_case(golden / "case", ['meteorology.eastward="6.01 m/s"']).allowing_code()
    with airshed.Simulation(case) as simulation, airshed.open_run(golden / "run") as run:
        simulation.run()
        assert not np.array_equal(simulation["O3"].values.astype(np.float32), run["O3"].values[-1])
