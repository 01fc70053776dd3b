"""Small ERA5 file as the archive writes it, to be damaged."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import netCDF4
import numpy as np
import xarray as xr

UNITS = {"u": "m s**-1", "v": "m s**-1", "t": "K", "q": "kg kg**-1", "sp": "Pa", "tp": "m"}
VALUES = {"u": 5.0, "v": -3.0, "t": 280.0, "q": 0.005, "sp": 1e5, "tp": 1e-4}
TIMES = np.datetime64("2022-08-31T00:00", "ns") + np.arange(3) * np.timedelta64(1, "h")


def era5_file(path: Path, kind: str = "NETCDF4") -> Path:
    """Write three hours of six fields on three levels and 3 x 3 points, packed into 16 bits."""
    path.write_bytes(_content(kind))
    return path


@cache
def _content(kind: str) -> bytes:
    full = ("time", "level", "latitude", "longitude")
    fields, packing = {}, {}
    for name, value in VALUES.items():
        dims = ("time", "latitude", "longitude") if name in ("sp", "tp") else full
        spread = 1.0 + 0.01 * np.arange(3 ** len(dims)).reshape((3,) * len(dims)) / 3 ** len(dims)
        fields[name] = (dims, value * spread, {"units": UNITS[name]})
        packing[name] = {"dtype": "i2", "scale_factor": 1e-5 * value, "add_offset": value, "_FillValue": -32767}
    coords = {
        "time": TIMES,
        "level": ("level", [100, 120, 137], {"long_name": "model_level_number"}),
        "latitude": ("latitude", [52.0, 51.0, 50.0], {"units": "degrees_north"}),
        "longitude": ("longitude", [0.0, 1.0, 2.0], {"units": "degrees_east"}),
    }
    dataset = xr.Dataset(fields, coords=coords)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "era5.nc"
        dataset.to_netcdf(path, encoding=packing, format=kind)
        return path.read_bytes()


def changed(path: Path, change: Callable[[netCDF4.Dataset], None]) -> Path:
    """Write the file, and change it by netCDF4."""
    with netCDF4.Dataset(era5_file(path), "a") as file:
        file.set_auto_maskandscale(False)
        change(file)
    return path


def attribute(variable: str, **values: object) -> Callable[[netCDF4.Dataset], None]:
    """Return the change that gives a variable other attributes."""
    return lambda file: file[variable].setncatts(values)


def values(variable: str, *numbers: float) -> Callable[[netCDF4.Dataset], None]:
    """Return the change that gives a coordinate other values."""

    def change(file: netCDF4.Dataset) -> None:
        file[variable][:] = numbers

    return change
