"""Pictures of a year of land cells that lie packed in their file."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from PIL import Image

from airshed.plot import plot_run
from airshed.plot.land_series import draw_land_series
from airshed.plot.maps import draw_maps, map_scale
from airshed.plot.page import hour_of, period
from airshed.plot.results import Results, place_in_words
from airshed.plot.run import spread_days

DAYS = 366


@pytest.fixture(scope="module")
def packed() -> xr.Dataset:
    """A wavy field on the land east of a slanting coast, once a day."""
    lat, lon = np.meshgrid(-29.0 + 0.5 * np.arange(30), 140.0 + 0.5 * np.arange(24), indexing="ij")
    land = lon + 0.2 * lat < 146.0
    time = np.datetime64("2020-01-01", "ns") + np.arange(DAYS) * np.timedelta64(1, "D")
    season = 1.0 + np.sin(2 * np.pi * np.arange(DAYS) / 365.0)[:, None]
    values = 1500.0 * season * (1.2 + np.sin(lat[land] / 3.0) * np.cos(lon[land] / 2.0))
    attributes = {"units": "kg ha-1", "long_name": "Standing dry matter"}
    return xr.Dataset(
        {"standing_dry_matter": (("time", "cell"), values.astype(np.float32), attributes)},
        {"time": time, "cell": np.arange(land.sum()), "lat": ("cell", lat[land]), "lon": ("cell", lon[land])},
    )


def test_packed_cells_are_drawn_on_their_map(packed: xr.Dataset, tmp_path: Path) -> None:
    results = Results(packed, tmp_path)
    ground, first = results.ground("standing_dry_matter"), packed["standing_dry_matter"][:, 7]
    row = int(np.argmin(np.abs(results.cells.y - float(first.lat))))
    column = int(np.argmin(np.abs(results.cells.x - float(first.lon))))
    np.testing.assert_allclose(ground[:, row, column], first.values)
    assert ground.shape == (DAYS, 30, 24)
    assert np.isnan(ground).mean() == pytest.approx(1.0 - packed.sizes["cell"] / 720.0)


def test_a_year_of_days_has_maps_of_four_of_them_and_an_axis_of_months(packed: xr.Dataset, tmp_path: Path) -> None:
    packed.to_netcdf(tmp_path / "output.nc")
    drawn = {path.name: path for path in plot_run(tmp_path / "output.nc")}
    assert set(drawn) == {f"standing_dry_matter{end}" for end in (".png", "_land.png", ".gif")}
    for path in drawn.values():
        with Image.open(path) as picture:
            pixels = np.asarray(picture.convert("RGB").resize((60, 40))).reshape(-1, 3)
            assert len(np.unique(pixels, axis=0)) > 20, path.name


def test_days_to_map_are_evenly_spread() -> None:
    assert spread_days(packed_times(366)) == [91, 182, 274, 365]
    assert spread_days(packed_times(3)) == [1, 2]


def packed_times(count: int) -> np.ndarray:
    return np.datetime64("2020-01-01", "s") + np.arange(count) * np.timedelta64(86400, "s")


def test_land_is_not_the_ground_below_air(packed: xr.Dataset, tmp_path: Path) -> None:
    assert place_in_words(Results(packed, tmp_path), "standing_dry_matter") == "on land"


def test_days_are_called_alike_above_a_picture_and_in_it() -> None:
    days = packed_times(366)
    assert period(days[[91, 365]]) == "1 April 2020 to 31 December 2020"
    assert hour_of(days, 365) == "31 Dec 2020"
    hours = np.datetime64("2020-01-01", "s") + np.arange(25) * np.timedelta64(3600, "s")
    assert period(hours) == "1 January 2020"


def test_dates_and_numbers_above_a_map_do_not_meet(packed: xr.Dataset, tmp_path: Path) -> None:
    results = Results(packed * 1.0e4 + 0.123, tmp_path)
    times = [91, 182, 274, 365]
    figure = draw_maps(results, "standing_dry_matter", times, map_scale(results, "standing_dry_matter", times))
    for axes in figure.axes[:4]:
        left, right = (axes._left_title, axes._right_title)  # type: ignore[attr-defined]
        assert left.get_window_extent().x1 < right.get_window_extent().x0


def test_a_curve_that_would_lie_flat_has_an_axis_of_its_own(packed: xr.Dataset, tmp_path: Path) -> None:
    with_growth = packed.assign(growth=0.01 * packed["standing_dry_matter"], dead=0.5 * packed["standing_dry_matter"])
    for name in ("growth", "dead"):
        with_growth[name].attrs["units"] = "kg ha-1"
    with_growth.to_netcdf(tmp_path / "output.nc")
    drawn = plot_run(tmp_path / "output.nc", fields=["standing_dry_matter", "growth", "dead"], animation=False)
    series = [path.name for path in drawn if path.name.endswith("_land.png")]
    assert series == ["standing_dry_matter_dead_land.png", "growth_land.png"]


def test_series_on_land_are_means_over_it_and_growth_is_per_day(packed: xr.Dataset, tmp_path: Path) -> None:
    growth = packed.assign(growth=0.01 * packed["standing_dry_matter"])
    growth["growth"].attrs.update(units="kg ha-1", long_name="Growth")
    results = Results(growth, tmp_path)
    quantity = results.quantity("growth")
    assert (quantity.title, quantity.unit) == ("Growth per day", "kg ha⁻¹ d⁻¹")
    figure = draw_land_series(results, ["growth"])
    (axes,) = figure.axes
    values = results.ground("growth")
    assert np.nanmin(values[-1]) <= axes.lines[0].get_ydata()[-1] <= np.nanmax(values[-1])
    texts = [text.get_text() for text in figure.texts]
    assert "Growth per day" in texts
    assert not any("cities" in text for text in texts)
