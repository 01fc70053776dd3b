"""Observations from files: accepted and rejected rows, and each refusal with its file and row."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from airshed.core.errors import DataError
from airshed.observations.column_file import read_columns
from airshed.observations.observation import ErrorModel, Observations
from airshed.observations.reading import read_observations
from airshed.observations.screening import BELOW_ZERO, BEYOND, CENSORED, MISSING, NO_VALUE
from airshed.observations.selection import ObservationSelection, SelectionRules, rejected_rows_table

from ..inverse.fourdvar.toys import GRID

START = np.datetime64("2022-08-31T00:00:00")
HEADER = "station,lon,lat,species,value,unit,time,averaging,error,flag\n"
ROW = {
    "station": "NL1", "lon": "4.9", "lat": "47.4", "species": "NO2", "value": "21", "unit": "ug/m3",
    "time": "2022-08-31T03:00:00Z", "averaging": "1 h", "error": "2", "flag": "",
}  # fmt: skip


def line(**changes: str) -> str:
    return ",".join({**ROW, **changes}.values()) + "\n"


def selection(choice: SelectionRules | None = None) -> ObservationSelection:
    return ObservationSelection(GRID, 6 * 3600.0, ["NO2", "O3"], choice)


def stations(
    folder: Path, text: str, choice: SelectionRules | None = None
) -> tuple[Observations, ObservationSelection]:
    file = folder / "stations.csv"
    file.write_text(text, encoding="utf-8")
    into = selection(choice)
    read_observations([file], START, into)
    return into.observations(), into


def test_a_row_is_taken_as_it_stands(tmp_path: Path) -> None:
    found, _ = stations(tmp_path, HEADER + line() + line(station="NL2", error="", averaging=""))
    assert len(found) == 2
    assert found.begin.tolist() == [7200.0, 7200.0]
    assert found.end.tolist() == [10800.0, 10800.0]
    assert found.unit.tolist() == ["ug/m3"] * 2
    assert found.where[0] == f"{tmp_path / 'stations.csv'}, line 2"
    shares = ErrorModel()
    assert found.sigma == pytest.approx([np.hypot(2.0, shares.representativeness * 21), 21 * np.hypot(0.1, 0.2)])


def test_columns_of_openaq_are_known(tmp_path: Path) -> None:
    text = (
        "location_id,sensors_id,location,datetime,lat,lon,parameter,units,value\n"
        "2178,1,Here,2022-08-31T05:00:00+02:00,47.4,364.9,no2,µg/m³,21.0\n"
    )
    found, _ = stations(tmp_path, text)
    assert found.species.tolist() == ["NO2"]
    assert found.station.tolist() == ["2178"]
    assert found.lon == pytest.approx([4.9])
    assert found.end.tolist() == [3 * 3600.0]


def test_names_of_species_can_be_given(tmp_path: Path) -> None:
    found, _ = stations(tmp_path, HEADER + line(species="nitrogen"), SelectionRules(names={"nitrogen": "NO2"}))
    assert found.species.tolist() == ["NO2"]


def test_flagged_rows_are_passed_over_and_counted(tmp_path: Path) -> None:
    text = HEADER + line() + line(flag="9", value="") + line(flag="9", station="B") + line(station="C", flag="valid")
    found, into = stations(tmp_path, text)
    assert len(found) == 2
    assert into.rejected_by_reason == {"flag '9'": 2}


def test_rows_elsewhere_and_of_others_can_be_passed_over(tmp_path: Path) -> None:
    text = HEADER + line() + line(lon="99") + line(time="2022-09-03T00:00Z") + line(species="pm25")
    found, into = stations(tmp_path, text, SelectionRules(outside="skip", unknown="skip"))
    assert len(found) == 1
    assert into.rejected_by_reason == {"outside the domain": 1, "outside the window": 1, "another species": 1}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lon": "40"}, "40 E, 47.4 N lies outside the domain"),
        ({"lat": "12"}, "4.9 E, 12 N lies outside the domain"),
        ({"time": "2022-08-31T00:30:00Z"}, "the time -30 min to 30 min after the start lies outside the window"),
        ({"time": "2022-08-31T07:00:00Z"}, "6 h to 7 h after the start lies outside the window"),
        ({"species": "NO22"}, "species 'NO22' is not observed; did you mean NO2?"),
    ],
)
def test_a_row_that_the_choice_refuses_is_told_with_file_and_line(
    tmp_path: Path, changes: dict[str, str], message: str
) -> None:
    with pytest.raises(DataError) as refusal:
        stations(tmp_path, HEADER + line(station="first") + line(**changes))
    assert message in str(refusal.value)
    assert f"{tmp_path / 'stations.csv'}, line 3: " in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"lat": "95"}, "lat is 95; give degrees"),
        ({"lon": "-999", "lat": "-999"}, "lon is -999; give degrees"),
        ({"lon": "x"}, "lon 'x' is not a number"),
        ({"time": "yesterday"}, "'yesterday' is not a time; write it as 2022-08-31T13:00:00Z"),
        ({"species": ""}, "species is empty"),
        ({"error": "0"}, "error is 0; give one above 0"),
        ({"error": "-2"}, "error is -2; give one above 0"),
        ({"unit": "ug"}, "has the wrong kind of unit"),
        ({"unit": "furlong"}, "not a unit that Airshed recognises"),
        ({"unit": "mol/m2"}, "has the wrong kind of unit"),
        ({"averaging": "1"}, "averaging needs a unit"),
        ({"averaging": "-1 h"}, "averaging is -3600 s; give 0 s"),
        ({"station": ""}, "station is empty"),
        ({"station": "first", "value": "22"}, "duplicate of an earlier row"),
        ({"value": "0", "error": "0.0", "representativeness": "0"}, "error is 0; give one above 0"),
        *[({"value": text}, NO_VALUE) for text in ("", "nan", "NA", "null", "--", "No data")],
        *[({"value": text}, CENSORED) for text in ("<LOD", "<0.5", "< 2", ">200", "BDL", "n.d.")],
        *[({"value": text}, "not a number") for text in ('"23,5"', "1e999", "1_000", "12a")],
        *[({"value": text}, MISSING) for text in ("-9", "-99", "-999", "-999.0", "-9999", "-99999", "-99.99")],
        *[({"value": text}, MISSING) for text in ("9999", "99999.0", "9999.99", "999", "32767", "-32768", "-9.99e2")],
        *[({"value": text}, BELOW_ZERO) for text in ("-888", "-50", "-777.7", "-1e30")],
        *[({"value": text}, BEYOND) for text in ("1e20", "9.96921e36", "5e7", "3e6")],
    ],
)
def test_one_bad_row_is_passed_over_and_shown(tmp_path: Path, changes: dict[str, str], reason: str) -> None:
    head = HEADER.replace("\n", ",representativeness\n")
    rows = [line(station=name, value="21", error="") for name in ("first", "second")]
    good = [row.replace("\n", ",\n") for row in rows]
    bad = ",".join({**ROW, "error": "", "representativeness": "", **changes}.values()) + "\n"
    found, into = stations(tmp_path, head + good[0] + bad + good[1])
    assert found.station.tolist() == ["first", "second"]
    assert found.sigma == pytest.approx([21 * np.hypot(0.1, 0.2)] * 2)
    (passed,) = into.rejected
    assert reason in passed.reason
    assert (passed.file, passed.place) == (str(tmp_path / "stations.csv"), "line 3")
    assert passed.station == changes.get("station", "NL1")
    assert rejected_rows_table(into.rejected).rows[0][3] == "line 3"


@pytest.mark.parametrize(
    ("place", "taken"),
    [
        ({"lon": "{lon:.1f}"}, 1),
        ({"lon": "{turned}"}, 1),
        ({"lon": "{away}"}, 2),
        ({"time": "2022-08-31T04:00:00Z"}, 2),
    ],
)
def test_a_station_that_stands_twice_counts_once(tmp_path: Path, place: dict[str, str], taken: int) -> None:
    """Coordinates may have fewer digits, or run from 0 to 360; another town or another hour is no duplicate."""
    lon = float(ROW["lon"]) + 0.004
    words = {"lon": lon, "turned": lon + 360.0, "away": lon + 0.1}
    again = {name: text.format(**words) for name, text in place.items()}
    rows = line(lon=f"{lon}", value="21") + line(**{"lon": f"{lon}", "value": "22", **again})
    found, into = stations(tmp_path, HEADER + rows)
    assert len(found.value) == taken
    assert [row.reason for row in into.rejected] == ["duplicate of an earlier row"] * (2 - taken)


def test_values_that_may_be_measured_stay(tmp_path: Path) -> None:
    """A small negative value, a spike, and a number of nines among its like are no codes."""
    texts = ["21", "0", "-0.4", "-2", "-0.999", "90", "99", "99.9", "9.99"]
    found, into = stations(tmp_path, HEADER + "".join(line(station=f"S{n}", value=v) for n, v in enumerate(texts)))
    assert found.value.tolist() == [float(text) for text in texts]
    assert not into.rejected
    carbon = ["6000", "9999", "999"]
    found, into = stations(tmp_path, HEADER + "".join(line(station=f"S{n}", value=v) for n, v in enumerate(carbon)))
    assert (len(found), into.rejected) == (3, [])


def test_a_value_far_above_all_others_is_absurd(tmp_path: Path) -> None:
    """Its error would be a share of it, and the background check would let it pass."""
    common = ["9", "20", "25", "0.1", "14", "11", "3", "1"]

    def read(*more: str) -> tuple[Observations, ObservationSelection]:
        lines = (line(station=f"S{n}", value=value) for n, value in enumerate([*common, *more]))
        return stations(tmp_path, HEADER + "".join(lines))

    for absurd in (["9000"], ["1e5", "120000"]):
        found, into = read(*absurd)
        assert found.value.tolist() == [float(value) for value in common]
        assert into.rejected_by_reason == {BEYOND: len(absurd)}
    for plausible in (["300"], ["7400"]):
        assert read(*plausible)[1].rejected == []


def test_five_standard_errors_below_zero_are_noise(tmp_path: Path) -> None:
    for error, taken in (("8", 2), ("2", 1)):
        found, _ = stations(tmp_path, HEADER + line() + line(station="B", value="-30", error=error))
        assert len(found) == taken


def test_what_is_no_measurement_takes_no_part_in_errors(tmp_path: Path) -> None:
    """``least`` is a share of the mean of all values: a code among them made the errors of others larger."""
    with_code, _ = stations(tmp_path, HEADER + line(error="", value="1") + line(station="B", error="", value="9")
                            + line(station="C", error="", value="-999"))  # fmt: skip
    without, _ = stations(tmp_path, HEADER + line(error="", value="1") + line(station="B", error="", value="9"))
    assert with_code.sigma.tolist() == without.sigma.tolist() == [pytest.approx(np.hypot(0.1, 0.2) * v) for v in (1, 9)]


def test_rows_passed_over_are_grouped_by_file_and_reason(tmp_path: Path) -> None:
    text = HEADER + line() + "".join(line(station=f"S{n}", value="-999") for n in range(7)) + "cut,4.9\n"
    _, into = stations(tmp_path, text)
    table = rejected_rows_table(into.rejected)
    file = str(tmp_path / "stations.csv")
    assert sorted(map(tuple, table.rows)) == [
        (file, "2 cells, but 10 columns", 1, "line 10", "", ""),
        (
            file,
            MISSING,
            7,
            "line 3, line 4, line 5, line 6, line 7 and 2 more",
            "S0, S1, S2, S3, S4 and 2 more",
            "-999",
        ),
    ]


def test_flags_are_the_same_in_other_spellings(tmp_path: Path) -> None:
    rows = [line(station=f"S{n}", flag=flag) for n, flag in enumerate(("0.000", "VALID", " 0", "1", "-1"))]
    found, into = stations(tmp_path, HEADER.replace("flag", "Validity") + "".join(rows))
    assert found.station.tolist() == ["S0", "S1", "S2"]
    assert into.rejected_by_reason == {"flag '1'": 1, "flag '-1'": 1}


def test_the_end_of_a_day_and_units_without_blanks_are_read(tmp_path: Path) -> None:
    found, _ = stations(tmp_path, HEADER + line(time="2022-08-30 24:00Z", averaging="0 s", unit="ugm-3"))
    assert found.end.tolist() == [0.0]


def test_an_error_that_comes_out_as_nothing_is_passed_over(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"1 row of 1 rejected: its error comes out as 0.*line 2"):
        stations(tmp_path, HEADER + line(value="0", error=""))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("station,lon\nA,3\n", "lacks the column species or parameter"),
        (HEADER, "stations.csv has no rows"),
        ("", "stations.csv has no rows"),
        (HEADER + "1,2\n", "2 cells, but 10 columns .*line 2"),
        (
            HEADER + line(flag="9"),
            "no observation is left .* flag '9' .*line 2.; assimilation.observations.flags lists",
        ),
        (HEADER + line(value="-999"), "1 row of 1 rejected: a code for a missing value .*line 2"),
    ],
)
def test_a_table_without_what_is_needed_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        stations(tmp_path, text)


OWN = "station,lon,lat,species,value,unit,time\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (OWN + "A,4.9,47.4,NO2,23,ug/m3,2022-08-31T02:00\n", "has no offset from UTC; .*as in time = { zone"),
        ('"Date",PM2.5_1,NOx_1\n2019-01-01,8,45\n', "its layout .wide table. defines neither .*as in time = { zone"),
        ("A,4.9,47.4,NO2,23,ug/m3,2022-08-31T02:00\n", "none of the known layouts; it begins with 'A, 4.9"),
    ],
)  # fmt: skip
def test_a_table_of_another_layout_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        stations(tmp_path, text)


def test_the_names_of_the_european_environment_agency_are_known(tmp_path: Path) -> None:
    head = "AirQualityStation,AirPollutant,Concentration,UnitOfMeasurement,DatetimeBegin,DatetimeEnd,Longitude,Latitude"
    row = "A,NO2,23.5,µg/m3,2022-08-31 04:00:00 +02:00,2022-08-31 05:00:00 +02:00,4.9,47.4"
    found, _ = stations(tmp_path, f"{head},Validity\n{row},1\n{row},-1\n", SelectionRules(good=("1",)))
    assert (found.value.tolist(), found.end.tolist()) == ([23.5], [3 * 3600.0])


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no file"):
        read_observations([tmp_path / "none.csv"], START, selection())


# ---- columns ---------------------------------------------------------------------------------------------------------


def columns(**changes: Any) -> xr.Dataset:
    hours = np.array(["2022-08-31T01:00", "2022-08-31T02:30"], "datetime64[ns]")
    attributes = {"species": "NO2", "units": "molecules/cm2"}
    along, layers = "observation", ("observation", "layer")
    fields = {
        "time": (along, hours), "lon": (along, [3.0, 4.0]), "lat": (along, [47.0, 48.0]),
        "value": (along, [5e15, 6e15], attributes), "error": (along, [1e15, 1e15]),
        "edges": (("observation", "edge"), [[0.0, 100.0, 900.0]] * 2), "kernel": (layers, [[0.5, 1.1]] * 2),
        "a_priori": (layers, [[1e15, 2e15]] * 2), "flag": (along, [0, 0]), **changes,
    }  # fmt: skip
    return xr.Dataset({name: field for name, field in fields.items() if field is not None})


def read(folder: Path, data: xr.Dataset) -> Observations:
    data.to_netcdf(folder / "columns.nc")
    into = selection()
    read_columns(folder / "columns.nc", START, into)
    return into.observations()


def test_columns_are_taken_with_their_kernels(tmp_path: Path) -> None:
    found = read(tmp_path, columns())
    assert found.kind.tolist() == ["column"] * 2
    assert found.begin.tolist() == found.end.tolist() == [3600.0, 9000.0]
    assert found.sigma.tolist() == [1e15, 1e15]
    kernel = found.kernels[0]
    assert kernel is not None
    assert kernel.a_priori == pytest.approx(np.array([1e15, 2e15]) * 1e4 / 6.02214076e23)
    assert kernel.offset == pytest.approx((0.5 * 1e15 - 0.1 * 2e15) * 1e4 / 6.02214076e23)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kernel": None}, "needs a variable kernel with dimensions observation, layer"),
        ({"value": ("observation", [1.0, 1.0])}, "needs the attributes species and units"),
        ({"edges": (("observation", "edge"), [[0.0, 100.0]] * 2)}, "2 layers have 2 edges; give one more"),
        ({"edges": (("observation", "edge"), [[0.0, 9.0, 5.0]] * 2)}, "its edges must rise .*observation 0"),
        ({"kernel": (("observation", "layer"), [[0.5, np.nan]] * 2)}, "its kernel, edges or a_priori.*observation 0"),
        ({"value": ("observation", [1.0, 1.0], {"species": "NO2", "units": "ppb"})}, "columns.nc: .*wrong kind"),
        ({"lon": ("observation", [3.0, 30.0])}, "observation 1: 30 E, 48 N lies outside the domain"),
        ({"time": ("observation", [1.0, 2.0])}, "its time needs units"),
    ],
)
def test_wrong_columns_are_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, columns(**changes))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"error": ("observation", [1e15, -1.0])}, "error is -1; give one above 0"),
        ({"value": ("observation", [5e15, np.nan], {"species": "NO2", "units": "molecules/cm2"})}, NO_VALUE),
        ({"value": ("observation", [5e15, -9999.0], {"species": "NO2", "units": "molecules/cm2"})}, MISSING),
        ({"value": ("observation", [5e15, -6e15], {"species": "NO2", "units": "molecules/cm2"})}, BELOW_ZERO),
        ({"value": ("observation", [5e15, 1e36], {"species": "NO2", "units": "molecules/cm2"})}, BEYOND),
        ({"lon": ("observation", [3.0, np.nan])}, "lon is nan"),
    ],
)
def test_one_bad_column_is_passed_over(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    columns(**changes).to_netcdf(tmp_path / "columns.nc")
    into = selection()
    read_columns(tmp_path / "columns.nc", START, into)
    assert into.observations().value.tolist() == [5e15]
    (passed,) = into.rejected
    assert (passed.place, passed.file) == ("observation 1", str(tmp_path / "columns.nc"))
    assert reason in passed.reason


def test_what_is_no_netcdf_is_refused(tmp_path: Path) -> None:
    (tmp_path / "columns.nc").write_text("station\n", encoding="utf-8")
    with pytest.raises(DataError, match="is not a netCDF file"):
        read_columns(tmp_path / "columns.nc", START, selection())
