"""Layout of the e-Reporting of the European Environment Agency (EEA), as CSV."""

from typing import Final

from airshed.observations.layouts.layout import (
    HOUR,
    Columns,
    Layout,
    first_line,
    names_of,
)
from airshed.observations.layouts.long import read_table
from airshed.observations.text_file import TextFile
from airshed.observations.time_convention import TimeConvention, read_label

_BOTH: Final = (("DatetimeBegin", "DatetimeEnd"), ("value_datetime_begin", "value_datetime_end"), ("Start", "End"))
_VALIDITY: Final = ("Validity", "value_validity")
_STANDARD: Final = TimeConvention("UTC+01:00", "start and end")


def _recognise(file: TextFile) -> bool:
    columns = Columns(names_of(file))
    return columns.find(*_VALIDITY) >= 0 and any(columns.has(*pair) for pair in _BOTH)


def _time_of(file: TextFile) -> TimeConvention | None:
    """Return the convention: UTC+1, of other means than hourly ones only where each row has its offset."""
    columns = Columns(names_of(file))
    averaging, begin = columns.find("AveragingTime", "AggType"), columns.find(*(pair[0] for pair in _BOTH))
    for cells in file.head[first_line(file) + 1 :]:
        if len(cells) <= max(averaging, begin):
            continue
        label = read_label(cells[begin])
        hourly = averaging < 0 or cells[averaging].casefold() in ("", "hour", "hourly")
        if label is not None:
            return _STANDARD if hourly or label.offset is not None else None
    return _STANDARD


LAYOUT: Final = Layout(
    "EEA", _recognise, read_table, _STANDARD, HOUR,
    columns="`AirQualityStationEoICode` or `Samplingpoint`, `AirPollutant`, `Concentration`, `DatetimeBegin` and "
    "`DatetimeEnd` (or `Start` and `End`), `Validity`",
    source="EEA: hourly data are in UTC+1; daily ones need an offset in each row",
    flags=frozenset({"1", "2", "3"}), time_of=_time_of,
)  # fmt: skip
"""Validity 2 and 3 are valid values below the detection limit; -1 and -99 are not valid."""
