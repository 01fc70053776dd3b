"""Output of WRF: files in the order of their times, and the variables of one time over a window of mass points.

source  Skamarock et al. 2021, A Description of the Advanced Research WRF Model Version 4.3, NCAR/TN-556+STR
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from airshed.core.arrays import Array
from airshed.core.errors import DataError
from airshed.grid.window import Window
from airshed.io.grid_file import FileGrid, wrf_grid
from airshed.io.netcdf import open_netcdf, reading

if TYPE_CHECKING:
    import xarray as xr

NEEDED: Final = ("U", "V", "T", "P", "PB", "PH", "PHB", "QVAPOR", "PSFC")
"""Variables without which there is no weather."""
_STAGGERED: Final = {"west_east_stag": 1, "south_north_stag": 0}


class _Record(NamedTuple):
    """Time record of a file."""

    path: Path
    number: int


class WrfFiles:
    """Files of one WRF domain: their times, their grid at each time, and their variables.

    Parameters
    ----------
    paths : sequence of Path
        wrfout files with one or many times each. Of a time that several hold the last file counts.

    Attributes
    ----------
    times : array of datetime64
        Rising, UTC.
    names : frozenset of str
        Variables that every file has.

    Raises
    ------
    DataError
        For a file that is not WRF output, for files of different domains, and for missing variables.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._lock, self._opened = Lock(), dict[Path, "xr.Dataset"]()
        found: dict[np.datetime64, _Record] = {}
        names: list[frozenset[str]] = []
        for path in paths:
            dataset = self._dataset(path)
            for index, when in enumerate(wrf_times(dataset, path)):
                found[when] = _Record(path, index)
            names.append(frozenset(map(str, dataset.variables)))
        self.times: NDArray[np.datetime64] = np.array(sorted(found), "datetime64[s]")
        self._records = [found[when] for when in sorted(found)]
        self.names = frozenset.intersection(*names)
        missing = [name for name in NEEDED if name not in self.names]
        if missing:
            raise DataError(f"{paths[0]} lacks {', '.join(missing)}; WRF output needs {', '.join(NEEDED)}")
        self._check_domains(paths)
        self.bucket = float(np.asarray(self._dataset(paths[0]).attrs.get("BUCKET_MM", -1.0)).item())

    def _dataset(self, path: Path) -> "xr.Dataset":
        """Return an open file."""
        if path not in self._opened:
            self._opened[path] = open_netcdf(path)
        return self._opened[path]

    def _check_domains(self, paths: Sequence[Path]) -> None:
        """Raise DataError for files of different domains."""
        domains = dict[tuple[float, ...], Path]()
        for path in paths:
            given = self._dataset(path).attrs
            if "MAP_PROJ" not in given:
                raise DataError(f"{path} has no attribute MAP_PROJ: it is not WRF output")
            if not {"west_east_stag"} & set(self._dataset(path)["U"].dims):
                raise DataError(f"{path}: its winds are not on the staggered grid; give the files as WRF writes them")
            key = tuple(float(np.asarray(given.get(name, 0.0)).item()) for name in ("GRID_ID", "MAP_PROJ", "DX", "DY"))
            domains.setdefault(key, path)
        if len(domains) > 1:
            first, second, *_ = domains.values()
            raise DataError(
                f"{first} and {second} are of different domains; name the files of one, such as wrfout_d01_*"
            )

    def file(self, index: int) -> Path:
        """Return the file of a time, for messages."""
        return self._records[index].path

    def grid(self, index: int) -> FileGrid:
        """Return the grid of the mass points at a time: a nest may follow a storm."""
        path, record = self._records[index]
        with self._lock:
            return wrf_grid(self._dataset(path), path, record)

    def read(self, name: str, index: int, box: Window) -> Array:
        """Return a variable at a time over a window (level, y, x) or (y, x), with both faces where it is staggered."""
        path, record = self._records[index]
        with self._lock, reading(path, f"variable {name}".format):
            variable = self._dataset(path).variables[name]
            places: dict[str, int | slice] = {"Time": record} if "Time" in variable.dims else {}
            for dim in map(str, variable.dims):
                if dim.startswith("south_north"):
                    places[dim] = slice(box.south, box.north + (dim in _STAGGERED))
                elif dim.startswith("west_east"):
                    places[dim] = slice(box.west, box.east + (dim in _STAGGERED))
            return np.asarray(variable.isel(places).values, np.float64)

    def close(self) -> None:
        """Close the files."""
        for dataset in self._opened.values():
            dataset.close()


def wrf_times(dataset: "xr.Dataset", path: Path) -> Iterator[np.datetime64]:
    """Yield the times of a file."""
    if "Times" not in dataset.variables:
        raise DataError(f"{path} has no variable Times: it is not WRF output")
    for text in np.ravel(dataset.variables["Times"].values):
        written = text.decode() if isinstance(text, bytes) else str(text)
        try:
            yield np.datetime64(written.strip().replace("_", "T"), "s")
        except ValueError:
            raise DataError(f"{path}: {written!r} in Times is not a time such as 2005-08-28_12:00:00") from None


@contextmanager
def wrf_files(paths: Sequence[Path]) -> Iterator[WrfFiles]:
    """Give the files of a WRF domain, open in the block."""
    files = WrfFiles(paths)
    try:
        yield files
    finally:
        files.close()
