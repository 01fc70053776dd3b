"""Inputs from stations: interpolation, declarations, and errors."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from airshed.cli.program import app
from airshed.core.errors import CaseError, DataError
from airshed.grid.box import Box
from airshed.grid.land import LandGrid
from airshed.models.pasture.inputs import open_inputs
from airshed.models.pasture.inputs.block import DAILY, PACKINGS
from airshed.models.pasture.inputs.land import (
    NAMES,
    SHIFTED,
    coast_distance,
    initial_state,
    land_grid,
    reference,
    synthetic_maps,
)
from airshed.models.pasture.inputs.stations import (
    Recipe,
    StationWeather,
    common_calendar,
    inputs_from_stations,
    read_recipe_with_changes,
)
from airshed.models.pasture.inputs.store import check_contents, save
from airshed.models.pasture.weather.calendar import Calendar
from airshed.models.pasture.weather.met import read_met

from .stations import deficit, plausible, with_values

DAYS = 120
COARSE = 'area = "Queensland"\nspacing = 0.2\n'


def met(station, labels=None) -> str:
    """Return a station as the text of a .met file."""
    labels = labels or {
        "radiation": "radn", "max_temperature": "maxt", "min_temperature": "mint", "rain": "rain",
        "pan_evaporation": "pan", "vapour_pressure": "vp",
    }  # fmt: skip
    years = station.dates.astype("datetime64[Y]")
    rows = [
        f"{year} {(day - year.astype('datetime64[D]')).astype(int) + 1} "
        + " ".join(f"{station[name][n]:.1f}" for name in labels)
        for n, (day, year) in enumerate(zip(station.dates, years, strict=True))
    ]
    place = f"latitude = {station.latitude}\nlongitude = {station.longitude}\n"
    head = f"!station name = {station.name}\n{place}year day {' '.join(labels.values())}\n"
    return head + f"() () {' '.join(['()'] * len(labels))}\n" + "\n".join(rows) + "\n"


@pytest.fixture
def folder(tmp_path):
    """Folder of two stations, for a grid of 0.2 degree."""
    (tmp_path / "west.met").write_text(met(plausible(DAYS, latitude=-24.0, longitude=142.0, name="WEST")))
    (tmp_path / "east.met").write_text(met(plausible(DAYS + 20, latitude=-26.0, longitude=150.0, name="EAST")))
    (tmp_path / "stations.toml").write_text(COARSE)
    return tmp_path


def of_one(grid, days=DAYS):
    station = plausible(days, latitude=-26.55, longitude=148.77)
    return station, StationWeather([station], grid, Calendar(station.dates[0], days))


def test_the_cell_of_a_station_has_its_weather():
    grid = LandGrid(np.array([-26.55]), np.array([148.77]), np.array([[True]]))
    station, weather = of_one(grid)
    block = weather.block(0, DAYS, (0, 1))
    assert np.abs(block.daily["rain"][:, 0] - station["rain"]).max() <= 0.05 + 1e-9
    for name, values in block.weekly.items():
        means = [station[name][first : first + 7].mean() for first in range(0, DAYS, 7)]
        assert np.abs(values[:, 0] - means).max() <= PACKINGS[name].scale / 2 + 1e-9, name


def test_weather_changes_by_the_stated_gradients():
    grid = land_grid("Queensland", 0.6)
    station, weather = of_one(grid)
    away = coast_distance(grid.cell_lat, grid.cell_lon)
    there = coast_distance([-26.55], [148.77])
    block = weather.block(0, 7, (0, grid.cells))
    for name in NAMES:
        values = block.daily[name][:7].mean(axis=0) if name in DAILY else block.weekly[name][0]
        of_cell, of_station = reference(name, grid.cell_lat, away), reference(name, np.array([-26.55]), there)
        mean = station[name][:7].mean()
        expected = mean + of_cell - of_station if name in SHIFTED else mean * of_cell / of_station
        assert np.abs(values - expected).max() <= PACKINGS[name].scale / 2 + 1e-9, name


def test_missing_values_of_a_station_have_no_weight():
    grid = LandGrid(np.array([-24.0]), np.array([142.0, 146.0, 150.0]), np.ones((1, 3), bool))
    west, east = (plausible(DAYS, latitude=-24.0, longitude=lon) for lon in (142.0, 150.0))
    east = with_values(east, rain=np.full(DAYS, 10.0))
    west = with_values(west, rain=np.where(np.arange(DAYS) < 50, 0.0, np.nan))
    rain = StationWeather([west, east], grid, Calendar(west.dates[0], DAYS)).block(0, DAYS, (0, 3))
    first, second = rain.daily["rain"][:50], rain.daily["rain"][50:]
    assert first[:, 0].max() < 0.1
    assert first[:, 2].min() > 9.9
    assert (second > 3.0).all()


def test_values_do_not_depend_on_the_requested_range():
    grid = land_grid("Queensland", 0.6)
    _, weather = of_one(grid)
    whole = weather.block(0, DAYS, (0, grid.cells)).dense()
    part = weather.block(37, 11, (100, 251)).dense()
    for name in NAMES:
        assert np.array_equal(part[name], whole[name][37:48, 100:251]), name


def test_a_day_without_values_at_any_station_is_refused():
    station = plausible(DAYS)
    station = with_values(station, rain=np.where(np.arange(DAYS) == 30, np.nan, station["rain"]))
    grid = land_grid("Queensland", 0.6)
    with pytest.raises(DataError, match="no station has rain on 2018-01-31"):
        StationWeather([station], grid, Calendar(station.dates[0], DAYS))
    with pytest.raises(DataError, match="no station has radiation"):
        common_calendar([with_values(station, radiation=None)])


def test_area_of_queensland_is_correct():
    grid = land_grid("Queensland", 0.1)
    assert grid.mask.shape == (186, 156)
    assert grid.cells == 15219
    area = (0.1 * 111.195) ** 2 * np.cos(np.radians(grid.cell_lat)).sum()
    assert area == pytest.approx(1.729e6, rel=0.005)  # km2, with islands: Geoscience Australia


@pytest.mark.parametrize(
    ("area", "spacing", "message"),
    [
        ("Atlantis", 0.1, "'Atlantis' is not known"),
        ("queenland", 0.1, "did you mean Queensland"),
        ("Queensland", 0.7, "not a whole number of cells"),
    ],
)
def test_unknown_areas_are_refused(area, spacing, message):
    with pytest.raises(CaseError, match=message):
        land_grid(area, spacing)


def test_maps_depend_on_the_seed_and_have_equal_shares_of_classes():
    grid = land_grid("Queensland", 0.2)
    maps, again, other = (synthetic_maps(grid, seed) for seed in (1, 1, 2))
    assert np.array_equal(maps["soil_class"], again["soil_class"])
    assert (maps["soil_class"] != other["soil_class"]).mean() > 0.5
    assert np.ptp(np.bincount(maps["soil_class"])) <= 1
    assert (np.diff(maps["soil_class"].astype(int)) != 0).mean() < 0.3  # hills; noise has 2/3
    state = initial_state(maps)
    assert len(state) == 12
    assert all(np.isfinite(each).all() and (each >= 0.0).all() for each in state.values())


def test_a_folder_of_stations_and_its_prepared_store_are_the_same(folder, tmp_path):
    made = open_inputs(folder)
    for layout in ("land", "full"):
        save(made, tmp_path / layout, layout=layout)
        stored = open_inputs(tmp_path / layout)
        box = Box(((0, made.grid.cells),))
        one, other = made.weather(box, 0, DAYS), stored.weather(box, 0, DAYS)
        assert all(np.array_equal(one[name], other[name]) for name in one)
        assert np.array_equal(made.soil_class, stored.soil_class)
        assert made.attributes == stored.attributes
        assert "synthetic (seed 1994)" in stored.attributes["synthetic"]
        assert all(np.array_equal(made.initial[name], stored.initial[name]) for name in made.initial)
        check_contents(tmp_path / layout)


def test_bad_weather_is_refused_with_station_day_and_value(folder):
    bad = plausible(DAYS, name="BAD")
    rain = bad["rain"].copy()
    rain[10] = 9999.0
    (folder / "bad.met").write_text(met(with_values(bad, rain=rain)))
    message = r"1 error in the weather.*\n.*BAD \(.*bad.met\), 2018-01-11: rain 9999 mm is a code"
    with pytest.raises(DataError, match=message):
        open_inputs(folder)
    (folder / "stations.toml").write_text(COARSE + '[stations."bad.met"]\nuse = false\n')
    assert open_inputs(folder).grid.cells > 3000
    (folder / "stations.toml").write_text(COARSE + 'first = "2018-02-01"\n')
    assert str(open_inputs(folder).calendar.first) == "2018-02-01"


def test_a_deficit_becomes_a_pressure_where_it_is_declared(folder):
    labels = {
        "radiation": "radn", "max_temperature": "maxt", "min_temperature": "mint", "rain": "rain",
        "pan_evaporation": "pan", "vapour_pressure_deficit": "vp",
    }  # fmt: skip
    east = plausible(DAYS, latitude=-26.0, longitude=150.0)
    dry = with_values(east, vapour_pressure_deficit=deficit(east))
    (folder / "east.met").write_text(met(dry, labels))
    (folder / "west.met").unlink()
    taken = inputs_from_stations(folder)
    assert [each.rule for each in taken.problems if each.rule == "humidity"] == ["humidity"]
    declared = COARSE + '[stations."east.met"]\nhumidity = "vapour_pressure_deficit"\n'
    (folder / "stations.toml").write_text(declared)
    believed = inputs_from_stations(folder)
    assert [each.rule for each in believed.problems] == []
    (station,) = believed.stations
    assert np.abs(station["vapour_pressure"] - east["vapour_pressure"]).max() < 0.5


def test_a_station_without_a_place_is_refused_until_it_is_declared(folder):
    text = (folder / "west.met").read_text().replace("longitude = 142.0\n", "")
    (folder / "west.met").write_text(text)
    with pytest.raises(DataError, match=r"west.met has no longitude; declare it"):
        open_inputs(folder)
    (folder / "stations.toml").write_text(COARSE + '[stations."west.met"]\nlongitude = 142.0\n')
    assert {each.longitude for each in inputs_from_stations(folder).stations} == {142.0, 150.0}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("area = ", "is not TOML"),
        ('aera = "Queensland"', "did you mean area"),
        ('[stations."no.met"]\nuse = true', "has no file no.met"),
        ('first = "yesterday"', "is not a day such as"),
        ('first = "1950-01-01"', "stations have complete weather from 2018-01-01 to"),
    ],
)
def test_wrong_declarations_are_reported(folder, text, message):
    (folder / "stations.toml").write_text(text)
    with pytest.raises(DataError, match=message):
        open_inputs(folder)


def test_inputs_are_limited_to_requested_years(folder):
    assert read_recipe_with_changes(folder, years="2018-2019").last == "2019-12-31"
    assert read_recipe_with_changes(folder, years="2018").first == "2018-01-01"
    assert read_recipe_with_changes(folder, given={"seed": 7}).seed == 7
    assert read_recipe_with_changes(folder).spacing == 0.2
    with pytest.raises(DataError, match="must be a range such as"):
        read_recipe_with_changes(folder, years="18-19")
    with pytest.raises(DataError, match="the first is after the last"):
        read_recipe_with_changes(folder, years="2019-2018")
    with pytest.raises(DataError, match="spacing"):
        read_recipe_with_changes(folder, given={"spacing": 50.0})
    assert read_recipe_with_changes(folder / "nowhere") == Recipe()


def prepare(*arguments):
    return CliRunner().invoke(app, ["pasture", "prepare", *map(str, arguments)])


def test_the_command_writes_inputs_and_reports_problems(folder, tmp_path):
    answer = prepare("--stations", folder, "--output", tmp_path / "inputs", "--spacing", "0.6", "--json")
    assert answer.exit_code == 0, answer.output
    told = json.loads(answer.stdout)
    assert told["facts"]["land cells"] == open_inputs(tmp_path / "inputs").grid.cells
    assert {row["station"] for row in told["tables"][0]["rows"]} == {"EAST", "WEST"}
    assert told["facts"]["ratio"] > 2.0
    again = prepare("--stations", folder, "--output", tmp_path / "inputs")
    assert again.exit_code == 2
    assert "exists already" in again.output


def test_without_an_output_the_command_only_checks(folder):
    before = sorted(folder.iterdir())
    answer = prepare("--stations", folder)
    assert answer.exit_code == 0, answer.output
    assert "EAST" in answer.stdout
    assert sorted(folder.iterdir()) == before


def test_the_shipped_case_has_its_inputs():
    inputs = open_inputs("cases/queensland/inputs")
    assert inputs.grid.cells == 15219
    assert (str(inputs.calendar.first), inputs.calendar.days) == ("2020-01-01", 2024)
    assert inputs.attributes["license"] == "CC BY 4.0"
    roma = read_met("cases/queensland/inputs/qld_roma_2020-2025.met")
    near = int(np.argmin(np.hypot(inputs.grid.cell_lat - roma.latitude, inputs.grid.cell_lon - roma.longitude)))
    rain = inputs.weather(Box(((near, near + 1),)), 0, 366)["rain"]
    assert rain.sum() == pytest.approx(roma["rain"][:366].sum(), rel=0.02)


def test_a_missing_folder_is_reported(tmp_path):
    with pytest.raises(DataError, match="there is no folder"):
        inputs_from_stations(tmp_path / "nowhere", Recipe())
