"""Stations on maps: their values in the unit, at the time and in the colours of the field."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from tests.evaluate.synthetic import AIR, OZONE, write_observations
from typer.testing import CliRunner

import airshed
from airshed.cli.program import app
from airshed.core.errors import CaseError, DataError
from airshed.plot.difference import Difference
from airshed.plot.maps import draw_maps, map_scale
from airshed.plot.results import Results
from airshed.plot.stations import Stations
from airshed.plot.style import look

HOURS = (3.0, 9.0, 15.0)
"""Ends of the observed means, as hours of 31 August 2022."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Ozone of two stations [µg/m³]: 40, 50 and 60 at the first one, and 250 at 9 UTC at the second one."""
    rows = [("A", 5.2, 51.7, "O3", 40.0 + 10.0 * number, "ug/m3", hour) for number, hour in enumerate(HOURS)]
    return write_observations(tmp_path / "o.csv", [*rows, ("B", 7.4, 47.1, "O3", 250.0, "ug/m3", 9.0)])


@pytest.fixture
def results(small: xr.Dataset, small_run: Path) -> Results:
    return Results(small, small_run)


def test_a_station_has_the_mean_that_ends_at_the_time_of_the_map(results: Results, file: Path) -> None:
    stations = Stations.read(results, file)
    numbers = {time: stations.dots("O3", time) for time in range(9)}
    assert [numbers[time].values.size for time in (0, 1, 2, 3, 4, 5)] == [0, 1, 0, 2, 0, 1]
    np.testing.assert_allclose([numbers[3].x, numbers[3].y], [[5.2, 7.4], [51.7, 47.1]])
    assert stations.dots("NO2", 3).values.size == 0


def test_masses_are_those_of_ambient_air(results: Results, small: xr.Dataset, file: Path) -> None:
    """The air of the cell replaces that of the standard, 293 K and 101.3 kPa; in ppb the ratio itself is shown."""
    cold = small.assign(air_temperature=small["air_temperature"] - 20.0)
    lowest = cold.isel(time=3, level=0).sel(lat=51.5, lon=5.5)
    air = float(lowest["air_pressure"] / (8.314462618 * lowest["air_temperature"]))
    found = Stations.read(Results(cold, results.path), file).dots("O3", 3).values[0]
    assert found == pytest.approx(50.0 * air / AIR, rel=1e-5)
    assert found != pytest.approx(50.0, rel=1e-3)
    in_ppb = Results(small.drop_vars("air_pressure"), results.path)
    assert Stations.read(in_ppb, file).dots("O3", 3).values[0] == pytest.approx(50.0 / (OZONE * AIR), rel=1e-4)


def test_dots_have_the_colours_of_the_field(results: Results, file: Path) -> None:
    stations, times = Stations.read(results, file), [1, 3, 4]
    scale = map_scale(results, "O3", times, stations)
    assert (scale.above, map_scale(results, "O3", times).above) == (True, False)
    with look():
        figure = draw_maps(results, "O3", times, scale, stations)
        dots = [axes.collections[-1] for axes in figure.axes[:3]]
        assert [len(each.get_offsets()) for each in dots] == [1, 2, 0]
        mesh = figure.axes[1].collections[0]
        assert (dots[1].norm, dots[1].cmap) == (mesh.norm, mesh.cmap)
        np.testing.assert_allclose(dots[1].get_array(), stations.dots("O3", 3).values)
        assert any(text.get_text().endswith("; dots: stations") for text in figure.texts)


def test_an_evaluation_and_the_program_draw_the_same(small_run: Path, file: Path, tmp_path: Path) -> None:
    options = {"fields": ["O3"], "hours": [9], "animation": False}
    found = airshed.evaluate(small_run, file)
    first, *_ = airshed.plot.plot_run(small_run, tmp_path / "a", observations=found, **options)
    plain, *_ = airshed.plot.plot_run(small_run, tmp_path / "b", **options)
    arguments = [
        "plot",
        str(small_run),
        "--output",
        str(tmp_path / "c"),
        "--field",
        "O3",
        "--hour",
        "9",
        "--no-animation",
    ]
    done = CliRunner().invoke(app, [*arguments, "--observations", str(file)])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "c" / "O3.png").read_bytes() == first.read_bytes() != plain.read_bytes()


def test_observations_that_show_nothing_are_refused(
    results: Results, small: xr.Dataset, small_run: Path, file: Path, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match="no observation of O3 at the hours of the maps; the files have O3 over 1 h"):
        airshed.plot.plot_run(small_run, tmp_path / "new", ["O3"], [6], observations=file)
    assert not (tmp_path / "new").exists()
    with pytest.raises(CaseError, match="a difference of runs cannot show observations"):
        Stations.read(Difference(small, small_run, small, small_run), file)
    refused = CliRunner().invoke(app, ["plot", "--difference", str(small_run), str(small_run), "-o", str(file)])
    assert (refused.exit_code, "leave out --observations" in refused.stderr) == (2, True)
