"""A run at a station: files, values set on days, prescribed litter, and errors."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from tests.models.pasture.days import model
from tests.models.pasture.weather_of_years import met_file, station
from typer.testing import CliRunner

from airshed.cli.program import app
from airshed.core.errors import AirshedError
from airshed.models.pasture.fields import STATE
from airshed.models.pasture.point import PointCase, StationModel, run_point, simulate, with_declared_humidity
from airshed.models.pasture.summary import DRY_MATTER, WATER

CASE = """
title = "Nowhere"
[soil]
set = "roselea"
[pasture]
set = "capella"
transpiration_efficiency = 15.0
[humidity]
given = "vapour_pressure"
[grazing]
on = true
[initial]
green_leaf = 200.0
"""
"""Use the compiled library of the shipped case."""

DATA = {
    "soil": {"set": "roselea"}, "pasture": {"set": "capella"}, "humidity": {"given": "vapour_pressure"},
    "grazing": {"on": True},
}  # fmt: skip
YEARS = station()


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "nowhere.met").write_text(met_file(YEARS))
    (tmp_path / "case.toml").write_text(CASE)
    return tmp_path


def run(folder: Path, *overrides: str) -> xr.Dataset:
    run_point(folder / "nowhere.met", folder / "case.toml", folder / "out.nc", overrides)
    return xr.load_dataset(folder / "out.nc")


def test_every_state_flux_and_weather_of_every_day_is_in_the_file(files: Path) -> None:
    found = run(files)
    assert set(found.data_vars) >= {spec.name for spec in (*STATE, *model().fluxes)}
    assert found.sizes == {"time": 730}
    assert str(found.time.values[0])[:10] == "2001-01-01"
    np.testing.assert_array_equal(found["rain"], YEARS["rain"])
    assert found["growth"].attrs == {"long_name": "Growth", "units": "kg ha-1"}
    assert "here transpiration_efficiency = 15.0" in found.attrs["pasture"]
    assert "Q06ROSA" in found.attrs["soil"]
    assert float(found["standing_dry_matter"].max()) > 500.0


def test_a_run_equals_the_scalar_days() -> None:
    series, points = (
        simulate(PointCase.from_dict(DATA), YEARS.between("2001-01-01", "2001-02-28")),
        model(("vapour_pressure",), humidity=DATA["humidity"], grazing=DATA["grazing"]),
    )
    case = PointCase.from_dict(DATA)
    station = StationModel(case, with_declared_humidity(case, YEARS), None)
    parameters, weather = station.parameters, station.weather_of_days
    state = {name: station.state[name] for name in station.start}
    for number in range(59):
        found = points.reference(
            {**points.numbers, **parameters, **state, **{name: each[number] for name, each in weather.items()}}
        )
        for name, value in found.items():
            assert series[name][number] == pytest.approx(float(np.squeeze(value)), rel=1e-9, abs=1e-9), name
            if name in state:
                state[name] = value


def test_balances_close_with_values_set() -> None:
    events = {
        "fire": [{"date": "09-01", "fraction": 0.7}],
        "set": [{"date": "2001-06-10", "green_leaf": 500.0, "water_2": 50.0}, {"date": "03-01", "dead_stem": 0.0}],
    }
    series = simulate(
        PointCase.from_dict({**DATA, "events": events, "grazing": {"on": True, "stocking_rate": 0.2}}), YEARS
    )
    assert series["burnt"].astype(bool).sum() == 2
    assert series["eaten"].min() > 0.0
    assert series.residual(WATER) < 1e-13
    assert series.residual(DRY_MATTER) < 1e-13
    planted = {**series.values, "runoff_total": series["runoff_total"] * 1.001}
    assert type(series)(series.dates, series.specs, planted, series.start, series.given).residual(WATER) > 1e-6
    day = int((np.datetime64("2001-06-10") - series.dates[0]).astype(int))
    assert series["green_leaf"][day] > 390.0 > series["green_leaf"][day - 1]


@pytest.mark.thorough
@pytest.mark.compiles
def test_litter_is_prescribed(files: Path) -> None:
    rows = [f"{date},{number}" for number, date in enumerate(YEARS.dates)]
    (files / "litter.csv").write_text("\n".join(["date,litter", *rows]))
    found = run(files, "weather.litter=litter.csv", "weather.last=2001-03-31")
    assert found["litter"].values.tolist() == list(range(90))
    assert found["litter_decay"].values.max() == 0.0
    (files / "litter.csv").write_text("\n".join(["date,litter", *rows[:50], *rows[51:]]))
    with pytest.raises(AirshedError, match=r"litter\.csv has no litter for 2001-02-20"):
        run(files, "weather.litter=litter.csv")
    (files / "litter.csv").write_text("date,mass\n2001-01-01,5\n")
    with pytest.raises(AirshedError, match="must have the columns date and litter"):
        run(files, "weather.litter=litter.csv")


@pytest.mark.thorough
@pytest.mark.compiles
def test_single_precision_has_six_digits() -> None:
    double, single = (
        simulate(PointCase.from_dict({**DATA, "precision": each}), YEARS) for each in ("double", "single")
    )
    apart = np.abs(double["standing_dry_matter"] - single["standing_dry_matter"])
    assert 0.0 < apart.max() < 1e-3 * double["standing_dry_matter"].max()


@pytest.mark.thorough
@pytest.mark.compiles
def test_the_example_of_the_page_runs() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "pasture.md").read_text(encoding="utf-8")
    case = PointCase.from_dict(tomllib.loads(page.split("## At one place")[1].split("```toml\n")[1].split("```")[0]))
    series = simulate(case, YEARS)
    assert series["tree_water_use"].sum() > 0.0
    assert series["stage_2"].max() > 0.0
    assert series["burnt"].max() > 0.0


WRONG = [
    ("soil.set=rosela", "there is no published soil 'rosela'; did you mean roselea"),
    ("soil.curve_numbr=80", "curve_number"),
    ("soil.curve_number=300", "curve_number = 300 must be at most 100"),
    ("initial.water_9=3", "water_"),
    ("initial.water_1=300", "initial: layer 1 has 300 mm of water; the maximum is 15.75 mm"),
    ("weather.first=1990-01-01", "weather: the case needs 1990-01-01 to 2002-12-31, but .* has 2001-01-01"),
    ("weather.first=soon", "soon, 2002-12-31 are not days"),
    ("humidity.given=damp", "humidity.given"),
    ("grazing.stockingrate=1", "stocking_rate"),
    ("events.set.0.date=31-31", "is not a day"),
    ("precision=half", "precision"),
]


@pytest.mark.parametrize(("override", "message"), WRONG, ids=[override for override, _ in WRONG])
def test_wrong_settings_are_reported(files: Path, override: str, message: str | None) -> None:
    if message is None:  # the case overrides the label of a file
        assert float(run(files, override)["saturation_deficit"].max()) > 20.0
        return
    with pytest.raises(AirshedError) as caught:
        run(files, override)
    assert re.search(message, str(caught.value))
    assert not (files / "out.nc").exists()


def test_humidity_is_never_guessed(files: Path) -> None:
    (files / "case.toml").write_text(CASE.replace('given = "vapour_pressure"', ""))
    with pytest.raises(AirshedError, match=r"case\.toml does not declare the humidity of the weather.*humidity\.given"):
        run(files)


@pytest.mark.thorough
@pytest.mark.compiles
def test_humidity_declared_against_the_evidence_is_reported(files: Path) -> None:
    roma = Path(__file__).parents[3] / "cases" / "queensland" / "inputs" / "qld_roma_2020-2025.met"
    wrong, right = (
        str(run_point(roma, files / "case.toml", files / "out.nc", [f"humidity.given={given}"]).facts)
        for given in ("deficit", "vapour_pressure")
    )
    assert "the column vp is read as vapour_pressure_deficit, but is probably vapour_pressure" in wrong
    assert "is probably" not in right


def test_impossible_weather_is_refused(files: Path) -> None:
    text = (files / "nowhere.met").read_text().splitlines()
    text[20] = re.sub(r"^(\S+ \S+) \S+", r"\1 999.0", text[20])
    (files / "nowhere.met").write_text("\n".join(text))
    with pytest.raises(AirshedError, match=r"^\S+ \(.*nowhere\.met\), 2001-01-16"):  # without the kind of the message
        run(files)


def test_the_command(files: Path) -> None:
    asked = ["--met", str(files / "nowhere.met"), "--parameters", str(files / "case.toml")]
    done = CliRunner().invoke(app, ["pasture", "point", *asked, "--output", str(files / "out.nc"), "--json"])
    assert done.exit_code == 0, done.output
    assert '"relative residual"' in done.output
    assert (files / "out.nc").exists()
    wrong = CliRunner().invoke(app, ["pasture", "point", *asked, "--output", str(files / "out.csv")])
    assert wrong.exit_code != 0
