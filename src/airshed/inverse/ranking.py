"""The ranking of sources by what a cut of each changes, as a report for people and as a table for programs."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from airshed.core.report import Cell, Report, Table
from airshed.inverse.contributions import INVENTORY

if TYPE_CHECKING:
    import xarray as xr

_PPB: Final = 1e9
_CUT: Final = 0.1
_MOST: Final = 15
_NOTE: Final = "first order: for cuts small enough that the chemistry stays about what it is; docs/adjoint.md"
_PARTS: Final = ("source", "country", "sector", "species")


def ranking(found: "xr.Dataset") -> Report:
    """Return what a receptor measures, and how cuts of a tenth change it: by country, sector, and each source."""
    unit = unit_of(found)
    value = _PPB * float(found["value"])
    rows = rows_of(found)
    emitted = [row for row in rows if row["source"] == INVENTORY]
    tables = [
        _table("By country: all its sectors and pollutants", ("country",), _summed(emitted, ("country",)), unit, value),
        _table("By sector: all countries and pollutants", ("sector",), _summed(emitted, ("sector",)), unit, value),
        _table("By pollutant", ("species",), _summed(emitted, ("species",)), unit, value),
    ]
    tables = [table for table in tables if table.rows]
    tables.append(_table("Each source", _PARTS, _summed(rows, _PARTS), unit, value, note=_NOTE))
    facts = {str(found.attrs["receptor_title"]): f"{value:.4g} {unit}", "time": time_in_words(found)}
    return Report(str(found.attrs["title"]), tables, facts)


def contributions_csv(found: "xr.Dataset") -> str:
    """Return all contributions as a table: what each source gives, and what a cut of it by a tenth changes."""
    unit, buffer = unit_of(found), io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([*_PARTS, f"contribution [{unit}]", f"change by a 10 % cut [{unit}]", "relative [1]"])
    for row in rows_of(found):
        given = _PPB * float(row["value"])
        share = float(row["value"]) / float(found["value"]) if float(found["value"]) else float("nan")
        writer.writerow([*(row[name] for name in _PARTS), f"{given:.6g}", f"{-_CUT * given:.6g}", f"{share:.6g}"])
    return buffer.getvalue()


def unit_of(found: "xr.Dataset") -> str:
    """Return the unit that people read the measure in."""
    return "ppb h" if str(found["value"].attrs["units"]).endswith("h") else "ppb"


def time_in_words(found: "xr.Dataset") -> str:
    """Return the time, or the first and the last, of the receptor."""
    import numpy as np

    start = np.datetime64(str(found.attrs["start"]))
    moments = [start + np.timedelta64(round(float(each)), "s") for each in found.attrs["receptor_time"]]
    first, last = (str(each.astype("datetime64[m]")).replace("T", " ") for each in moments)
    return f"{first} UTC" if first == last else f"{first} to {last} UTC"


def rows_of(found: "xr.Dataset") -> list[dict[str, str | float]]:
    """Return the contributions, the greatest first: source, country, sector, species and value."""
    columns = {name: found[f"source_{name}"].values.tolist() for name in _PARTS[1:]}
    columns = {"source": found["source"].values.tolist(), **columns, "value": found["contribution"].values.tolist()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


Sums = Sequence[tuple[tuple[str, ...], float]]


def _summed(rows: Iterable[Mapping[str, str | float]], names: Sequence[str]) -> Sums:
    """Contributions that agree in some of their names, added up; the greatest first."""
    sums: dict[tuple[str, ...], float] = {}
    for row in rows:
        key = tuple(str(row[name]) for name in names)
        sums[key] = sums.get(key, 0.0) + float(row["value"])
    return sorted(sums.items(), key=lambda item: -abs(item[1]))


def _table(title: str, names: Sequence[str], sums: Sums, unit: str, value: float, note: str = "") -> Table:
    cut = f"change by a 10 % cut [{unit}]"
    rows: list[tuple[Cell, ...]] = [
        (*key, -_CUT * _PPB * given, f"{-100.0 * _CUT * _PPB * given / value:+.3g} %" if value else "")
        for key, given in sums[:_MOST]
    ]
    left = f"{len(sums) - _MOST} more in contributions.csv; " if len(sums) > _MOST else ""
    return Table(title, (*names, cut, "of the value"), rows, f"{left}{note}".removesuffix("; "))
