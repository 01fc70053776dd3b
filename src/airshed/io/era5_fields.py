"""Variables of ERA5 files as the reader wants them, read from the files where and when their values are asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from xarray.backends import BackendArray
from xarray.core import indexing

from airshed.core.errors import DataError
from airshed.io.era5_names import FIELDS
from airshed.io.netcdf import reading

Places = NDArray[np.intp]


@dataclass(frozen=True)
class StoredField:
    """A variable as it lies in one file, and where there its values in the reader's order are.

    name    that of the reader
    field   as in the file, not read
    axes    the reader's names of the dimensions, in the reader's order -> the file's names
    places  the reader's names -> the place in the file of each value of the coordinate
    coordinates  the reader's names -> values, in the reader's order
    size    of the file [bytes] when it was opened: of one that was cut since, HDF5 reads the missing end as zeros
    """

    path: Path
    original: str
    name: str
    field: xr.DataArray
    axes: Mapping[str, str]
    places: Mapping[str, Places]
    coordinates: Mapping[str, NDArray[Any]]
    level_kind: str
    size: int

    def read(self, wanted: Mapping[str, Places]) -> NDArray[Any]:
        """Return the values at some places of each axis, by the reader's numbers; DataError where they cannot be."""
        at = {name: self.places[name][wanted[name]] for name in self.axes}
        spans = {self.axes[name]: slice(int(where.min()), int(where.max()) + 1) for name, where in at.items()}
        self._check_file(wanted)
        with reading(self.path, lambda: self._text(wanted)):
            # a plain variable: coordinates would be cut out too, which takes longer than reading
            part = self.field.variable.isel(spans).load()
        values = _one_version(part).transpose(*self.axes.values()).values
        for axis, (name, where) in enumerate(at.items()):
            values = values.take(where - spans[self.axes[name]].start, axis=axis)
        self._check(values, wanted)
        return values

    def _text(self, wanted: Mapping[str, Places]) -> str:
        """Return what is wanted, for messages."""
        if "time" not in wanted:
            return f"variable {self.original}"
        times = self.coordinates["time"][wanted["time"]]
        return f"variable {self.original} at {' to '.join(dict.fromkeys(map(coordinate_text, times[[0, -1]])))}"

    def _check_file(self, wanted: Mapping[str, Places]) -> None:
        """Raise DataError for a file that is no longer what was opened."""
        try:
            size = self.path.stat().st_size
        except OSError as error:
            raise DataError(
                f"{self.path} cannot be read any more ({error.strerror}), and {self._text(wanted)} is needed; "
                "put it back"
            ) from None
        if size != self.size:
            raise DataError(
                f"{self.path} had {self.size} bytes when it was opened, and has {size} now, and "
                f"{self._text(wanted)} is needed; copy or download it again"
            )

    def _check(self, values: NDArray[Any], wanted: Mapping[str, Places]) -> None:
        """Raise DataError at the first value that is not finite or out of range."""
        low, high = FIELDS["z" if self.name == "zs" else self.name][1:]
        if low <= values.min() and values.max() <= high:  # false where a value is NaN
            return
        wrong = ~((values >= low) & (values <= high))
        place = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
        where = ", ".join(
            f"{name} {coordinate_text(self.coordinates[name][wanted[name]][index])}"
            for name, index in zip(self.axes, place, strict=True)
        )
        value = values[place]
        fault = f"is {value:g}, outside {low:g} to {high:g}" if np.isfinite(value) else "is missing (NaN)"
        raise DataError(
            f"{self.path}: variable {self.original} {fault} at {where} ({int(wrong.sum())} values); replace the file"
        )


class FieldOfFiles(BackendArray):
    """A variable whose times may lie in several files, as an array that xarray indexes without reading it."""

    def __init__(self, parts: Sequence[StoredField], times: Sequence[tuple[int, int]] | None) -> None:
        """``times`` are, of each time, the number of the part and the place in it; None where nothing has times."""
        self._parts, self._times, first = parts, times, parts[0]
        sizes = {name: values.size for name, values in first.coordinates.items()}
        if times is not None:
            sizes["time"] = len(times)
        self._axes = tuple(first.axes)
        self.shape = tuple(sizes[name] for name in self._axes)
        self.dtype = np.result_type(*(part.field.dtype for part in parts))

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._read)

    def _read(self, key: tuple[Any, ...]) -> NDArray[Any]:
        wanted = {
            name: np.atleast_1d(np.arange(size)[of]) for name, size, of in zip(self._axes, self.shape, key, strict=True)
        }
        single = tuple(0 if isinstance(of, int | np.integer) else slice(None) for of in key)
        shape = tuple(where.size for where in wanted.values())
        if 0 in shape:
            return np.empty(shape, self.dtype)[single]
        values = self._parts[0].read(wanted) if self._times is None else self._read_times(wanted)
        return values.astype(self.dtype, copy=False)[single]

    def _read_times(self, wanted: Mapping[str, Places]) -> NDArray[Any]:
        """Read what each file has of the times, and put it together."""
        assert self._times is not None
        steps = np.array([self._times[index] for index in wanted["time"]])
        result = np.empty(tuple(where.size for where in wanted.values()), self.dtype)
        for number in dict.fromkeys(steps[:, 0]):
            here = steps[:, 0] == number
            result[here] = self._parts[number].read({**wanted, "time": steps[here, 1]})
        return result


def coordinate_text(value: Any) -> str:
    """Return a coordinate's value as a person writes it."""
    if isinstance(value, np.datetime64):
        return str(value.astype("datetime64[m]"))
    return f"{float(value):g}"


def _one_version(field: xr.Variable) -> xr.Variable:
    """Return of ERA5 and the preliminary ERA5T, side by side with NaN where the other one has values, all values."""
    if "expver" not in field.dims:
        return field
    merged = field.isel(expver=0)
    for index in range(1, field.sizes["expver"]):
        merged = merged.fillna(field.isel(expver=index))  # type: ignore[no-untyped-call]
    return merged
