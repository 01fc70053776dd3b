"""`airshed box`: from a conditions file to a netCDF file, which is written atomically."""

import tomllib
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from tests.models.box.toy import INERT, write_toy
from typer.testing import CliRunner

import airshed
from airshed.cli.program import app
from airshed.core.errors import AirshedError, CaseError, OutputError
from airshed.core.files import resource
from airshed.mechanism import ReactionNetwork
from airshed.models.box.run import BoxRun, run_box

CONDITIONS = resource("cases/emep-box") / "conditions.toml"


@pytest.fixture
def short(tmp_path: Path) -> Path:
    """Return the conditions of the EMEP problem for two hours."""
    path = tmp_path / "short.toml"
    path.write_text(CONDITIONS.read_text(encoding="utf-8").replace('"112 h"', '"2 h"'), encoding="utf-8")
    return path


def test_command_writes_the_series(short: Path, tmp_path: Path) -> None:
    output = tmp_path / "box.nc"
    result = CliRunner().invoke(app, ["box", "emep", "--conditions", str(short), "--output", str(output)])
    assert result.exit_code == 0, result.output
    assert "rodas4, tolerance 1e-07 relative, 0.1 molecules/cm3 absolute" in result.output
    with xr.open_dataset(output) as series:
        assert list(series["time"].values) == [14400.0, 18000.0, 21600.0]
        assert series["O3"].attrs == {"units": "molecules cm-3", "long_name": "ozone"}
        assert series["O3"].dtype == np.float64
        assert {"temperature", "pressure", "M", "SUN", "sec_zenith", "daylight"} < set(series.data_vars)
        assert len(series.data_vars) == 72
        assert 'title = "EMEP test problem"' in series.attrs["airshed_conditions"]
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["box.nc", "short.toml"]


def test_report(short: Path, tmp_path: Path) -> None:
    report = run_box("emep", short, tmp_path / "box.nc").report
    assert {"steps", "wall time [s]", "compile time [s]", "added to stay above 0"} < set(report.facts)
    rows = {str(row[0]): row for row in report.tables[0].rows}
    assert rows["O3"][1] == pytest.approx(5e11)
    assert list(rows)[:3] == ["O3", "NO", "NO2"]
    assert report.ok


def test_report_of_other_species(tmp_path: Path) -> None:
    path = tmp_path / "tracer.toml"
    air = 'temperature = "298 K"\npressure = "1000 hPa"'
    text = f'[time]\nlength = "1 h"\n[environment]\n{air}\n[initial]\nTRACER = "1 ppb"\n{INERT}'
    path.write_text(text + '[fixed]\nX = "0 molecules/cm3"\n', encoding="utf-8")
    report = run_box(str(write_toy(tmp_path)), path, tmp_path / "box.nc").report
    assert [row[0] for row in report.tables[0].rows] == ["A", "B", "TRACER", "TRACER2", "RN", "PO", "PB"]
    assert report.tables[0].rows[2][3] == pytest.approx(1.0)


@pytest.mark.parametrize("fault", ["no folder", "folder in the way", "conditions", "mechanism"])
def test_what_fails_leaves_nothing(short: Path, tmp_path: Path, fault: str) -> None:
    output = tmp_path / "out" / "box.nc"
    mechanism = "emep"
    if fault != "no folder":
        output.parent.mkdir()
    if fault == "folder in the way":
        output.mkdir()
    if fault == "conditions":
        short.write_text(
            short.read_text(encoding="utf-8").replace("[initial]\nNO ", "[initial]\nNOx "), encoding="utf-8"
        )
    if fault == "mechanism":
        mechanism = "emepp"
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(AirshedError) as caught:
        run_box(mechanism, short, output)
    assert isinstance(caught.value, CaseError) == (fault == "conditions")
    assert isinstance(caught.value, OutputError) == (fault in ("no folder", "folder in the way"))
    assert len(str(caught.value).splitlines()) <= 2
    assert sorted(tmp_path.rglob("*")) == before


def test_an_error_on_the_command_line(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        app, ["box", "emep", "--conditions", str(tmp_path / "no.toml"), "--output", str(tmp_path / "box.nc")]
    )
    assert result.exit_code == 2
    assert "there is no file" in result.stderr
    assert "Traceback" not in result.output


TRACERS = f"""
{INERT}
[time]
length = "2 h"
[environment]
temperature = "298 K"
pressure = "1000 hPa"
[initial]
TRACER = "1 ppb"
[deposition]
TRACER = "1e-4 1/s"
[fixed]
X = "0 molecules/cm3"
"""


@pytest.fixture
def tracers(tmp_path: Path) -> list[str]:
    """Return the arguments of a run of the passive tracers."""
    path = tmp_path / "tracer.toml"
    path.write_text(TRACERS, encoding="utf-8")
    return ["box", str(write_toy(tmp_path)), "--conditions", str(path), "--output"]


def test_csv_of_one_box_and_of_many(tracers: list[str], tmp_path: Path) -> None:
    """A CSV file has the numbers of the netCDF file, and its last rows can be the initial states of another run."""
    states = tmp_path / "states.csv"
    states.write_text("TRACER [ppb]\n1\n3\n", encoding="utf-8")
    for more in ([], ["--states", str(states)]):
        for name in ("box.nc", "box.csv"):
            result = CliRunner().invoke(app, [*tracers, str(tmp_path / name), "--quiet", *more])
            assert result.exit_code == 0, result.output
            assert result.output == ""
        head, *rows = (tmp_path / "box.csv").read_text(encoding="utf-8").splitlines()
        names = head.split(",")
        assert names[:2] == (["time [s]", "cell"] if more else ["time [s]", "temperature [K]"])
        table = np.array([[float(text) for text in row.split(",")] for row in rows])
        with xr.open_dataset(tmp_path / "box.nc") as series:
            assert len(rows) == 3 * (2 if more else 1)
            assert np.array_equal(table[:, names.index("TRACER [molecules/cm3]")], series["TRACER"].values.ravel())
    again = CliRunner().invoke(app, [*tracers, str(tmp_path / "again.nc"), "--states", str(tmp_path / "box.nc")])
    assert again.exit_code == 0, again.output
    assert "cells" in again.output


def test_picture_and_species(tracers: list[str], tmp_path: Path) -> None:
    picture = tmp_path / "box.png"
    arguments = [*tracers, str(tmp_path / "box.nc"), "--plot", str(picture), "--species", "tracer2,TRACER"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert result.output.index("TRACER2") < result.output.index("TRACER ")


@pytest.mark.parametrize(
    ("output", "more", "message"),
    [
        ("box.txt", [], "unknown format; the name must end in .nc (netCDF) or .csv"),
        ("box.nc", ["--plot", "box.pdf"], "pictures are PNG; end the name in .png"),
        ("box.nc", ["--plot", "none/box.png"], "there is no folder none"),
        ("box.nc", ["--species", "TRACR"], "--species TRACR: not a species of boxes; did you mean TRACER"),
        ("box.nc", ["--states", "none.csv"], "there is no file none.csv"),
        ("box.nc", ["--states", "none.txt"], "unknown format of states; the name must end in .nc (netCDF) or .csv"),
    ],
)
def test_what_is_refused_before_it_begins(
    tracers: list[str], tmp_path: Path, output: str, more: list[str], message: str
) -> None:
    result = CliRunner().invoke(app, [*tracers, str(tmp_path / output), *more])
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (tmp_path / output).exists()


def test_a_stop_leaves_nothing(tracers: list[str], tmp_path: Path) -> None:
    def stop(run: BoxRun) -> None:
        run.simulation.request_stop()

    with pytest.raises(KeyboardInterrupt):
        run_box(tracers[1], Path(tracers[3]), tmp_path / "box.nc", started=stop)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["boxes.def", "tracer.toml"]


def test_progress_goes_from_start_to_end(toy: ReactionNetwork) -> None:
    told: list[float] = []
    series = airshed.box(toy, tomllib.loads(TRACERS), observer=told.append)
    assert told == [0.0, 0.5, 1.0]
    assert list(series.sizes) == ["time"]


def test_a_notebook_shows_the_progress(toy: ReactionNetwork, monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[tuple[float, str]] = []

    class Bar(nullcontext):  # type: ignore[type-arg]
        def __init__(self, *, enabled: bool) -> None:
            super().__init__(lambda done, label: shown.append((done, label)) if enabled else None)

    monkeypatch.setattr("airshed.models.box.run.ProgressBar", Bar)
    airshed.box(toy, tomllib.loads(TRACERS))
    assert shown == [(0.0, "chemistry"), (0.5, "chemistry"), (1.0, "chemistry")]
    airshed.box(toy, tomllib.loads(TRACERS), observer=lambda done: None)  # which replaces the bar
    assert len(shown) == 3


@pytest.mark.compiles
def test_atoms_that_nothing_touches_are_conserved(tmp_path: Path) -> None:
    """Nitrogen is conserved by the reactions of the mechanism; emission is reported as a cause of change."""
    conditions = tmp_path / "strato.toml"
    text = '[time]\nlength = "1 h"\n[environment]\ntemperature = "270 K"\n[initial]\nO3 = "8 ppm"\nNO = "10 ppb"\n'
    conditions.write_text(text, encoding="utf-8")
    for more, opened in (
        ("", "only rounding and clipping"),
        ('[emission]\nNO = "1e5 molecules/cm3/s"\n', "emission"),
    ):
        conditions.write_text(text + more, encoding="utf-8")
        report = run_box("small_strato", conditions, tmp_path / "box.nc").report
        rows = {row[0]: row for row in report.tables[1].rows}
        assert opened in str(rows["N"][2])
        assert (abs(float(rows["N"][1])) < 1e-12) == (more == "")
        assert "reactions R1" in str(rows["O"][2])


def test_the_series_goes_to_the_folder_of_runs_by_default(short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(short.parent)
    result = CliRunner().invoke(app, ["box", "emep", "--conditions", str(short)])
    assert result.exit_code == 0, result.output
    assert "Results: runs/short/box.nc" in result.output
    assert Path("runs/short/box.nc").exists()
    folder = short.parent / "toy"
    folder.mkdir()
    (folder / "conditions.toml").write_text(short.read_text())
    assert CliRunner().invoke(app, ["box", "emep", "--conditions", "toy/conditions.toml", "-q"]).output == ""
    assert Path("runs/toy/box.nc").exists()
