"""Evaluation of a synthetic run whose statistics are known."""

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from tests.evaluate.synthetic import AIR, NITROGEN_DIOXIDE, OZONE, hourly, ozone, write_observations, write_run
from typer.testing import CliRunner

import airshed
from airshed.cli.program import app
from airshed.core.errors import AirshedError
from airshed.observations.parameters import unit_in
from airshed.observations.selection import rejected_rows_table

pytestmark = pytest.mark.standard


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run.nc")


def pooled(found: airshed.evaluate.Evaluation, name: str, species: str = "O3", run: str = "run") -> float:
    table = found.statistics
    row = table[(table.group == "pooled") & (table.species == species) & (table.run == run)]
    return float(row[name].iloc[0])


def test_a_known_bias_is_found_exactly(run: Path, tmp_path: Path) -> None:
    file = write_observations(
        tmp_path / "o.csv", hourly("A", 7.25, 52.0, bias=3.0) + hourly("B", 8.5, 51.25, bias=-1.0)
    )
    found = airshed.evaluate(run, file)
    assert pooled(found, "N") == 48
    assert pooled(found, "MB") == pytest.approx(1.0, rel=1e-6)
    assert pooled(found, "RMSE") == pytest.approx(np.sqrt(5.0), rel=1e-6)
    stations = found.statistics[found.statistics.group == "station"].set_index("name")
    assert stations.MB["A"] == pytest.approx(3.0, rel=1e-6)
    assert stations.R["B"] == pytest.approx(1.0, rel=1e-9)
    assert stations.coverage.tolist() == [1.0, 1.0]
    assert repr(found) == "<Evaluation of run: 48 pairs at 2 stations>"


@pytest.mark.parametrize("means", [False, True])
def test_means_over_intervals_are_exact_for_a_linear_field(tmp_path: Path, means: bool) -> None:
    run = write_run(tmp_path / "run.nc", means=means)
    found = airshed.evaluate(run, write_observations(tmp_path / "o.csv", hourly("A", 7.25, 52.0)))
    np.testing.assert_allclose(found.pairs.modelled[0], found.pairs.observed, rtol=1e-6)
    assert found.conventions["time"].endswith("time means of the run" if means else "linear in time")


def test_a_time_label_that_is_an_hour_late_is_seen(run: Path, tmp_path: Path) -> None:
    """The negative control of the times: the same values an hour later are 1.5 ppb off."""
    found = airshed.evaluate(run, write_observations(tmp_path / "o.csv", hourly("A", 7.25, 52.0, shift=1.0)))
    assert pooled(found, "MB") == pytest.approx(1.5e-9 * OZONE * AIR * 1e9, rel=1e-6)
    assert pooled(found, "N") == 23
    assert [row.reason for row in found.rejected] == ["outside the window"]


def test_units_by_hand(tmp_path: Path) -> None:
    """1 ppb of NO2 is 1.9136 ug/m3 at 293 K and 101.3 kPa; observations in ppb and in ug/m3 become one series."""
    run = write_run(tmp_path / "run.nc", field=lambda hours, lon, lat: 10e-9 + 0.0 * (hours + lon + lat), more=["NO2"])
    size = NITROGEN_DIOXIDE * AIR
    rows = [("A", 7.0, 52.0, "NO2", 10.0, "ppb", 1.0), ("A", 7.0, 52.0, "NO2", 10.0 * size, "ug/m3", 2.0)]
    found = airshed.evaluate(run, write_observations(tmp_path / "o.csv", rows))
    assert size == pytest.approx(1.9130, rel=1e-3)
    np.testing.assert_allclose(found.pairs.observed, 10.0 * size, rtol=1e-12)
    np.testing.assert_allclose(found.pairs.modelled[0], 10.0 * size, rtol=1e-6)
    only = write_observations(tmp_path / "ppb.csv", rows[:1])
    assert airshed.evaluate(run, only).matched.units == {"NO2": "ppb"}


def test_nox_is_the_sum_as_no2(tmp_path: Path) -> None:
    run = write_run(
        tmp_path / "run.nc", field=lambda hours, lon, lat: 10e-9 + 0.0 * (hours + lon + lat), more=["NO", "NO2"]
    )
    rows = [("A", 7.0, 52.0, "NOx", 20.0 * NITROGEN_DIOXIDE * AIR, "ug/m3", 1.0)]
    assert pooled(airshed.evaluate(run, write_observations(tmp_path / "o.csv", rows)), "MB", "NOx") == pytest.approx(
        0.0, abs=1e-5
    )


def test_place_in_the_cell_or_between_centres(run: Path, tmp_path: Path) -> None:
    file = write_observations(tmp_path / "o.csv", hourly("A", 7.25, 52.0))
    cell = airshed.evaluate(run, file, placement="cell")
    assert pooled(cell, "MB") == pytest.approx((2.0 * 0.25 - 0.5) * OZONE * AIR, abs=1e-5)
    assert pooled(airshed.evaluate(run, file), "MB") == pytest.approx(0.0, abs=1e-5)
    neighbours = cell.pairs
    assert (neighbours.least < neighbours.modelled).all()
    assert (neighbours.greatest > neighbours.modelled).all()


def test_stations_outside_are_counted(run: Path, tmp_path: Path) -> None:
    file = write_observations(tmp_path / "o.csv", hourly("A", 7.25, 52.0) + hourly("B", 30.0, 52.0))
    found = airshed.evaluate(run, file)
    assert found.report().facts["stations"] == 1
    assert {row.reason for row in found.rejected} == {"outside the domain"}


def test_pooled_quarter_of_the_data_is_marked(run: Path, tmp_path: Path) -> None:
    found = airshed.evaluate(run, write_observations(tmp_path / "o.csv", hourly("A", 7.25, 52.0)[:12]))
    station = found.statistics[found.statistics.group == "station"].iloc[0]
    assert station.coverage == 0.5
    assert not station.complete


def test_two_runs_are_side_by_side(tmp_path: Path) -> None:
    base = write_run(tmp_path / "base.nc")
    less = write_run(tmp_path / "less.nc", field=lambda *at: ozone(*at) - 2e-9)
    found = airshed.evaluate([base, less], write_observations(tmp_path / "o.csv", hourly("A", 7.25, 52.0)))
    assert pooled(found, "MB", run="base") - pooled(found, "MB", run="less") == pytest.approx(
        2.0 * OZONE * AIR, rel=1e-5
    )

    [change, *_] = found.report().tables
    row = change.to_dict()["rows"][0]
    assert change.title == "Change from base"
    assert row["RMSE"] == pytest.approx(2.0 * OZONE * AIR, rel=1e-2)


def test_pairs_have_the_layout_of_melodies_monet(run: Path, tmp_path: Path) -> None:
    file = write_observations(tmp_path / "o.csv", hourly("A", 7.25, 52.0) + hourly("B", 8.5, 51.25)[3:])
    done = CliRunner().invoke(app, ["evaluate", str(run), "--observations", str(file), "--no-pictures"])
    assert done.exit_code == 0, done.output
    with xr.open_dataset(tmp_path / "evaluation" / "pairs_run.nc") as pairs:
        assert dict(pairs.sizes) == {"time": 24, "x": 2}
        assert pairs.siteid.values.tolist() == ["A", "B"]
        assert pairs.latitude.dims == pairs.longitude.dims == ("x",)
        assert str(pairs.time.values[0]).startswith("2022-08-31T00:00")
        np.testing.assert_allclose(pairs.O3, pairs.O3_new, rtol=1e-6)
        assert int(pairs.O3.notnull().sum()) == 45


def test_the_command_writes_tables_and_replaces_its_own_folder_alone(run: Path, tmp_path: Path) -> None:
    file = write_observations(tmp_path / "o.csv", hourly("A", 7.25, 52.0, bias=2.0))
    arguments = ["evaluate", str(run), "--observations", str(file), "--no-pictures"]
    for _ in range(2):
        assert CliRunner().invoke(app, arguments).exit_code == 0
    folder = tmp_path / "evaluation"
    content = json.loads((folder / "statistics.json").read_text())
    assert content["statistics"][0]["MB"] == pytest.approx(2.0, rel=1e-6)
    assert (folder / "statistics.csv").read_text().startswith("run,species,unit,group,name,")
    assert "O3 [ug/m3]" in (folder / "report.txt").read_text()
    assert {path.name for path in tmp_path.iterdir()} == {"run.nc", "o.csv", "evaluation"}
    other = tmp_path / "mine"
    other.mkdir()
    (other / "letter.txt").write_text("mine")
    refused = CliRunner().invoke(app, [*arguments, "--output", str(other)])
    assert refused.exit_code == 2
    assert (other / "letter.txt").is_file()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"species": ["O9"]}, "no species 'O9' to compare; known are O3"),
        ({"placement": "middle"}, "bilinear or cell"),
    ],
)
def test_settings_that_cannot_be(run: Path, tmp_path: Path, options: dict, words: str) -> None:
    file = write_observations(tmp_path / "o.csv", hourly("A", 7.25, 52.0))
    with pytest.raises(AirshedError, match=words):
        airshed.evaluate(run, file, **options)


STATIONS = """station,lon,lat,altitude,area,type
A,7.25,52.0,80,urban,background
B,8.5,51.25,75,urban,traffic
C,6.5,51.0,130,rural,background
"""


@pytest.fixture
def classes(tmp_path: Path) -> Path:
    table = tmp_path / "stations.csv"
    table.write_text(STATIONS)
    rows = hourly("A", 7.25, 52.0, bias=1.0) + hourly("B", 8.5, 51.25, bias=20.0) + hourly("C", 6.5, 51.0, bias=3.0)
    return write_observations(tmp_path / "o.csv", rows)


def test_traffic_stations_are_shown_and_not_scored(run: Path, classes: Path) -> None:
    found = airshed.evaluate(run, classes)
    assert pooled(found, "MB") == pytest.approx(2.0, rel=1e-6)
    table = found.statistics.set_index(["group", "name"])
    assert table.MB["station", "B"] == pytest.approx(20.0, rel=1e-6)
    assert not table.scored["station", "B"]
    assert table.loc["class"].MB.to_dict() == pytest.approx(
        {"rural background": 3.0, "urban background": 1.0}, rel=1e-6
    )
    assert pooled(airshed.evaluate(run, classes, traffic=True), "MB") == pytest.approx(8.0, rel=1e-6)


def test_a_station_on_a_hill_is_compared_with_the_layer_at_its_altitude(tmp_path: Path, classes: Path) -> None:
    """C lies 105 m above the model's ground, beyond the highest layer of the file, which holds tenfold values."""
    run = write_run(tmp_path / "run.nc", ground=25.0)
    found = airshed.evaluate(run, classes)
    pairs = found.pairs
    ratio = (pairs.modelled[0] / pairs.observed).groupby(pairs.station).mean()
    assert float(ratio.sel(station="C")) > 9.0
    assert float(ratio.sel(station="A")) == pytest.approx(1.0, abs=0.1)
    assert found.report().facts["in a higher layer"] == "C (20 to 50 m above ground)"


def test_a_high_inlet_is_compared_with_the_layer_that_contains_it(run: Path, tmp_path: Path) -> None:
    file = write_observations(tmp_path / "o.csv", hourly("A", 7.25, 52.0) + hourly("B", 8.5, 51.25))
    (tmp_path / "stations.csv").write_text("station,lon,lat,inlet\nA,7.25,52.0,30\nB,8.5,51.25,4\n")
    pairs = airshed.evaluate(run, file).pairs
    ratio = (pairs.modelled[0] / pairs.observed).groupby(pairs.station).mean()
    assert ratio.values.tolist() == pytest.approx([10.0, 1.0], rel=1e-6)


def test_the_output_that_suits_the_observed_interval_is_taken(tmp_path: Path) -> None:
    """Hourly observations use instants rather than means of six hours, and hourly means rather than instants."""
    from airshed.evaluate.run_fields import RunFields

    with (
        RunFields(write_run(tmp_path / "instants.nc")) as run,
        RunFields(write_run(tmp_path / "long.nc", means=True, every=6.0)) as long,
        RunFields(write_run(tmp_path / "means.nc", means=True)) as means,
    ):
        run.outputs += long.outputs
        run.sources["O3"] += long.sources["O3"]
        assert not run.members("O3", 3600.0)[0].is_mean
        assert run.members("O3", 86400.0)[0].is_mean
        run.sources["O3"] += means.sources["O3"]
        assert run.members("O3", 3600.0)[0] is means.sources["O3"][0]


def test_observations_shorter_than_the_means_of_the_run_are_rejected(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run.nc", means=True, every=6.0)
    file = write_observations(tmp_path / "o.csv", hourly("A", 7.25, 52.0))
    with pytest.raises(AirshedError, match="no observed interval"):
        airshed.evaluate(run, file)


def test_another_period_is_told_with_both_periods(run: Path, tmp_path: Path) -> None:
    file = write_observations(tmp_path / "o.csv", hourly("A", 7.25, 52.0, shift=48.0))
    words = "run: it has 2022-08-31 00:00 to 2022-09-01 00:00, the observations 2022-09-02 00:00 to 2022-09-03 00:00"
    with pytest.raises(AirshedError, match=words):
        airshed.evaluate(run, file)


def test_another_area_is_told_with_the_stations(run: Path, tmp_path: Path) -> None:
    file = write_observations(tmp_path / "o.csv", hourly("A", 27.25, 52.0))
    with pytest.raises(AirshedError, match="no station lies in the area of the run; outside are A"):
        airshed.evaluate(run, file)


def test_species_that_the_run_lacks_are_named(run: Path, tmp_path: Path) -> None:
    rows = [*hourly("A", 7.25, 52.0), ("A", 7.25, 52.0, "PM10", 20.0, "ug/m3", 3.0)]
    found = airshed.evaluate(run, write_observations(tmp_path / "o.csv", rows))
    assert found.absent == ("PM10",)
    alone = write_observations(tmp_path / "pm.csv", rows[-1:])
    with pytest.raises(AirshedError, match=r"observations are of PM10, and .* has none of them; it has O3"):
        airshed.evaluate(run, alone)


def test_a_daily_mean_is_compared_with_the_mean_of_the_day(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "daily.csv"
    size = OZONE * AIR * 1e9
    value = float(size * ozone(np.float64(12.0), 7.25, 52.0)) - 5.0
    file.write_text(
        f"station,lon,lat,species,value,unit,time,averaging\nA,7.25,52.0,O3,{value!r},ug/m3,2022-09-01T00:00Z,24 h\n"
    )
    found = airshed.evaluate(run, file)
    assert pooled(found, "MB") == pytest.approx(5.0, rel=1e-6)
    assert not (found.statistics.group == "hour").any()


def test_a_folder_stands_for_raw_files_of_airbase(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "airbase"
    folder.mkdir()
    (folder / "stations.csv").write_text("id,lon,lat\nBETN029,7.25,52.0\n", encoding="utf-8")
    with pytest.raises(AirshedError, match=r"no file of observations .* except stations\.csv"):
        airshed.evaluate(run, folder)
    day = "\t".join(["2022-08-31", *(f"{50 + hour}\t1" for hour in range(24))])
    (folder / "BETN0290000700100hour.1-1-2022.31-12-2022").write_text(f"{day}\n", encoding="utf-8")
    assert len(airshed.evaluate(run, folder).matched.observations) == 23  # the first hour is of the day before in UTC


def test_a_row_with_empty_coordinates_takes_those_of_the_table(run: Path, tmp_path: Path) -> None:
    file = write_observations(tmp_path / "o.csv", [("A", "", "", *row[3:]) for row in hourly("A", 7.25, 52.0)])
    with pytest.raises(AirshedError, match="the file has no coordinates of station 'A'; give a table"):
        airshed.evaluate(run, file)
    (tmp_path / "stations.csv").write_text("id,lon,lat\nA,7.25,52.0\n", encoding="utf-8")
    assert airshed.evaluate(run, file).matched.observations.lon.tolist() == [7.25] * 24


def test_a_station_with_two_places_is_named(run: Path, tmp_path: Path) -> None:
    rows = hourly("A", 7.25, 52.0) + hourly("A", 8.5, 51.25) + hourly("B", 7.25, 52.0) + hourly("B", 7.251, 52.0)[:1]
    told = airshed.evaluate(run, write_observations(tmp_path / "o.csv", rows)).conventions
    assert told["at several places"] == "A: one station may move, or two have one name"


def test_zeros_alone_are_compared(run: Path, tmp_path: Path) -> None:
    zeros = [("A", 7.25, 52.0, "O3", 0.0, "ug/m3", float(hour)) for hour in range(1, 7)]
    found = airshed.evaluate(run, write_observations(tmp_path / "o.csv", zeros))
    assert (found.matched.observations.value.tolist(), len(found.rejected)) == ([0.0] * 6, 0)


def test_a_folder_stands_for_its_files_and_its_table_of_stations(run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "observations"
    folder.mkdir()
    write_observations(folder / "a.csv", hourly("A", 7.25, 52.0))
    write_observations(folder / "b.csv", hourly("B", 8.5, 51.25))
    (folder / "stations.csv").write_text(STATIONS)
    (folder / "README.md").write_text("not a table")
    found = airshed.evaluate(run, folder)
    assert [Path(each.path).name for each in found.files] == ["a.csv", "b.csv"]
    assert found.unscored == {"B"}
    (tmp_path / "empty").mkdir()
    with pytest.raises(AirshedError, match="no file of observations"):
        airshed.evaluate(run, tmp_path / "empty")
    assert [Path(each.path).name for each in airshed.evaluate(run, folder / "?.csv").files] == ["a.csv", "b.csv"]
    with pytest.raises(AirshedError, match="no file of observations matches"):
        airshed.evaluate(run, folder / "?.tsv")


def test_files_that_a_shell_lists_after_the_option_are_observations(run: Path, tmp_path: Path) -> None:
    first = write_observations(tmp_path / "a.csv", hourly("A", 7.25, 52.0))
    second = write_observations(tmp_path / "b.csv", hourly("B", 8.5, 51.25))
    arguments = ["evaluate", str(run), "--observations", str(first), str(second), "--no-pictures", "--json"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["facts"]["stations"] == 2
    none = CliRunner().invoke(app, ["evaluate", str(second), "--observations", str(first)])
    assert none.exit_code == 2
    assert "there is no run, only files of observations" in none.output
    with pytest.raises(AirshedError, match="is not a run; give"):
        airshed.evaluate(second, first)


def test_an_interrupted_evaluation_leaves_the_earlier_one(run: Path, tmp_path: Path) -> None:
    from airshed.evaluate.folder import replaced_folder

    folder = tmp_path / "evaluation"
    folder.mkdir()
    (folder / "statistics.json").write_text("earlier")

    def interrupted() -> None:
        with replaced_folder(folder) as part:
            (part / "statistics.json").write_text("later")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert (folder / "statistics.json").read_text() == "earlier"
    assert [path.name for path in tmp_path.iterdir() if "evaluation" in path.name] == ["evaluation"]


def test_the_indicator_of_ozone_is_that_of_the_daily_maximum_of_8_hour_means(run: Path, tmp_path: Path) -> None:
    """A single day has one value: the indicator is its error divided by twice its uncertainty."""
    file = write_observations(tmp_path / "o.csv", hourly("A", 7.25, 52.0, bias=4.0))
    found = airshed.evaluate(run, file)
    observed = found.matched.observations.value[-8:].mean()
    uncertainty = 0.18 * np.sqrt((1.0 - 0.79**2) * observed**2 + (0.79 * 120.0) ** 2)
    assert pooled(found, "MQI") == pytest.approx(4.0 / (2.0 * uncertainty), rel=1e-5)
    short = write_observations(tmp_path / "short.csv", hourly("A", 7.25, 52.0, bias=4.0)[:12])
    assert np.isnan(pooled(airshed.evaluate(run, short), "MQI"))


def test_rows_that_are_wrong_alike_share_a_line_of_the_report(run: Path, tmp_path: Path) -> None:
    file = write_observations(tmp_path / "o.csv", hourly("A", 7.25, 52.0))
    lines = [f"A,7.25,52.0,O3,50,ug/m3,2022-08-41 {hour:02d}:00Z,0" for hour in range(3)]
    lines += [f"A,7.25,52.0,O3,50,ug/m3,2022-08-31T03:30Z,{flag}" for flag in "VR"]
    text = [f"{line},0" for line in file.read_text().splitlines()]
    file.write_text("\n".join([text[0].replace(",0", ",flag"), *text[1:], *lines]), encoding="utf-8")
    table = rejected_rows_table(airshed.evaluate(run, file).rejected)
    told = {row[1]: row[2] for row in table.rows}
    assert told == {
        "'2022-08-41 00:00Z' is not a time; write it as 2022-08-31T13:00:00Z (and others like it)": 3,
        "flag 'V'": 1, "flag 'R'": 1,
    }  # fmt: skip


def test_half_hours_have_the_indicator_of_their_hours(run: Path, tmp_path: Path) -> None:
    size, rows = OZONE * AIR * 1e9, []
    for half in range(1, 49):
        value = float(size * ozone(np.float64(half / 2 - 0.25), 7.25, 52.0)) - 4.0
        rows.append(("A", 7.25, 52.0, "O3", value, "ug/m3", half / 2))
    halves = airshed.evaluate(run, write_observations(tmp_path / "h.csv", rows), averaging="30 min")
    hours = airshed.evaluate(run, write_observations(tmp_path / "o.csv", hourly("A", 7.25, 52.0, bias=4.0)))
    assert pooled(halves, "MQI") == pytest.approx(pooled(hours, "MQI"), rel=1e-6)
    missing = airshed.evaluate(run, write_observations(tmp_path / "m.csv", rows[::2]), averaging="30 min")
    assert np.isnan(pooled(missing, "MQI"))


@pytest.mark.parametrize("averaging", ["0 s", "30 min", "24 h"])
def test_ozone_over_other_periods_has_no_indicator(run: Path, tmp_path: Path, averaging: str) -> None:
    file = write_observations(tmp_path / "o.csv", hourly("A", 7.25, 52.0, bias=4.0))
    assert np.isnan(pooled(airshed.evaluate(run, file, averaging=averaging), "MQI"))


@pytest.mark.parametrize(("text", "unit"), [("Parts per billion", "ppb"), ("O3 (parts per million by volume)", "ppm")])
def test_units_in_words_are_read(text: str, unit: str) -> None:
    assert unit_in(text) == unit


def edited(run: Path, to: Path, **attributes: object) -> Path:
    """Copy a run with other attributes of its ozone; None removes one."""
    with xr.open_dataset(run) as dataset:
        copy = dataset.load()
    for name, value in attributes.items():
        copy.O3.attrs.pop(name, None)
        copy.O3.attrs |= {} if value is None else {name: value}
    copy.to_netcdf(to, encoding={"time": {"units": "seconds since 2022-08-31", "dtype": "f8"}})
    return to


def test_a_mass_needs_a_molar_mass(run: Path, tmp_path: Path) -> None:
    file = write_observations(tmp_path / "o.csv", hourly("A", 7.25, 52.0))
    without = edited(run, tmp_path / "without.nc", molar_mass=None)
    with pytest.raises(AirshedError, match=r"O3 is observed as a mass, but .* has no molar mass"):
        airshed.evaluate(without, file)
    ratio = [("A", 7.25, 52.0, "O3", 1e9 * float(ozone(np.float64(0.5), 7.25, 52.0)), "ppb", 1.0)]
    in_ppb = airshed.evaluate(without, write_observations(tmp_path / "ppb.csv", ratio))
    assert pooled(in_ppb, "MB", run="without") == pytest.approx(0.0, abs=1e-4)


def test_a_field_that_is_a_mass_is_compared_as_it_is(run: Path, tmp_path: Path) -> None:
    """As particles are; observations in ppb become a mass."""
    mass = edited(run, tmp_path / "mass.nc", units="kg m-3")
    size = float(ozone(np.float64(0.5), 7.25, 52.0))
    rows = [("A", 7.25, 52.0, "O3", 1e9 * size, "ug/m3", 1.0), ("A", 7.25, 52.0, "O3", 1.0, "ppb", 2.0)]
    found = airshed.evaluate(mass, write_observations(tmp_path / "o.csv", rows))
    assert found.matched.units == {"O3": "ug/m3"}
    assert float(found.pairs.modelled[0, 0]) == pytest.approx(1e9 * size, rel=1e-6)
    assert float(found.pairs.observed[1]) == pytest.approx(OZONE * AIR, rel=1e-12)


def test_pairs_that_were_written_are_observations_again(run: Path, tmp_path: Path) -> None:
    """The reader of MELODIES-MONET's layout and its writer agree on times, places, units and names."""
    file = write_observations(tmp_path / "o.csv", hourly("A", 7.25, 52.0, bias=3.0) + hourly("B", 8.5, 51.25)[2:])
    done = CliRunner().invoke(app, ["evaluate", str(run), "-o", str(file), "--no-pictures", "-q"])
    assert done.exit_code == 0, done.output
    again = airshed.evaluate(run, tmp_path / "evaluation" / "pairs_run.nc")
    first = airshed.evaluate(run, file)
    columns = ["N", "MO", "MP", "RMSE", "R"]
    np.testing.assert_allclose(again.statistics[columns], first.statistics[columns], rtol=1e-6, atol=1e-6)


def test_a_lone_file_named_stations_holds_observations(run: Path, tmp_path: Path) -> None:
    file = write_observations(tmp_path / "stations.csv", hourly("A", 7.25, 52.0, bias=2.0))
    assert pooled(airshed.evaluate(run, file), "MB") == pytest.approx(2.0, rel=1e-6)
