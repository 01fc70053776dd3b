"""Whole pictures: they exist, can be decoded, show something, and show it in the right place."""

import re
from collections.abc import Callable
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from PIL import Image

from airshed.core.errors import AirshedError, CaseError, DataError, OutputError
from airshed.io.folder import drawn
from airshed.plot import plot_run
from airshed.plot.animation import LARGEST, draw_animation
from airshed.plot.cells import MapCells
from airshed.plot.curtain import row_of
from airshed.plot.maps import area_mean, draw_maps, map_panels, map_scale
from airshed.plot.page import headline
from airshed.plot.panel import shape_of
from airshed.plot.results import Results, place_in_words
from airshed.plot.run import times_of
from airshed.plot.series import draw_series, places_of
from airshed.plot.style import DPI, SIZE, colours, look, new_figure

ROOT = Path(__file__).parents[2]

WriteRun = Callable[[xr.Dataset], Path]
MadeUp = Callable[..., xr.Dataset]


def is_blank(picture: Image.Image) -> bool:
    """Return whether a picture is nearly blank: few colours, or hardly anything but its ground."""
    pixels = np.asarray(picture.convert("RGB"))[::3, ::3].astype(np.int32)
    kinds, counts = np.unique(pixels @ np.array([65536, 256, 1], dtype=np.int32), return_counts=True)
    return len(kinds) < 20 or counts.max() > 0.97 * counts.sum()


@pytest.fixture(scope="module")
def pictures(small_run: Path) -> dict[str, Path]:
    return {path.name: path for path in plot_run(small_run, singles=True, hours=(3, 15))}


def test_all_pictures_of_a_run_are_there(pictures: dict[str, Path], small_run: Path) -> None:
    maps = [f"{name}{ending}.png" for name in ("O3", "NO2") for ending in ("", "_2022-08-31T0300", "_2022-08-31T1500")]
    assert set(pictures) == {*maps, "O3_curtain.png", "NO2_curtain.png", "O3_NO2_cities.png", "O3.gif"}
    assert sorted(path.name for path in (small_run / "maps").iterdir()) == sorted(pictures)


def test_each_picture_can_be_decoded_and_shows_something(pictures: dict[str, Path]) -> None:
    for name, path in pictures.items():
        with Image.open(path) as picture:
            picture.load()
            assert picture.format == path.suffix[1:].upper()
            assert 500 < picture.width < 1600, name
            assert 350 < picture.height < 1300, name
            assert not is_blank(picture), name


def test_each_picture_says_who_drew_it(pictures: dict[str, Path], small_run: Path) -> None:
    assert {path.name for path in drawn(small_run)} == set(pictures)


def test_the_checker_finds_blank_pictures() -> None:
    assert is_blank(Image.new("RGB", (800, 600), "white"))
    dotted = Image.new("RGB", (800, 600), "white")
    dotted.paste("black", (10, 10, 40, 40))
    assert is_blank(dotted)


def test_sizes_follow_the_arrangement(pictures: dict[str, Path], small: xr.Dataset) -> None:
    panels = map_panels(2, shape_of(Results(small, Path("run")).area))
    with Image.open(pictures["O3.png"]) as picture:
        assert picture.width == pytest.approx(panels.page_width * DPI, abs=1)


def test_the_same_run_gives_the_same_bytes(small_run: Path, pictures: dict[str, Path], tmp_path: Path) -> None:
    for path in plot_run(small_run, tmp_path, ["O3"], (3, 15)):
        if path.name != "O3_cities.png":
            assert path.read_bytes() == pictures[path.name].read_bytes(), path.name


def test_a_cell_is_drawn_where_it_lies(made_up_run: MadeUp) -> None:
    data = made_up_run(np.arange(-39.5, -30), np.arange(30.5, 40), hours=[12], levels=1)[["O3"]]
    data["O3"] = xr.zeros_like(data.O3)
    data.O3[0, 0, 7, 2] = 1.0
    results = Results(data, Path("run"))
    with look():
        figure = draw_maps(results, "O3", [0], map_scale(results, "O3", [0]))
        figure.canvas.draw()
    pixels = np.asarray(figure.canvas.buffer_rgba())[:, :, :3].astype(int)
    box = figure.axes[0].get_window_extent()
    inside = pixels[round(pixels.shape[0] - box.y1) : round(pixels.shape[0] - box.y0), round(box.x0) : round(box.x1)]
    dark = np.array(colours("O3")(1.0)[:3]) * 255
    rows, columns = np.nonzero(np.abs(inside - dark).max(axis=2) < 3)
    high, wide = inside.shape[:2]
    assert [columns.min() / wide, (columns.max() + 1) / wide] == pytest.approx([0.2, 0.3], abs=2 / wide)
    assert [1 - (rows.max() + 1) / high, 1 - rows.min() / high] == pytest.approx([0.7, 0.8], abs=2 / high)


def test_a_map_has_the_shape_of_its_latitude(small: xr.Dataset) -> None:
    area = Results(small, Path("run")).area
    assert shape_of(area) == pytest.approx(1 / np.cos(np.radians(50)))


def test_the_mean_counts_cells_by_area() -> None:
    values = np.array([[1.0, 1.0], [4.0, np.nan]])
    cells = MapCells(np.arange(3.0), np.array([-30.0, 30.0, 90.0]))
    assert area_mean(values, cells.weights) == pytest.approx((2 * 1 + 0.5 * 4) / 2.5)


def test_the_animation_has_all_hours_and_one_palette(pictures: dict[str, Path], small: xr.Dataset) -> None:
    results = Results(small, Path("run"))
    with Image.open(pictures["O3.gif"]) as film:
        assert film.n_frames == results.times.size
        assert film.info["duration"] == 220
        assert film.info["loop"] == 0
        assert pictures["O3.gif"].stat().st_size < LARGEST
        corner = [_frame(film, k)[:40, :400] for k in range(film.n_frames)]
        middle = [_frame(film, k)[300:500, 100:400] for k in range(film.n_frames)]
    assert all(np.array_equal(corner[0], later) for later in corner)
    assert any(not np.array_equal(middle[0], later) for later in middle)


def test_equal_fields_give_equal_frames(small: xr.Dataset, tmp_path: Path) -> None:
    still = small.copy(deep=True)
    still["O3"][:] = still.O3[3].values
    with look():
        (tmp_path / "still.gif").write_bytes(draw_animation(Results(still, Path("run")), "O3"))
    with Image.open(tmp_path / "still.gif") as film:
        below = [_frame(film, k)[80:] for k in range(film.n_frames)]
    assert all(np.array_equal(below[0], later) for later in below)


def _frame(film: Image.Image, number: int) -> np.ndarray:
    film.seek(number)
    return np.asarray(film.convert("RGB"))


def test_times_are_the_nearest_of_the_last_whole_day() -> None:
    start = np.datetime64("2022-08-30T00:00:00", "s")
    hourly = start + np.arange(49) * np.timedelta64(1, "h")
    assert times_of(hourly, (3, 9, 15, 21)) == [27, 33, 39, 45]
    assert times_of(hourly[:7], (3, 9, 15, 21), nearest=True) == [3, 6]
    assert times_of(hourly[:1], (3, 9), nearest=True) == [0]
    assert times_of(hourly[::2], (3.2,)) == [14]
    assert times_of(hourly[12:37], (3, 9, 15, 21)) == [3, 9, 15, 21]  # of either day


def test_an_hour_that_the_run_does_not_have_is_refused() -> None:
    short = np.datetime64("2022-08-30T00:00:00", "s") + np.arange(3) * np.timedelta64(1, "h")
    with pytest.raises(CaseError, match="hour 15 is not in the run, which has times from 2022-08-30 00:00 to 2022-08-"):
        times_of(short, (1, 15))


def test_cities_of_the_series_are_far_apart(small: xr.Dataset) -> None:
    area = Results(small, Path("run")).area
    names = [city.name for city in places_of(area)]
    assert names[0] == "Paris"
    assert len(names) == 6


def test_the_curtain_goes_through_the_ruhr(small: xr.Dataset) -> None:
    results = Results(small, Path("run"))
    assert results.cells.y[row_of(results, None, "O3", [5])] == 51.5
    assert results.cells.y[row_of(results, 48.9, "O3", [5])] == 48.5


@pytest.fixture
def plume(small: xr.Dataset) -> xr.Dataset:
    """A tracer in one cell of the third layer, far from cities; the lowest layer holds round-off."""
    tracer = xr.zeros_like(small["O3"]).assign_attrs(long_name="Mixing ratio of passive tracer") + 1e-40
    tracer.attrs = {"units": "mol mol-1", "long_name": "Mixing ratio of passive tracer"}
    tracer[3:, 2, 1, 8] = 4e-9
    return small[[]].assign(TRACER=tracer)


def test_a_plume_is_shown_where_it_is(plume: xr.Dataset) -> None:
    results = Results(plume, Path("run"))
    assert results.cells.y[row_of(results, None, "TRACER", [5])] == 46.5
    assert (results.layer("TRACER"), place_in_words(results, "TRACER")) == (2, "at 130 m")
    assert results.ground("TRACER").max() == pytest.approx(4.0)  # ppb
    with look():
        figure = draw_series(results, ["TRACER"])
        assert figure.axes[0].get_title(loc="left") == "46.5°N, 8.5°E"
        assert "Passive tracer at the maximum and in the largest cities" in [text.get_text() for text in figure.texts]
    at_ground = plume.copy(deep=True)
    at_ground["TRACER"][4, 0, 6, 2] = 1e-12
    results = Results(at_ground, Path("run"))
    assert (results.layer("TRACER"), place_in_words(results, "TRACER")) == (0, "at the ground")


def test_a_species_of_point_sources_alone_is_a_plume(small: xr.Dataset) -> None:
    case = '[[emissions.point]]\nspecies = "NO2"\n'
    peak = small.copy(deep=True)
    peak["NO2"][5, 1, 0, 3] = 1e-6
    rows = [
        row_of(Results(peak.assign_attrs(airshed_case=text), Path("run")), None, "NO2", [5])
        for text in ("", case, f'{case}[emissions]\ngridded = ["a.nc"]\n')
    ]
    assert rows == [6, 0, 6]


def test_a_long_title_fits_its_picture() -> None:
    for title in ("Passive tracer: a-rather-long-name-of-a-run minus another-name-of-a-run along 51.5°N", "run " * 90):
        figure = new_figure(6.4, 4.0, 100.0)
        headline(figure, 0.5, title, "short")
        long, short = figure.texts
        assert long.get_window_extent().x1 <= 640.0
        assert short.get_fontsize() == SIZE["subtitle"]
        assert long.get_text() == title or long.get_text().endswith("...")


def change(kind: str, data: xr.Dataset) -> xr.Dataset:
    """Return an odd variant of a run."""
    if kind == "constant":
        data["O3"][:] = 4e-8
    elif kind == "zero":
        data["O3"][:] = 0
    elif kind == "holes":
        data["O3"] = -data.O3
        data["O3"][:, :, :2] = np.nan
    elif kind == "empty":
        data["O3"][:] = np.nan
    elif kind == "one cell":
        data = data.isel(lat=[3], lon=[4])
    elif kind == "one level":
        data = data.isel(level=[0])
    elif kind == "no levels":
        data = data.isel(level=0, drop=True)
    elif kind == "one time":
        data = data.isel(time=[4])
    return data


KINDS = ("constant", "zero", "holes", "empty", "negative", "one cell", "one level", "no levels", "one time")


@pytest.mark.parametrize(
    "kind", [each if each in ("empty", "holes") else pytest.param(each, marks=pytest.mark.thorough) for each in KINDS]
)
def test_odd_runs(kind: str, small: xr.Dataset, write_run: WriteRun) -> None:
    data = change(kind, small.isel(time=slice(0, 6)).copy(deep=True))
    written = {path.name for path in plot_run(write_run(data), fields=["O3"], hours=(12,), animation=kind == "empty")}
    flat = {"O3.png"} if kind in ("one level", "no levels") else {"O3.png", "O3_curtain.png"}
    moving = set() if kind == "one time" else {"O3_cities.png"}
    assert written == flat | moving | ({"O3.gif"} if kind == "empty" else set())


@pytest.mark.parametrize(
    ("lon", "lat", "spacing"),
    [
        pytest.param((170, 190), (-48, -34), 2.0, id="date line"),
        pytest.param((140, 155), (-38, -26), 1.5, id="south", marks=pytest.mark.thorough),
        pytest.param((0, 360), (-90, 90), 12.0, id="globe", marks=pytest.mark.thorough),
        pytest.param((0, 10), (45, 55), 0.1, id="fine", marks=pytest.mark.thorough),
    ],
)
def test_odd_areas(
    lon: tuple[float, float], lat: tuple[float, float], spacing: float, made_up_run: MadeUp, write_run: WriteRun
) -> None:
    x, y = (np.arange(a + spacing / 2, b, spacing) for a, b in (lon, lat))
    data = made_up_run((x + 180) % 360 - 180 if lon[1] == 190 else x, y, hours=[3, 15], levels=2, wind=True)
    written = plot_run(write_run(data), fields=["NO2"], hours=(3,), animation=spacing < 1)
    assert len(written) == 3 + (spacing < 1)
    with Image.open(written[0]) as picture:
        assert not is_blank(picture)


def test_the_level_is_named_when_it_is_not_the_ground(small: xr.Dataset) -> None:
    assert place_in_words(Results(small, Path("run")), "O3") == "at the ground"
    assert place_in_words(Results(small.isel(level=[3]), Path("run")), "O3") == "at 250 m"


def test_the_documented_example_runs(small_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "how-to" / "pictures.md").read_text(), re.DOTALL)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "west-europe").symlink_to(small_run)
    monkeypatch.chdir(tmp_path)
    names: dict[str, list[Path]] = {}
    exec(example, names)
    assert [path.name for path in names["files"]] == ["O3.png", "O3_curtain.png", "O3_cities.png"]


def test_passive_tracers_without_molar_mass(small: xr.Dataset, write_run: WriteRun) -> None:
    tracers = small[["O3"]].copy(deep=True).rename(O3="blue").isel(time=[0, 4])
    tracers["blue"] = tracers.blue * 1e7
    tracers["blue"].attrs = {"units": "mol mol-1"}
    names = {path.name for path in plot_run(write_run(tracers), hours=(3,), animation=False)}
    assert names == {"blue.png", "blue_curtain.png", "blue_cities.png"}


def test_errors_say_what_is_wrong(small_run: Path, tmp_path: Path) -> None:
    cases: list[tuple[type[AirshedError], str, Callable[[], object]]] = [
        (OutputError, "no run or file", lambda: plot_run(tmp_path / "nowhere")),
        (OutputError, "no run of Airshed", lambda: plot_run(tmp_path)),
        (DataError, "no field 'HNO3'; it has: O3, NO2", lambda: plot_run(small_run, fields=["HNO3"])),
        (CaseError, "hours to map", lambda: plot_run(small_run, hours=())),
        (CaseError, "hours to map", lambda: plot_run(small_run, hours=(25,))),
        (CaseError, "latitude 70", lambda: plot_run(small_run, tmp_path / "p", latitude=70)),
        (OutputError, "cannot write", lambda: plot_run(small_run, small_run / "output.nc" / "maps")),
    ]
    for kind, words, call in cases:
        with pytest.raises(kind, match=words) as caught:
            call()
        assert len(str(caught.value).splitlines()) <= 2


@pytest.mark.parametrize("wrong", [{"latitude": 70.0}, {"latitude": nan}, {"hours": (3, 25)}, {"fields": ["O3", "X"]}])
def test_arguments_are_checked_before_anything_is_written(
    small_run: Path, tmp_path: Path, wrong: dict[str, Any]
) -> None:
    with pytest.raises(AirshedError):
        plot_run(small_run, tmp_path / "pictures", **wrong)
    assert list(tmp_path.iterdir()) == []


def test_nothing_half_written_stays(small_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Path, content: bytes) -> int:
        with open(self, "wb") as file:
            file.write(content[:100])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", fail)
    with pytest.raises(OutputError, match="disk is full"):
        plot_run(small_run, tmp_path / "full", ["O3"], (12,), animation=False)
    assert list((tmp_path / "full").iterdir()) == []


def test_progress_is_reported_before_each_picture(small_run: Path, tmp_path: Path) -> None:
    seen: list[tuple[str, float]] = []
    files = plot_run(small_run, tmp_path, on_progress=lambda now, done: seen.append((now, done)))
    assert [now for now, _ in seen] == [f"drawing {path.name}" for path in files]
    done = [done for _, done in seen]
    assert done[0] == 0.0
    assert done == sorted(set(done))
    assert done[-1] < 1.0
