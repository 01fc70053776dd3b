"""The terminal: live progress, the summary alone in a pipe, and every way to name a case."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import netCDF4
import pytest

from .conftest import CASES, airshed, airshed_here, command, environment

SHORT = ("time.length=1 h", "time.spinup=0 h")
AREA = "grid.area.lon=[5, 7]", "grid.area.lat=[50, 52]"
WIDTH = 80


def on_a_terminal(folder: Path, *arguments: str) -> tuple[int, str]:
    """Run the program on a terminal of 80 columns; return the exit code and its output."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, WIDTH, 0, 0))
    line = command("run", "west-europe", "--output", folder, *arguments, overrides=(*AREA, "time.length=1 h"))
    process = subprocess.Popen(
        line, stdin=follower, stdout=follower, stderr=follower, env=environment(TERM="xterm-256color"), close_fds=True
    )
    os.close(follower)
    written = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:  # the program has closed its end
            break
        if not piece:
            break
        written += piece
    os.close(leader)
    return process.wait(), written.decode()


def frames(written: str) -> list[str]:
    """Return the successive contents of the progress line, and all other lines, without colours."""
    parts = re.split(r"\r\x1b\[2K|\r\n", written)
    return [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", part) for part in parts]


def test_progress_on_a_terminal_stays_on_one_line(tmp_path: Path) -> None:
    code, written = on_a_terminal(tmp_path / "run", "--set", "time.spinup=1 h", "--set", "time.step=60 s")
    assert code == 0
    drawn = [frame for frame in frames(written) if "left" in frame]
    assert any("preparing" in frame for frame in drawn)
    assert any("spin-up" in frame for frame in drawn)
    assert drawn[-1].startswith("2022-08-31 01:00 UTC")
    assert "100%" in drawn[-1]
    assert re.search(r"step 120 \(60 s\) .* cells/s", drawn[-1])
    assert all(len(frame) <= WIDTH for frame in drawn)
    assert written.count("\x1b[1A") == 0  # progress never has a second line
    assert "\x1b[?25h" in written  # the cursor is visible again
    assert any("airshed plot " in frame for frame in frames(written))


@pytest.fixture(scope="module")
def piped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """Return the folder of a run whose program writes to a pipe, and its output."""
    folder = tmp_path_factory.mktemp("piped") / "run"
    fields = 'output.0.fields=["O3", "SA", "boundary_layer_height"]'
    return folder, airshed("run", "west-europe", "--output", folder, overrides=(*AREA, *SHORT, fields))


def test_in_a_pipe_there_is_the_summary_and_nothing_else(piped: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, answer = piped
    assert (answer.returncode, answer.stderr) == (0, "")
    assert "\x1b" not in answer.stdout
    assert "\r" not in answer.stdout
    assert len(answer.stdout.splitlines()) <= 15
    check_summary(folder, answer.stdout)


def check_summary(folder: Path, shown: str) -> None:
    """The summary on the screen has a few facts, the file all tables, in lines of less than 100 columns."""
    facts = (
        "budgets ", "closed: largest relative error", "nitrogen ", "sulphur ", "Gauss-Seidel, 2 sweeps", "wall time",
        "maximum ", "Ozone (O₃)", "at the ground ", "31 August 2022, 0", f"{folder}: output.nc", f"plot {folder}",
    )  # fmt: skip
    assert [part for part in facts if part not in shown] == []
    assert "MALO2H" not in shown
    text = (folder / "summary.txt").read_text()
    tables = (
        "Budgets",
        "nitrogen",
        "sulphur",
        "residual",
        "Minima and maxima",
        "industry",
        "vegetation",
        "kg/day",
        "Wall time",
    )
    assert [part for part in tables if part not in text] == []
    assert max(map(len, text.splitlines())) < 100
    data = json.loads((folder / "summary.json").read_text())
    titles = [table["title"] for table in data["tables"]]
    for part in ("MALO2H", "F_RoadTransport", "National totals", "europe-summer.csv", "Copernicus", *titles):
        assert part in text
    budgets = {row["species"]: row for row in data["tables"][titles.index("Budgets of species [mol]")]["rows"]}
    assert len(budgets) == 66
    emitted = {}
    for row in data["tables"][titles.index("Emission")]["rows"]:
        emitted[row["species"]] = emitted.get(row["species"], 0.0) + row["amount [mol]"]
    for species, amount in emitted.items():
        # the two-step formula spreads the jump at the start of the hour over half a step more
        assert budgets[species]["emitted"] == pytest.approx(amount, rel=1e-2), species


def test_the_output_has_sources_and_molar_masses(
    piped: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    with netCDF4.Dataset(piped[0] / "output.nc") as file:
        for source in ("Copernicus Climate Change Service", "EMEP/CEIP", "GeoNames", "EDGAR", "CMAQ"):
            assert source in file.comment
        assert "10.1002/qj.3803" in file.references
        assert file["O3"].molar_mass == pytest.approx(0.047998, rel=1e-4)
        assert "molar_mass" not in file["air_temperature"].ncattrs()
        assert file["boundary_layer_height"].units == "m"
        assert {"air_temperature", "air_pressure"} <= set(file.variables)


@pytest.mark.parametrize("name", ["tracer-rotation", "{folder}/", "{folder}/case.toml", "."])
def test_every_way_to_name_a_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A case is named from an empty folder by its shipped name, folder with a slash, and file, and in its folder."""
    folder, output = CASES / "tracer-rotation", tmp_path / "out"
    monkeypatch.chdir(tmp_path if name != "." else folder)
    done = airshed_here("run", name.format(folder=folder), "-q", "--output", output, overrides=SHORT)
    assert done.returncode == 0
    assert (output / "output.nc").exists()


def test_python_m_airshed_from_an_empty_folder(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "airshed", "run", "tracer-rotation", "-q", "--set", "time.length=1 h"]
    answer = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, env=environment(), check=False)
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "", "")
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]
    assert (tmp_path / "runs" / "tracer-rotation" / "output.nc").exists()
