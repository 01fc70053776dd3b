"""Time conventions: zones, labels, and each trap of clocks, with its right value."""

from datetime import datetime, timedelta

import numpy as np
import pytest

from airshed.core.errors import CaseError
from airshed.observations.time_convention import Clock, TimeConvention, read_label

START = np.datetime64("2022-03-27")
HOUR = 3600.0


def hours(convention: TimeConvention, label: str, period: float = HOUR, other: str = "") -> list[tuple[float, float]]:
    means = Clock(convention, START).means(label, other, period)
    return [(begin / HOUR, end / HOUR) for begin, end in means.spans]


@pytest.mark.parametrize(
    ("zone", "label", "text", "expected"),
    [
        ("Europe/Berlin", "end", "2022-03-27 01:00", (-1.0, 0.0)),
        ("Europe/Berlin", "start", "2022-03-27 01:00", (0.0, 1.0)),
        ("Europe/Berlin", "start", "2022-03-27 03:00", (1.0, 2.0)),
        ("UTC+01:00", "start", "2022-03-27 02:00", (1.0, 2.0)),  # standard time has the hour
        ("+01:00", "end", "27.03.2022 24:00", (22.0, 23.0)),
        ("UTC-5", "start", "2022-03-27 00:00", (5.0, 6.0)),
        ("+05:30", "start", "2022-03-27 05:30", (0.0, 1.0)),
        ("Etc/GMT-1", "start", "2022-03-27 01:00", (0.0, 1.0)),
        ("Australia/Lord_Howe", "start", "2022-03-27 11:00", (0.0, 1.0)),
        ("UTC", "end", "2022-03-27T01", (0.0, 1.0)),
        ("GMT", "end", "27/03/2022 01:00", (0.0, 1.0)),
        ("file", "end", "2022-03-27T03:00:00+02:00", (0.0, 1.0)),
        ("Europe/Berlin", "end", "2022-03-27T01:00Z", (0.0, 1.0)),  # an offset in the row has precedence
        ("file", "start", "2022-03-27 02:00 CEST", (0.0, 1.0)),
        ("UTC", "end", "20220327 0100", (0.0, 1.0)),
        ("UTC", "end", "2022/3/27 1:00", (0.0, 1.0)),
        ("UTC", "end", "27.3.2022 1:00", (0.0, 1.0)),
    ],
)
def test_labels_become_means_in_utc(zone: str, label: str, text: str, expected: tuple[float, float]) -> None:
    assert hours(TimeConvention(zone, label), text) == [expected]


def test_clocks_skip_and_repeat_an_hour() -> None:
    berlin = TimeConvention("Europe/Berlin", "end")
    assert hours(berlin, "2022-03-27 03:00") == []
    assert hours(berlin, "2022-03-27 02:00") == [(0.0, 1.0)]
    october = [each - 217 * 24 for pair in hours(berlin, "2022-10-30 03:00") for each in pair]
    assert october == [0.0, 1.0, 1.0, 2.0]
    half = [each - 217 * 24 for pair in hours(berlin, "2022-10-30 02:30", 1800.0) for each in pair]
    assert half == [0.0, 0.5, 1.0, 1.5]
    assert Clock(TimeConvention("file", "end"), START).means("2022-03-27 01:00", "", HOUR).fault.endswith("from UTC")


def test_days_are_those_of_the_zone() -> None:
    assert hours(TimeConvention("UTC", "end"), "2022-03-27", 86400.0) == [(0.0, 24.0)]
    assert hours(TimeConvention("Europe/Berlin", "end"), "2022-03-27", 86400.0) == [(-1.0, 22.0)]
    assert hours(TimeConvention("Europe/Berlin", "end"), "2022-03-27 24:00", 86400.0) == [(-1.0, 22.0)]
    assert hours(TimeConvention("UTC+01:00", "start"), "2022-03-27 00:00", 86400.0) == [(-1.0, 23.0)]


def test_both_labels_are_taken_as_they_are() -> None:
    both = TimeConvention("UTC", "start and end")
    assert hours(both, "2022-03-27 00:00", 0.0, "2022-03-28 00:00") == [(0.0, 24.0)]
    assert (
        Clock(both, START).means("2022-03-27 02:00", "2022-03-27 01:00", 0.0).fault == "its mean ends before it begins"
    )
    berlin = TimeConvention("Europe/Berlin", "start and end")
    assert hours(berlin, "2022-03-27 01:00", 0.0, "2022-03-27 03:00") == [(0.0, 1.0)]
    repeated = [each - 217 * 24 for pair in hours(berlin, "2022-10-30 02:00", 0.0, "2022-10-30 03:00") for each in pair]
    assert repeated == [0.0, 1.0, 1.0, 2.0]


def test_an_instant_is_no_mean() -> None:
    assert hours(TimeConvention("UTC", "end"), "2022-03-27 01:00", 0.0) == [(1.0, 1.0)]


@pytest.mark.parametrize(
    "text", ["2023-02-29 01:00", "yesterday", "", "2022-03-27 25:00", "2022-13-01", "31/04/2022 1:00"]
)
def test_what_is_no_time(text: str) -> None:
    assert read_label(text) is None
    assert Clock(TimeConvention("UTC", "end"), START).means(text, "", HOUR).fault


def test_leap_days_are_days() -> None:
    label = read_label("'29.02.2024 24:00'")
    assert label is not None
    assert label.clock == datetime(2024, 3, 1)
    offset = read_label("2024-02-29T12:00-03:30")
    assert offset is not None
    assert offset.offset == -timedelta(hours=3, minutes=30)


@pytest.mark.parametrize(
    ("zone", "label", "message"),
    [
        ("Europe/Berln", "end", "time.zone is 'Europe/Berln'; .*did you mean Europe/Berlin"),
        ("MEZ", "end", "time.zone is 'MEZ'; give an IANA zone"),
        ("", "end", "time.zone is ''"),
        ("../etc", "end", "time.zone"),
        ("UTC+25:00", "end", "time.zone"),
        ("UTC", "middle", "time.label is 'middle'; it is one of start, end"),
    ],
)
def test_unknown_conventions_are_refused(zone: str, label: str, message: str) -> None:
    with pytest.raises(CaseError, match=message):
        TimeConvention(zone, label)
