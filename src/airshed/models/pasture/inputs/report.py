"""What `airshed pasture prepare` says: stations, what was found wrong with them, and what was written."""

import numpy as np

from airshed.core.report import Report, Table
from airshed.models.pasture.inputs.prepare import Written
from airshed.models.pasture.inputs.recipe import Prepared
from airshed.models.pasture.weather.checks import Finding
from airshed.models.pasture.weather.station import HUMIDITY, Station


def report(prepared: Prepared, written: Written | None) -> Report:
    """Return stations and findings; with what was written, if it was."""
    inputs = prepared.inputs
    facts: dict[str, str | int | float] = {
        "area": inputs.attributes["title"],
        "land cells": inputs.grid.cells,
        "grid": f"{len(inputs.grid.lon)} x {len(inputs.grid.lat)}",
        "days": f"{inputs.calendar.first} to {inputs.calendar.last}, {inputs.calendar.days}",
        "license": inputs.attributes["license"],
        "synthetic": inputs.attributes["synthetic"],
    }
    if written is not None:
        facts["written"] = str(written.path)
        facts["bytes"] = written.bytes
        facts["weather before compression"] = written.uncompressed
        facts["ratio"] = written.uncompressed / written.bytes
    stations = [_row(each) for each in prepared.stations]
    columns = ("station", "lat", "lon", "first", "last", "rain [mm/year]", "humidity")
    tables = [Table("Stations", columns, stations)]
    if prepared.findings:
        found = [(each.kind, each.rule, _told(each)) for each in prepared.findings]
        tables.append(Table("Found in their weather", ("kind", "rule", "what"), found))
    return Report("Inputs of the pasture model", tables, facts)


def _told(finding: Finding) -> str:
    return f"{finding.text}; taken as not known" if finding.missing else finding.text


def _row(station: Station) -> tuple[str | float | None, ...]:
    rain = float(np.nanmean(station["rain"])) * 365.25 if "rain" in station else None
    known = [station.columns[name].label for name in HUMIDITY if name in station]
    dates = str(station.dates[0]), str(station.dates[-1])
    return station.name, station.latitude, station.longitude, *dates, rain, known[-1] if known else "none"
