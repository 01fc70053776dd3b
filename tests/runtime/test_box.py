"""`airshed box`: from a conditions file to a netCDF file, whole or not at all."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

from airshed.cli.main import app
from airshed.core.errors import AirshedError, CaseError, OutputError
from airshed.core.resources import resource
from airshed.runtime.box import run_box

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
    text = f'[time]\nlength = "1 h"\n[environment]\n{air}\n[initial]\nTRACER = "1 ppb"\n'
    path.write_text(text, encoding="utf-8")
    report = run_box("tracer", path, tmp_path / "box.nc").report
    assert [row[0] for row in report.tables[0].rows] == ["TRACER", "TRACER2"]
    assert report.tables[0].rows[0][3] == pytest.approx(1.0)


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
