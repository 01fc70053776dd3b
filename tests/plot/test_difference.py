"""Differences of two runs, formats of pictures, and the boundary layer in curtains."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from tests.plot.conftest import WriteRun
from typer.testing import CliRunner

from airshed.cli.program import app
from airshed.core.errors import CaseError, DataError
from airshed.io.folder import drawn
from airshed.plot import plot_run
from airshed.plot.curtain import draw_curtain
from airshed.plot.difference import Difference
from airshed.plot.results import Results
from airshed.plot.style import SIGNED


@pytest.fixture
def changed(small: xr.Dataset) -> xr.Dataset:
    """The small run with 10 % less ozone, without its last time."""
    return small.assign(O3=(0.9 * small["O3"]).assign_attrs(small["O3"].attrs)).isel(time=slice(None, -1))


def test_a_difference_is_that_of_the_values_at_common_times(small: xr.Dataset, changed: xr.Dataset) -> None:
    found = Difference(changed, Path("less"), small, Path("base"))
    values = Results(small, Path("base")).ground("O3")
    np.testing.assert_allclose(found.ground("O3"), -0.1 * values[:-1], rtol=1e-5)
    assert np.abs(found.ground("NO2")).max() == 0.0
    np.testing.assert_allclose(
        found.section("O3", 3, [1]), -0.1 * Results(small, Path("base")).section("O3", 3, [1]), rtol=1e-5
    )
    assert found.times.size == small.sizes["time"] - 1
    assert found.quantity("O3").title == "Ozone (O₃): less minus base"
    assert (found.palette("O3"), found.scale(found.ground("O3")).low < 0.0) == (SIGNED, True)


def test_a_difference_shows_a_layer_aloft_only_if_both_runs_do(small: xr.Dataset) -> None:
    aloft = small[["O3"]].copy(deep=True).rename(O3="TRACER")
    aloft["TRACER"][:] = 0.0
    aloft["TRACER"][:, 2] = 1e-9
    mixed = aloft.copy(deep=True)
    mixed["TRACER"][:, 0] = 1e-10
    assert Difference(aloft, Path("run"), aloft, Path("base")).layer("TRACER") == 2
    for pair in ((aloft, mixed), (mixed, aloft)):
        found = Difference(pair[0], Path("run"), pair[1], Path("base"))
        assert found.layer("TRACER") == 0
        assert np.abs(found.ground("TRACER")).max() == pytest.approx(0.1, rel=1e-5)  # ppb


def test_runs_that_do_not_fit_are_refused(small: xr.Dataset, changed: xr.Dataset) -> None:
    other = changed.assign_coords(lat=changed["lat"] + 0.5)
    with pytest.raises(DataError, match="have cells at other latitudes; run both on one grid"):
        Difference(other, Path("less"), small, Path("base"))
    later = changed.assign_coords(time=changed["time"] + np.timedelta64(30, "D"))
    with pytest.raises(DataError, match="have no time in common; run both over one period"):
        Difference(later, Path("less"), small, Path("base"))


def test_the_program_draws_the_second_run_minus_the_first(
    small_run: Path, changed: xr.Dataset, write_run: WriteRun
) -> None:
    second = write_run(changed)
    done = CliRunner().invoke(app, ["plot", "--difference", str(small_run), str(second), "--field", "O3"])
    assert done.exit_code == 0, done.output
    names = ["O3_difference.png", "O3_curtain_difference.png", "O3_cities_difference.png", "O3_difference.gif"]
    assert done.stdout.split() == [str(second / "maps" / name) for name in names]
    refused = CliRunner().invoke(app, ["plot", "--difference", str(small_run)])
    assert (refused.exit_code, "--difference needs two runs" in refused.stderr) == (2, True)


@pytest.mark.parametrize(("kind", "beginning"), [("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")])
def test_pictures_have_the_format_that_is_asked_for(
    kind: str, beginning: bytes, small: xr.Dataset, write_run: WriteRun
) -> None:
    run = write_run(small)
    files = plot_run(run, fields=["O3"], animation=False, kind=kind)
    assert {path.suffix for path in files} == {f".{kind}"}
    assert all(path.read_bytes().startswith(beginning) for path in files)
    assert drawn(run) == sorted(files)  # which a later run sets aside
    again = plot_run(run, run / "again", fields=["O3"], animation=False, kind=kind)
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in files]


def test_another_format_is_refused(small_run: Path, tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="pictures cannot be 'jpg'; choose png, svg, pdf"):
        plot_run(small_run, tmp_path / "new", kind="jpg")
    assert not (tmp_path / "new").exists()


def test_a_curtain_shows_the_top_of_the_boundary_layer_where_it_is_known(small: xr.Dataset) -> None:
    words = "line: top of the boundary layer"
    without = draw_curtain(Results(small, Path("run")), "O3", [5])
    assert words not in [text.get_text() for text in without.texts]
    depth = xr.full_like(small["O3"].isel(level=0, drop=True), 900.0)
    depth.attrs = {"units": "m"}
    figure = draw_curtain(Results(small.assign(boundary_layer_height=depth), Path("run")), "O3", [5])
    assert words in [text.get_text() for text in figure.texts]
    (line,) = figure.axes[0].patches
    assert set(np.asarray(line.get_data().values).tolist()) == {30.0}  # the axis is that of the square root
