"""What `airshed adjoint` leaves behind: the Dataset as CF netCDF, the table of contributions, and the summary."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from airshed.core.atomic import guarded, is_part, remove_parts, write_whole
from airshed.core.errors import OutputError
from airshed.core.report import Report
from airshed.inverse.ranking import contributions_csv, ranking
from airshed.io.folder import PICTURES
from airshed.io.hdf5 import hdf5

if TYPE_CHECKING:
    import xarray as xr

FILE: Final = "sensitivity.nc"
TABLE: Final = "contributions.csv"
SUMMARY: Final = "summary.txt"

COMMITS: Final = "commits"
"""Folder of what a gradient goes on from that was killed."""

_OWN: Final = (FILE, TABLE, SUMMARY, PICTURES, COMMITS)

_SMALLEST: Final = 1e-30
"""What is smaller counts as zero in files: single precision has nothing below, and maps of it mean nothing."""


def check_folder(folder: Path) -> None:
    """Raise OutputError for a folder that holds anything but what this package wrote; nothing is changed."""
    with guarded(folder):
        there = [path for path in folder.iterdir() if not is_part(path)] if folder.is_dir() else []
    others = [path.name for path in there if path.name not in _OWN]
    ours = (folder / FILE).exists() or (folder / COMMITS).is_dir()
    if others or (there and not ours):
        name = others[0] if others else there[0].name
        raise OutputError(f"{folder} holds {name}, which is no result of airshed adjoint; choose another folder")


def write_sensitivity(found: "xr.Dataset", folder: Path) -> Report:
    """Write a receptor's sensitivities into a folder, each file whole or not at all; return the summary.

    Pictures of earlier ones are removed. Fields are single precision. Raises OutputError for what the system refuses.
    """
    report = ranking(found)
    write_files(_plain(found), contributions_csv(found), report, folder)
    return report


def write_files(found: "xr.Dataset", table: str, report: Report, folder: Path) -> None:
    """Write sensitivities, their table and their summary into a folder, each file whole or not at all."""
    with guarded(folder):
        remove_parts(folder)
        for picture in (folder / PICTURES).glob("*.png"):
            picture.unlink()
    with write_whole(folder / FILE) as part, hdf5():
        encoding = {name: _encoding(found[name]) for name in found.variables}
        found.to_netcdf(part, engine="netcdf4", encoding=encoding)
    with write_whole(folder / TABLE) as part:
        part.write_text(table, encoding="utf-8")
    with write_whole(folder / SUMMARY) as part:
        part.write_text(report.to_text(), encoding="utf-8")


def _plain(found: "xr.Dataset") -> "xr.Dataset":
    return found.map(lambda each: each.where(abs(each) > _SMALLEST, 0.0) if _is_field(each) else each, keep_attrs=True)


def _is_field(variable: Any) -> bool:
    return np.issubdtype(variable.dtype, np.floating) and variable.ndim > 1


def _encoding(variable: Any) -> dict[str, Any]:
    if np.issubdtype(variable.dtype, np.datetime64):
        return {"units": "seconds since 1970-01-01 00:00:00", "dtype": "int64", "_FillValue": None}
    if _is_field(variable):
        return {"dtype": "float32", "zlib": True, "complevel": 1, "shuffle": True, "_FillValue": None}
    return {"_FillValue": None} if np.issubdtype(variable.dtype, np.floating) else {}
