"""The tutorial from files of WRF and an inventory to maps: its commands run, on synthetic files."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from tests.models.air.weather.synthetic_wrf import write_wrfout
from typer.testing import CliRunner

import airshed
from airshed.cli.program import app
from airshed.core.files import resource

PAGE = resource("docs/tutorials/own-files.md")


def write_edgar(path: Path) -> None:
    """Write annual fluxes of NOx over 0 to 20 E, 40 to 60 N, in the form of EDGAR v8."""
    lat, lon = np.arange(40.05, 60.0, 0.1), np.arange(0.05, 20.0, 0.1)
    fluxes = np.full((lat.size, lon.size), 2e-11, np.float32)
    attributes = {"substance": "NOx", "long_name": "Fluxes", "units": "kg m-2 s-1", "release": "EDGARv8.1_AP"}
    xr.Dataset(
        {"fluxes": (("lat", "lon"), fluxes, attributes)},
        coords={
            "lat": ("lat", lat, {"units": "degrees_north"}), "lon": ("lon", lon, {"units": "degrees_east"}),
        },
        attrs={"institution": "European Commission, Joint Research Centre", "title": "EDGAR v8.1"},
    ).to_netcdf(path)  # fmt: skip


def commands(text: str) -> list[list[str]]:
    """Return the indented command lines of a page."""
    return [shlex.split(line) for line in re.findall(r"^    airshed (.+)$", text, re.MULTILINE)]


@pytest.mark.standard
def test_the_tutorial_goes_from_files_to_maps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    heights = np.array([0.0, 30.0, 100.0, 300.0, 700.0, 1500.0, 3000.0, 5000.0, 7500.0, 11000.0])
    write_wrfout(tmp_path / "wrfout_d01_2022-06-01_00:00:00", shape=(14, 16), tops=heights)
    write_edgar(tmp_path / "v8.1_FT2022_AP_NOx_2022_TOTALS_flx.nc")
    outputs = []
    for words in commands(PAGE.read_text(encoding="utf-8")):
        if words[0] == "view":  # it serves until Ctrl-C
            continue
        expanded = [
            part for word in words for part in (sorted(map(str, tmp_path.glob(word))) if "*" in word else [word])
        ]
        result = CliRunner().invoke(app, expanded)
        assert result.exit_code == 0, f"{words}: {result.output}"
        outputs.append(result.output)
    assert "missing  a spin-up" in outputs[0]
    with airshed.open_run(tmp_path / "runs" / "mine") as output:
        assert float(output["NO2"].isel(time=-1, level=0).mean()) > 1.5e-10
    assert list((tmp_path / "runs" / "mine" / "maps").glob("*.png"))
