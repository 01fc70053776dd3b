"""Report of `airshed adjoint` for a model of points: the periods and inputs of largest sensitivity."""

import csv
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from airshed.core.report import Cell, Report, Table
from airshed.inverse.sensitivity_files import write_files

if TYPE_CHECKING:
    import xarray as xr

_MOST_ROWS: Final = 10
_KINDS: Final = {"initial": "state at the start", "parameter": "parameter of cells", "number": "number of a process"}


def write_sensitivity(found: "xr.Dataset", folder: Path) -> Report:
    """Write a Dataset of sensitivities, its table and its summary into a folder; return the summary."""
    report = point_report(found)
    write_files(found, _table(found), report, folder)
    return report


def contributions(found: "xr.Dataset") -> dict[str, Any]:
    """Return what each amount of the weather contributes in each period, all cells together (time,)."""
    names = [str(name) for name in found.data_vars if str(name).startswith("contribution_")]
    sums = {name.removeprefix("contribution_"): _of_periods(found[name]) for name in names}
    return dict(sorted(sums.items(), key=lambda each: -np.abs(each[1]).sum()))


def periods(found: "xr.Dataset") -> list[tuple[str, str]]:
    """Return the first and the last day of each period."""
    begins, ends = (found["time_bounds"].values[:, column] for column in (0, 1))
    lasts = ends - np.timedelta64(1, "s")
    return [(str(first)[:10], str(last)[:10]) for first, last in zip(begins, lasts, strict=True)]


def point_report(found: "xr.Dataset") -> Report:
    """Return what is measured, what weather contributes, and which inputs matter most."""
    unit = str(found["value"].attrs["units"])
    amounts, named = contributions(found), periods(found)
    tables = [
        Table(
            "What the weather contributes, to first order", ("weather", unit),
            [(name.replace("_", " "), float(values.sum())) for name, values in amounts.items()],
            note="a tenth less changes the receptor by minus a tenth of this",
        )
    ] if amounts else []  # fmt: skip
    chosen = ["rain"] if "rain" in amounts else list(amounts)[:1]
    for name in chosen:
        values, total = amounts[name], float(np.abs(amounts[name]).sum()) or 1.0
        first = np.argsort(-np.abs(values), kind="stable")[:_MOST_ROWS]
        rows: list[tuple[Cell, ...]] = [
            (*named[each], float(values[each]), 100.0 * abs(float(values[each])) / total) for each in first
        ]
        title = f"Periods whose {name.replace('_', ' ')} matters most"
        tables.append(Table(title, ("from", "to", unit, "share [%]"), rows))
    for kind, text in _KINDS.items():
        rows = list[tuple[Cell, ...]](each for each in _relative(found, kind) if each[1])[:_MOST_ROWS]
        if rows:
            tables.append(Table(f"Change by 10 % more of each {text}, everywhere", (text, unit), rows))
    facts = {"receptor": str(found.attrs["receptor_title"]), "value": f"{float(found['value']):.6g} {unit}"}
    return Report(str(found.attrs["title"]), tables, facts)


def _relative(found: "xr.Dataset", kind: str) -> list[tuple[str, float]]:
    """Return what a tenth more of each input of a kind changes, the greatest first."""
    names = [str(name) for name in found.data_vars if str(name).startswith(f"{kind}_")]
    rows = [(name.removeprefix(f"{kind}_"), 0.1 * float(found[name].attrs["relative_sum"])) for name in names]
    return sorted(rows, key=lambda each: -abs(each[1]))


def _table(found: "xr.Dataset") -> str:
    """Return the contributions of all periods, and of a tenth more of all else, as CSV."""
    unit = found["value"].attrs["units"]
    text = StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["kind", "name", "from", "to", f"change by 10 % more [{unit}]"])
    table.writerows(_rows(found))
    return text.getvalue()


def _rows(found: "xr.Dataset") -> Iterator[tuple[str, str, str, str, str]]:
    for name, values in contributions(found).items():
        for (first, last), value in zip(periods(found), values, strict=True):
            yield "weather", name, first, last, f"{0.1 * value:.7g}"
    for kind in _KINDS:
        for name, value in _relative(found, kind):
            yield kind, name, "", "", f"{value:.7g}"


def _of_periods(field: "xr.DataArray") -> Any:
    return field.values.reshape(field.sizes["time"], -1).sum(axis=1, dtype=np.float64)
