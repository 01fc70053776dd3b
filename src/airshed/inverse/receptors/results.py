"""Output files of `airshed adjoint`: Dataset, table of contributions, and summary with the ranking of sources."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from airshed.core.atomic import guarded, is_part, remove_parts, write_whole
from airshed.core.errors import OutputError
from airshed.core.report import Cell, Report, Table
from airshed.inverse.receptors.dataset import INVENTORY
from airshed.io.folder import PICTURES
from airshed.io.hdf5 import hdf5
from airshed.models.air.emissions.sectors import sector_in_words

if TYPE_CHECKING:
    import xarray as xr

_PPB: Final = 1e9
_CUT: Final = 0.1
_MOST: Final = 15
_LEAST: Final = 1e-3  # of the largest contribution
_NOTE: Final = "first-order estimate: valid for cuts small enough for a linear response of the chemistry"
_PARTS: Final = ("source", "country", "sector", "species")


def ranking(found: "xr.Dataset") -> Report:
    """Return the value of a receptor, and its change by cuts of 10 %: by country, by sector, and of each source."""
    unit = unit_of(found)
    value = _PPB * float(found["value"])
    rows = rows_of(found)
    emitted = [row for row in rows if row["source"] == INVENTORY]
    of_sectors = [row for row in rows if row["sector"]]  # of the inventory and of gridded files
    tables = [
        _table("By country: all its sectors and pollutants", ("country",), _summed(emitted, ("country",)), unit, value),
        _table("By sector: all countries and pollutants", ("sector",), _summed(of_sectors, ("sector",)), unit, value),
        _table("By pollutant", ("species",), _summed(emitted, ("species",)), unit, value),
    ]
    tables = [table for table in tables if table.rows]
    if each := _summed(rows, _PARTS):
        tables.append(_table("Each source", _PARTS, each, unit, value, note=_NOTE))
    none = {} if each else {"sources": "no emission of the case reaches the receptor by that time"}
    facts = none | {str(found.attrs["receptor_title"]): f"{value:.4g} {unit}", "time": time_in_words(found)}
    return Report(str(found.attrs["title"]), tables, facts)


def contribution_rows(found: "xr.Dataset") -> list[list[str]]:
    """Return a table of all contributions of sources, and of changes by a cut of 10 %."""
    unit, value = unit_of(found), float(found["value"])
    rows = [[*_PARTS, f"contribution [{unit}]", f"change by a 10 % cut [{unit}]", "relative [1]"]]
    for row in rows_of(found):
        given = _PPB * float(row["value"])
        share = float(row["value"]) / value if value else float("nan")
        rows.append([*(str(row[name]) for name in _PARTS), f"{given:.6g}", f"{-_CUT * given:.6g}", f"{share:.6g}"])
    return rows


def unit_of(found: "xr.Dataset") -> str:
    """Return the unit for display, ppb h or ppb."""
    return "ppb h" if str(found["value"].attrs["units"]).endswith("h") else "ppb"


def time_in_words(found: "xr.Dataset") -> str:
    """Return the time of the receptor, or its first and last time, as text."""
    start = np.datetime64(str(found.attrs["start"]))
    moments = [start + np.timedelta64(round(float(each)), "s") for each in found.attrs["receptor_time"]]
    first, last = (str(each.astype("datetime64[m]")).replace("T", " ") for each in moments)
    return f"{first} UTC" if first == last else f"{first} to {last} UTC"


def rows_of(found: "xr.Dataset") -> list[dict[str, str | float]]:
    """Return the contributions, the largest first: source, country, sector, species and value."""
    columns = {name: found[f"source_{name}"].values.tolist() for name in _PARTS[1:]}
    columns = {"source": found["source"].values.tolist(), **columns, "value": found["contribution"].values.tolist()}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


Sums = Sequence[tuple[tuple[str, ...], float]]


def _summed(rows: Iterable[Mapping[str, str | float]], names: Sequence[str]) -> Sums:
    """Return sums of contributions grouped by some of their names, the largest first."""
    sums: dict[tuple[str, ...], float] = {}
    for row in rows:
        key = tuple(str(row[name]) for name in names)
        sums[key] = sums.get(key, 0.0) + float(row["value"])
    return sorted(sums.items(), key=lambda item: -abs(item[1]))


def _table(title: str, names: Sequence[str], sums: Sums, unit: str, value: float, note: str = "") -> Table:
    """Return the largest contributions, sectors in words; smaller ones are added up in the row "others"."""
    cut = f"change by a 10 % cut [{unit}]"
    least = _LEAST * max((abs(given) for _, given in sums), default=0.0)
    main = [(key, given) for key, given in sums[:_MOST] if abs(given) >= least]
    if rest := sums[len(main) :]:
        main.append((("others", *[""] * (len(names) - 1)), sum(given for _, given in rest)))
    rows: list[tuple[Cell, ...]] = [
        (
            *(sector_in_words(word) if name == "sector" else word for name, word in zip(names, key, strict=True)),
            -_CUT * _PPB * given,
            f"{-100.0 * _CUT * _PPB * given / value:+.3g} %" if value else "",
        )
        for key, given in main
    ]
    left = f"others: {len(rest)} in contributions.csv; " if rest else ""
    return Table(title, (*names, cut, "of the value"), rows, f"{left}{note}".removesuffix("; "))


FILE: Final = "sensitivity.nc"
TABLE: Final = "contributions.csv"
SUMMARY: Final = "summary.txt"

COMMITS: Final = "commits"
"""Folder of the commits from which a killed gradient resumes."""

_OWN: Final = (FILE, TABLE, SUMMARY, PICTURES, COMMITS)

_SMALLEST: Final = 1e-30
"""Smaller values are written as zero: they are near the limit of single precision."""


def check_folder(folder: Path) -> None:
    """Raise OutputError for a folder with files other than results of `airshed adjoint`; nothing is changed."""
    with guarded(folder):
        there = [path for path in folder.iterdir() if not is_part(path)] if folder.is_dir() else []
    others = [path.name for path in there if path.name not in _OWN]
    ours = (folder / FILE).exists() or (folder / COMMITS).is_dir()
    if others or (there and not ours):
        name = others[0] if others else there[0].name
        raise OutputError(f"{folder} holds {name}, which is not a result of airshed adjoint; choose another folder")


def write_sensitivity(found: "xr.Dataset", folder: Path) -> Report:
    """Write the sensitivities of a receptor into a folder, each file atomically; return the summary.

    Figures of earlier results are removed. Fields are in single precision. Raises OutputError if a file cannot be
    written.
    """
    report = ranking(found)
    plain = found.map(lambda each: each.where(abs(each) > _SMALLEST, 0.0) if _is_field(each) else each, keep_attrs=True)
    write_files(plain, contribution_rows(found), report, folder)
    return report


def write_files(found: "xr.Dataset", rows: Iterable[Sequence[str]], report: Report, folder: Path) -> None:
    """Write sensitivities, table and summary into a folder, each file atomically."""
    with guarded(folder):
        remove_parts(folder)
        for picture in (folder / PICTURES).glob("*.png"):
            picture.unlink()
    encoding: dict[Any, dict[str, Any]] = {}
    for name, variable in found.variables.items():
        if np.issubdtype(variable.dtype, np.datetime64):
            encoding[name] = {"units": "seconds since 1970-01-01 00:00:00", "dtype": "int64", "_FillValue": None}
        elif _is_field(variable):
            encoding[name] = {
                "dtype": "float32", "zlib": True, "complevel": 1, "shuffle": True, "_FillValue": None
            }  # fmt: skip
        elif np.issubdtype(variable.dtype, np.floating):
            encoding[name] = {"_FillValue": None}
    with write_whole(folder / FILE) as part, hdf5():
        found.to_netcdf(part, engine="netcdf4", encoding=encoding)
    with write_whole(folder / TABLE) as part, part.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    with write_whole(folder / SUMMARY) as part:
        part.write_text(report.to_text(), encoding="utf-8")


def _is_field(variable: Any) -> bool:
    return np.issubdtype(variable.dtype, np.floating) and variable.ndim > 1
