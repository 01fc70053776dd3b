"""The values of a variable in a netCDF file, by a shorter way than xarray's to the same bits."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from xarray.backends.netCDF4_ import NetCDF4ArrayWrapper

Key = tuple[int | slice, ...]


@dataclass(frozen=True)
class Packed:
    """A variable as netCDF4 reads it, and how xarray makes values of its numbers.

    array   the variable in the file, behind xarray's locks
    dtype   of the values
    fills   numbers that stand for no value
    scale, offset  value = number * scale + offset; None where it has none
    """

    array: NetCDF4ArrayWrapper
    dtype: np.dtype[Any]
    fills: tuple[Any, ...]
    scale: Any
    offset: Any

    def __call__(self, key: Key) -> NDArray[Any]:
        """Return the values at some places in the file, in an array that nobody else has."""
        with self.array.datastore.lock:  # what the array does itself, but for a long look at the key
            numbers = self.array.get_array(needs_lock=False)[key]  # type: ignore[no-untyped-call]
        values = np.asarray(numbers).astype(self.dtype, copy=False)
        for fill in self.fills:
            values[values == fill] = np.nan
        if self.scale is not None:
            values *= self.scale
        if self.offset is not None:
            values += self.offset
        return values


def values_of(field: xr.Variable) -> Callable[[Key], NDArray[Any]]:
    """Return what reads the values of a variable, which xarray has opened and nobody has cut yet, at some places.

    xarray's own way, with an index and a copy for each of its layers, takes several times as long as netCDF4's reading;
    it is gone for what is not plain numbers.
    """
    array = getattr(field, "_data", None)
    while array is not None and not isinstance(array, NetCDF4ArrayWrapper):
        array = getattr(array, "array", None)
    packing = field.encoding
    if array is None or "_Unsigned" in packing or not {array.dtype.kind, field.dtype.kind} <= set("iuf"):
        return lambda key: np.asarray(field[key].values)
    marks = (mark for name in ("_FillValue", "missing_value") for mark in np.ravel(packing.get(name, ())))
    fills = tuple({mark for mark in marks if mark == mark})  # NaN needs no mark
    return Packed(array, field.dtype, fills, packing.get("scale_factor"), packing.get("add_offset"))
