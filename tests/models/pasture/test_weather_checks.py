"""Each rule reports its problem with station, day and value, and reports none for a plausible station."""

from dataclasses import replace

import numpy as np
import pytest

from airshed.models.pasture.forms import saturation_pressure as saturation
from airshed.models.pasture.weather.checks import RULES, check, extraterrestrial, without_missing
from airshed.models.pasture.weather.station import humidity_evidence, pressure_from_deficit

from .stations import deficit, plausible, with_values, without_days

STATION = plausible()


def changed(name, value, days=(100,)):
    values = STATION[name].copy()
    values[list(days)] = value
    return with_values(STATION, **{name: values})


def exchanged(one, other):
    return with_values(STATION, **{one: STATION[other], other: STATION[one]})


def rules(station):
    return {(each.kind, each.rule) for each in check(station)}


def texts(station):
    return "\n".join(map(str, check(station)))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_plausible_weather_has_no_problems(rule):
    assert [*rule(STATION)] == []


def test_missing_days_are_found():
    station = without_days(STATION, 100, 101, 700)
    assert rules(station) == {("error", "missing days")}
    assert "SOMEWHERE (somewhere.met): 3 days missing, the first between 2018-04-10 and 2018-04-13" in texts(station)


def test_repeated_and_unordered_days_are_found():
    dates = STATION.dates.copy()
    dates[50] = dates[49]
    assert ("error", "order of days") in rules(replace(STATION, dates=dates))
    assert "the day 2018-02-19 follows 2018-02-19" in texts(replace(STATION, dates=dates))


def test_missing_values_are_reported_and_treated_as_missing():
    station = changed("rain", np.nan, (100, 101))
    assert rules(station) == {("warning", "no value")}
    assert "2018-04-11: rain has no value (and 1 more day)" in texts(station)


@pytest.mark.parametrize(
    ("name", "code"), [("rain", 9999.0), ("max_temperature", 999.0), ("radiation", -99.9), ("min_temperature", 99.9)]
)
def test_codes_are_found(name, code):
    station = changed(name, code)
    assert ("error", "code") in rules(station)
    assert f"SOMEWHERE (somewhere.met), 2018-04-11: {name} {code:g}" in texts(station)
    assert "is a code for a missing value" in texts(station)
    assert np.flatnonzero(np.isnan(without_missing(station, check(station))[name])).tolist() == [100]


def test_a_value_similar_to_a_code_is_accepted():
    assert rules(changed("rain", 99.9)) == set()


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("rain", -0.2, "is not between 0 and 1200 mm"),
        ("rain", 1300.0, "is not between 0 and 1200 mm"),
        ("pan_evaporation", 36.0, "is not between 0 and 35 mm"),
        ("max_temperature", 56.0, "is not between -10 and 55 degC"),
        ("vapour_pressure", 51.0, "is not between 0 and 50 hPa"),
        ("radiation", 34.0, "exceeds the extraterrestrial radiation"),
    ],
)
def test_impossible_values_are_found(name, value, why):
    station = changed(name, value)
    assert ("error", "impossible value") in rules(station)
    assert f"2018-04-11: {name} {value:g}" in texts(station)
    assert why in texts(station)


def test_solar_radiation_equals_the_published_one():
    assert extraterrestrial(-20.0, 246) == pytest.approx(32.2, abs=0.05)  # example 8 of the source


def test_air_above_saturation_is_reported():
    station = changed("vapour_pressure", 1.2 * saturation(STATION["max_temperature"][100]))
    assert rules(station) == {("warning", "saturation")}
    assert rules(changed("vapour_pressure", 1.0 * saturation(STATION["max_temperature"][100]))) == set()


def test_swapped_temperatures_are_found_on_a_day_and_as_columns():
    day = changed("min_temperature", STATION["max_temperature"][100] + 0.1)
    assert rules(day) == {("error", "swapped columns")}
    assert "2018-04-11: min_temperature" in texts(day)
    assert "seem to be swapped" not in texts(day)
    assert "the columns seem to be swapped" in texts(exchanged("min_temperature", "max_temperature"))


@pytest.mark.parametrize("other", ["pan_evaporation", "radiation", "min_temperature", "max_temperature"])
def test_swapped_rain_is_found(other):
    assert ("error", "swapped columns") in rules(exchanged("rain", other))
    assert "the columns seem to be swapped" in texts(exchanged("rain", other))


def test_swapped_pan_and_radiation_are_found():
    assert ("error", "swapped columns") in rules(exchanged("pan_evaporation", "radiation"))
    assert "the median of pan_evaporation is" in texts(exchanged("pan_evaporation", "radiation"))


def test_an_unread_pan_is_reported_and_treated_as_missing():
    station = changed("pan_evaporation", 0.0)
    assert rules(station) == {("warning", "pan")}
    assert "2018-04-11: pan_evaporation 0 mm with radiation of" in texts(station)
    assert np.isnan(without_missing(station, check(station))["pan_evaporation"][100])
    dark = changed("radiation", 4.0)
    assert (
        rules(with_values(dark, pan_evaporation=np.where(np.arange(1096) == 100, 0.0, STATION["pan_evaporation"])))
        == set()
    )


def test_a_pressure_labelled_as_deficit_is_reported_with_evidence():
    station = with_values(STATION, vapour_pressure=None, vapour_pressure_deficit=STATION["vapour_pressure"])
    assert rules(station) == {("warning", "humidity")}
    assert "is read as vapour_pressure_deficit, but is probably vapour_pressure: its correlation with" in texts(station)
    assert "on wet days" in texts(station)


def test_a_deficit_labelled_as_pressure_is_reported_with_evidence():
    station = with_values(STATION, vapour_pressure=deficit(STATION))
    assert ("warning", "humidity") in rules(station)
    assert "is read as vapour_pressure, but is probably vapour_pressure_deficit" in texts(station)


def test_a_correctly_labelled_deficit_is_accepted():
    assert rules(with_values(STATION, vapour_pressure=None, vapour_pressure_deficit=deficit(STATION))) == set()


def test_pressure_follows_from_its_deficit():
    found = pressure_from_deficit(deficit(STATION), STATION["max_temperature"], STATION["min_temperature"])
    assert np.allclose(found, STATION["vapour_pressure"], rtol=1e-12)


def test_few_days_are_no_evidence_of_humidity():
    few = STATION.between("2018-01-01", "2018-02-01")
    assert humidity_evidence(few, "vapour_pressure") is None


def test_notes_of_the_reader_are_reported():
    assert rules(replace(STATION, notes=("-25.7 with the unit (deg.min) is read as decimal degrees",))) == {
        ("warning", "place")
    }
