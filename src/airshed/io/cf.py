"""The layout of an output file: netCDF-4 by the CF conventions, version 1.11.

source  Eaton et al. 2023, NetCDF Climate and Forecast Metadata Conventions 1.11
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import netCDF4
import numpy as np
from numpy.typing import NDArray

from airshed.core.version import __version__
from airshed.fields.spec import FieldSpec
from airshed.grid import Grid

CONVENTIONS: Final = "CF-1.11"
_COMPRESSION: Final[dict[str, Any]] = {"zlib": True, "complevel": 1, "shuffle": True}
_CHUNK_BYTES: Final = 32 * 1024


def create(
    path: Path,
    grid: Grid,
    levels: Sequence[int],
    fields: Sequence[FieldSpec],
    *,
    start: np.datetime64,
    attributes: Mapping[str, str],
) -> netCDF4.Dataset:
    """Return a new file, open for writing, with its coordinates and empty variables (time, [level,] lat, lon)."""
    file = netCDF4.Dataset(path, "w", format="NETCDF4")
    try:
        file.setncatts({"Conventions": CONVENTIONS, "source": f"Airshed {__version__}", **attributes})
        _add_time(file, start)
        faces = np.stack([grid.layer_faces[:-1], grid.layer_faces[1:]], axis=1)
        file.createDimension("bnds", 2)
        _add_axis(file, "level", grid.level[levels], faces[levels], _LEVEL)
        _add_axis(file, "lat", grid.lat, np.stack([grid.lat_faces[:-1], grid.lat_faces[1:]], axis=1), _LAT)
        _add_axis(file, "lon", grid.lon, np.stack([grid.lon_faces[:-1], grid.lon_faces[1:]], axis=1), _LON)
        for spec in fields:
            _add_field(file, spec)
    except BaseException:
        file.close()
        raise
    return file


_LEVEL: Final = {
    "standard_name": "height",
    "long_name": "height of the layer's centre above the ground",
    "units": "m",
    "positive": "up",
    "axis": "Z",
}
_LAT: Final = {"standard_name": "latitude", "long_name": "latitude", "units": "degrees_north", "axis": "Y"}
_LON: Final = {"standard_name": "longitude", "long_name": "longitude", "units": "degrees_east", "axis": "X"}


def _add_time(file: netCDF4.Dataset, start: np.datetime64) -> None:
    file.createDimension("time", None)
    time = file.createVariable("time", "f8", ("time",), chunksizes=(512,))
    time.setncatts(
        {
            "standard_name": "time",
            "long_name": "time (UTC)",
            "units": f"seconds since {np.datetime_as_string(start, unit='s')}Z",
            "calendar": "proleptic_gregorian",
            "units_metadata": "leap_seconds: none",
            "axis": "T",
        }
    )


def _add_axis(
    file: netCDF4.Dataset, name: str, centres: NDArray[np.float64], bounds: NDArray[np.float64], text: Mapping[str, str]
) -> None:
    file.createDimension(name, len(centres))
    axis = file.createVariable(name, "f8", (name,))
    axis.setncatts({**text, "bounds": f"{name}_bnds"})
    axis[:] = centres
    file.createVariable(f"{name}_bnds", "f8", (name, "bnds"))[:] = bounds


def _add_field(file: netCDF4.Dataset, spec: FieldSpec) -> None:
    sizes = tuple(file.dimensions[dim].size for dim in spec.dims)
    variable = file.createVariable(
        spec.name, "f4", ("time", *spec.dims), chunksizes=(1, *_chunks(sizes)), fill_value=False, **_COMPRESSION
    )
    variable.setncatts({"long_name": spec.text, "units": spec.unit, "cell_methods": "time: point"})
    if spec.unit == "K":
        variable.units_metadata = "temperature: on_scale"
    if spec.standard_name is not None:
        variable.standard_name = spec.standard_name
    if spec.molar_mass is not None:
        variable.molar_mass = spec.molar_mass  # [kg mol-1]; turns the mixing ratio into a mass concentration


def _chunks(sizes: tuple[int, ...]) -> tuple[int, ...]:
    """Whole maps of a few levels each: maps read fast, and a chunk stays in the processor's cache while compressed."""
    if len(sizes) < 3:
        return sizes
    map_bytes = 4 * sizes[1] * sizes[2]
    return (min(sizes[0], max(1, _CHUNK_BYTES // map_bytes)), *sizes[1:])
