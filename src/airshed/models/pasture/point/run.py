"""Runs pasture at a station from files to a file: what `airshed pasture point` does."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import xarray as xr

from airshed.core.atomic import write_whole
from airshed.core.errors import CaseError, DataError, OutputError
from airshed.core.files import read_text
from airshed.core.report import Cell, Report, Table
from airshed.core.text import counted
from airshed.core.version import __version__
from airshed.models.pasture.balance import DRY_MATTER, WATER
from airshed.models.pasture.classes import read_class
from airshed.models.pasture.point.case import read_point
from airshed.models.pasture.point.simulate import Series, as_declared, simulate
from airshed.models.pasture.weather.checks import check
from airshed.models.pasture.weather.met import read_met
from airshed.models.pasture.weather.station import Station

Array = npt.NDArray[np.float64]

_MOST_FINDINGS: Final = 10

_YEARLY: Final = (
    "rain", "runoff", "soil_evaporation", "transpiration", "tree_water_use", "drainage", "growth", "detachment",
    "eaten", "burnt", "litter_decay",
)  # fmt: skip
"""Fluxes that the report tells, as far as the run has them."""


def run_point(met: Path, parameters: Path, output: Path, overrides: Sequence[str] = ()) -> Report:
    """Run pasture at the station of a `.met` file, and write every state and flux of every day to a netCDF file.

    parameters  a TOML file with [soil], [pasture], [initial], [events] and options of processes
    Raises CaseError, DataError or OutputError; the file appears whole or not at all.
    """
    if output.suffix.lower() != ".nc":
        raise OutputError(f"{output}: the output is netCDF; end its name in .nc")
    case = read_point(parameters, overrides)
    station = as_declared(case, _days_of(read_met(met), case))
    findings = check(station)
    errors = [each.text for each in findings if each.kind == "error"]
    if errors:
        raise DataError("\n".join(errors[:_MOST_FINDINGS]))
    litter = _litter(parameters.parent / case.weather.litter, station) if case.weather.litter else None
    with write_whole(output) as part:
        series = simulate(case, station, litter)
        dataset(series, case, station).to_netcdf(part, engine="netcdf4")
    return _report(series, case, station, output, [each.text for each in findings])


def dataset(series: Series, case: Any, station: Station) -> xr.Dataset:
    """Return a run as a dataset over time, by the CF conventions."""
    found = xr.Dataset(
        {
            spec.name: ("time", series[spec.name], {"long_name": spec.text, "units": spec.unit})
            for spec in series.specs
        },
        {"time": ("time", series.dates.astype("datetime64[ns]"), {"standard_name": "time"})},
        {
            "Conventions": "CF-1.11", "title": case.title, "source": f"Airshed {__version__}, pasture at a station",
            "station": station.name, "weather": Path(station.where).name,
            "soil": _told("soil", case.soil), "pasture": _told("pasture", case.pasture),
            "comment": "States are those at the end of the day, fluxes those of the day.",
        },
    )  # fmt: skip
    places = {"latitude": station.latitude, "longitude": station.longitude}
    return found.assign_attrs({name: value for name, value in places.items() if value is not None})


def _told(kind: str, values: Any) -> str:
    """What a class is, and where its numbers are from."""
    own = [f"{name} = {value}" for name, value in values.items() if name != "set"]
    found = read_class(kind, values)
    changed = f"here {', '.join(own)}" if own and "set" in values else ""
    return "; ".join(filter(None, [found.text, found.source, changed]))


def _days_of(station: Station, case: Any) -> Station:
    """The days of the case; raises CaseError where the weather does not have them."""
    first, last = case.weather.first or station.dates[0], case.weather.last or station.dates[-1]
    try:
        ends = np.datetime64(first, "D"), np.datetime64(last, "D")
    except ValueError as error:
        raise CaseError(f'weather: {first}, {last} are no two days; write them as "1957-01-01"') from error
    if not station.dates[0] <= ends[0] <= ends[1] <= station.dates[-1]:
        raise CaseError(
            f"weather: {ends[0]} to {ends[1]} is asked for, and {station.where} has {station.dates[0]} to "
            f"{station.dates[-1]}"
        )
    return station.between(*ends)


def _litter(path: Path, station: Station) -> Array:
    """Litter of each day from a CSV file; raises DataError for what is no number, and a day that is not there."""
    rows = list(csv.DictReader(read_text(path).splitlines()))
    try:
        found = {np.datetime64(row["date"], "D"): float(row["litter"]) for row in rows}
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path}: it is to have the columns date and litter, as 1957-01-01,50.0") from error
    for date in station.dates:
        if not found.get(date, -1.0) >= 0.0:
            raise DataError(f"{path} has no litter for {date}; give it for each day of the run")
    return np.array([found[date] for date in station.dates])


def _report(series: Series, case: Any, station: Station, output: Path, findings: Sequence[str]) -> Report:
    years = len(series.dates) / 365.25
    units = {spec.name: spec.unit for spec in series.specs}
    rows: list[tuple[Cell, ...]] = [
        (name, units[name], float(series[name].sum() / years)) for name in _YEARLY if name in units
    ]
    balances: list[tuple[Cell, ...]] = [(each.text, series.residual(each)) for each in (WATER, DRY_MATTER)]
    facts: dict[str, Cell] = {
        "station": station.name, "days": counted(len(series.dates), "day"), "output": str(output),
        **{f"weather, {number}": text for number, text in enumerate(findings[:_MOST_FINDINGS], start=1)},
    }  # fmt: skip
    return Report(
        case.title,
        [Table("In a year", ("flux", "unit", "mean"), rows), Table("Balances", ("of", "relative residual"), balances)],
        facts,
    )
