"""Reader of netCDF files, with one-line errors."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from airshed.core.errors import AirshedError, DataError
from airshed.core.files import plain_file
from airshed.io.classic import required_bytes
from airshed.io.hdf5 import HDF5, check_heads, hdf5

if TYPE_CHECKING:
    import xarray as xr

GRIB = b"GRIB"
"""First bytes of a GRIB file."""
_CLASSIC = (b"CDF\x01", b"CDF\x02", b"CDF\x05")
_SCALING = frozenset({"scale_factor", "add_offset"})


def load_netcdf(path: Path) -> "xr.Dataset":
    """Return the whole content of a netCDF file, scaled and with decoded times, detached from the file.

    raises  DataError for a file that is missing, not netCDF, truncated or damaged
    """
    with open_netcdf(path) as dataset:
        for name, variable in dataset.variables.items():
            with reading(path, f"variable {name}".format):
                variable.load()
        return dataset


def plain_values(path: Path, name: str) -> NDArray[Any]:
    """Return the stored numbers of a variable, in a file that is known to be intact."""
    from netCDF4 import Dataset

    with hdf5(), Dataset(path) as file:
        file.set_auto_maskandscale(False)
        return np.asarray(file[name][:])


def open_netcdf(path: Path, *, decode_times: bool = True) -> "xr.Dataset":
    """Return a netCDF file whose values are read lazily, inside :func:`reading`.

    decode_times  whether times become dates; otherwise they are the numbers of the file
    raises  DataError for a file that is missing, not netCDF, truncated or damaged
    """
    start = _first_bytes(path)
    if not start.startswith((HDF5, *_CLASSIC)):
        raise DataError(f"{path} is not a netCDF file{_guess(start)}")
    check_whole(path)
    check_heads([path])
    import xarray as xr

    with reading(path):
        dataset = xr.open_dataset(
            path, engine="netcdf4", decode_timedelta=False, cache=False, decode_times=decode_times
        )
    try:
        _check_packing(path, dataset)
    except DataError:
        dataset.close()
        raise
    for variable in dataset.variables.values():
        # xarray would return integers if a missing-value mark is declared but does not occur
        packing = set(variable.encoding)
        if variable.dtype.kind in "iu" and packing & {"_FillValue", "missing_value"} and packing & _SCALING:
            return _with_real_scales(path, dataset, decode_times)
    return dataset


def _with_real_scales(path: Path, dataset: "xr.Dataset", decode_times: bool) -> "xr.Dataset":
    """Return a file with integer scale factors and offsets converted to floating point."""
    import xarray as xr

    dataset.close()
    with reading(path):
        raw = xr.open_dataset(path, engine="netcdf4", decode_cf=False, cache=False)
        for variable in raw.variables.values():
            for key in _SCALING & set(variable.attrs):
                variable.attrs[key] = np.float64(variable.attrs[key])
        decoded = xr.decode_cf(raw, decode_timedelta=False, decode_times=decode_times)
    decoded.set_close(raw.close)
    return decoded


def open_file(path: Path, *, decode_times: bool = True) -> "xr.Dataset":
    """Return a netCDF or GRIB file with values that are read lazily; raise DataError for any other file."""
    if not _first_bytes(path).startswith(GRIB):
        return open_netcdf(path, decode_times=decode_times)
    from airshed.io.grib import open_grib

    return open_grib(path)


def check_whole(path: Path) -> None:
    """Raise DataError if a classic file is shorter than its variables: netCDF would read the rest as zeros."""
    if not _first_bytes(path).startswith(_CLASSIC):
        return
    try:
        with path.open("rb") as file:
            whole = path.stat().st_size >= (required_bytes(file) or 0)
    except ValueError:
        whole = False
    if not whole:
        raise DataError(f"{path} is truncated or damaged; copy or download it again")


@contextmanager
def reading(path: Path, what: Callable[[], str] = str) -> Iterator[None]:
    """Convert errors while a netCDF file is read into a one-line DataError; no other thread reads meanwhile.

    The consequences of damage cannot be listed: a flipped bit is a wrong size, type, name or attribute, and causes an
    error anywhere in the libraries.

    Warnings of xarray about unusual attributes are not shown: invalid content is refused on use.

    `what` returns the part that is being read, for the message.
    """
    import xarray as xr

    try:
        with hdf5(), warnings.catch_warnings(), np.errstate(over="ignore", invalid="ignore"):
            warnings.simplefilter("ignore", xr.SerializationWarning)
            yield
    except AirshedError:
        raise
    except Exception as error:
        reason = str(error).splitlines()[0][:120] if str(error).strip() else type(error).__name__
        if reason.startswith("unable to decode time"):
            raise DataError(f"{path}: {reason.partition('. Try')[0]}; correct the attributes of its times") from None
        where = f"{path} is truncated or damaged{(place := what()) and f' at {place}'}"
        raise DataError(f"{where} ({reason}); copy or download it again, or correct the named attribute") from None


def _first_bytes(path: Path) -> bytes:
    """Return the first bytes of a file."""
    plain_file(path, "check the path, or download the file")
    try:
        with path.open("rb") as file:
            return file.read(8)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}); check its permissions") from None


def _guess(start: bytes) -> str:
    """Return the type of the file instead of netCDF, and the remedy."""
    if not start:
        return ": it is empty; download it again"
    if start.startswith(GRIB):
        return " but GRIB; download it as netCDF, or convert it with grib_to_netcdf"
    if start.startswith(b"PK"):
        return " but a zip archive; unpack it and name the files inside"
    return "; check the path, or download it again as netCDF"


def _check_packing(path: Path, dataset: "xr.Dataset") -> None:
    """Raise DataError if a scale factor, offset or fill value is not a number; xarray would fail later."""
    for name, variable in dataset.variables.items():
        for key in sorted(_SCALING, reverse=True):
            given = variable.encoding.get(key, 1.0)
            number = np.asarray(given)
            if number.size != 1 or number.dtype.kind not in "fiu" or not np.isfinite(number).all():
                raise DataError(
                    f"{path}: variable {name} has {key} = {str(given)[:40]!r}, not a number; correct or download it"
                )
