"""Reads the private files of the strategy "files" as one dataset, lazily."""

import json
from contextlib import ExitStack
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from xarray.backends import BackendArray
from xarray.core import indexing

from airshed.core.errors import OutputError
from airshed.grid.box import Box
from airshed.io.hdf5 import hdf5
from airshed.io.heads import check_heads
from airshed.io.strategies.files import MANIFEST


class _Tiled(BackendArray):
    """A field (time, ..., divided dimensions) that lies in pieces in several files; reads what is asked for."""

    def __init__(self, name: str, shape: tuple[int, ...], pieces: list[tuple[xr.Dataset, Box, list[int]]]) -> None:
        self.shape, self.dtype = shape, np.dtype(np.float32)
        self._name, self._pieces = name, pieces

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._read)

    def _read(self, key: tuple[int | slice, ...]) -> NDArray[np.float32]:
        wanted = [np.atleast_1d(np.arange(size)[index]) for size, index in zip(self.shape, key, strict=True)]
        result = np.empty([len(numbers) for numbers in wanted], self.dtype)
        with hdf5():
            self._fill(result, wanted)
        return result[tuple(0 if isinstance(index, int | np.integer) else slice(None) for index in key)]

    def _fill(self, result: NDArray[np.float32], wanted: list[NDArray[np.intp]]) -> None:
        """Put what each file has of the wanted places to where it belongs."""
        for file, box, records in self._pieces:
            places = (np.array(records), *(np.arange(*ends) for ends in box.ends))
            axes = (0, *range(result.ndim - len(box.ends), result.ndim))
            into: list[NDArray[np.intp]] = [np.arange(len(numbers)) for numbers in wanted]
            taken: list[NDArray[np.intp]] = list(wanted)
            for axis, held in zip(axes, places, strict=True):
                found = np.flatnonzero(np.isin(wanted[axis], held))
                into[axis], taken[axis] = found, np.searchsorted(held, wanted[axis][found])
            if all(len(numbers) for numbers in into):
                picked = dict(zip(file[self._name].dims, taken, strict=True))
                result[np.ix_(*into)] = file[self._name].isel(picked).to_numpy()


def open_parts(folder: Path, *, decode: bool = True) -> xr.Dataset:
    """Return the dataset that a folder of private files stands for; raises OutputError when a part of it is missing."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        pieces = []
        check_heads(folder / name for name in (manifest["shared"], *(entry["file"] for entry in manifest["files"])))
        with hdf5():
            shared = xr.open_dataset(folder / manifest["shared"], engine="netcdf4", decode_times=decode)
            for entry in manifest["files"]:
                box = Box(tuple((first, last) for first, last in entry["box"]))
                part = xr.open_dataset(folder / entry["file"], engine="netcdf4", decode_times=False)
                pieces.append((part, box, entry["records"]))
        held = sum(len(records) * box.cells for _, box, records in pieces)
        if held != manifest["records"] * prod(manifest["whole"]):
            raise ValueError("its files do not make up the whole")
        fields, beside = {}, dict[str, None]()
        for name, shape in manifest["fields"].items():
            first = pieces[0][0][name]
            whole = _Tiled(name, (manifest["records"], *shape), pieces)
            places = {key: text for key, text in first.encoding.items() if key == "coordinates"}
            fields[name] = xr.Variable(first.dims, indexing.LazilyIndexedArray(whole), first.attrs, places)
            beside |= dict.fromkeys(places.get("coordinates", "").split())
    except Exception as error:  # whatever damage leads to
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise OutputError(f"{folder} is damaged ({reason}); make it again with airshed run") from error
    result = shared.assign(fields).set_coords(list(beside))
    opened = ExitStack()
    for each in (shared, *(part for part, _, _ in pieces)):
        opened.callback(each.close)
    result.set_close(opened.close)
    return result
