"""Access to the results of a run, and conversion of a result in many files into one netCDF-4 file."""

import json
import shutil
from collections.abc import Collection
from contextlib import ExitStack
from math import prod
from pathlib import Path
from typing import Any, Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from xarray.backends import BackendArray
from xarray.core import indexing

import airshed.io.accessor  # noqa: F401  registers `.airshed` of arrays
from airshed.core.atomic import write_whole
from airshed.core.errors import DataError, OutputError
from airshed.core.text import suggestion
from airshed.grid.axes import GRID_MAPPING
from airshed.grid.box import Box
from airshed.io import cf
from airshed.io.folder import RECORDS, RUNS, RunFolder
from airshed.io.hdf5 import check_heads, hdf5
from airshed.io.netcdf import check_whole
from airshed.io.run_state import RESULTS, RunState, read_state, results
from airshed.io.strategies.files import MANIFEST
from airshed.io.strategies.store import count_records
from airshed.io.strategies.zarr_store import check_shards, variables_of


class _TiledField(BackendArray):
    """Field (time, ..., divided dimensions) in pieces in several files, read lazily."""

    def __init__(self, name: str, shape: tuple[int, ...], pieces: list[tuple[xr.Dataset, Box, list[int]]]) -> None:
        self.shape, self.dtype = shape, np.dtype(np.float32)
        self._name, self._pieces = name, pieces

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.BASIC, self._read)

    def _read(self, key: tuple[int | slice, ...]) -> NDArray[np.float32]:
        wanted = [np.atleast_1d(np.arange(size)[index]) for size, index in zip(self.shape, key, strict=True)]
        result = np.empty([len(numbers) for numbers in wanted], self.dtype)
        with hdf5():
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
        return result[tuple(0 if isinstance(index, int | np.integer) else slice(None) for index in key)]


def open_parts(folder: Path, *, decode: bool = True) -> xr.Dataset:
    """Return the dataset in a folder of private files; raise OutputError if a part is missing."""
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
            whole = _TiledField(name, (manifest["records"], *shape), pieces)
            places = {key: text for key, text in first.encoding.items() if key == "coordinates"}
            fields[name] = xr.Variable(first.dims, indexing.LazilyIndexedArray(whole), first.attrs, places)
            beside |= dict.fromkeys(places.get("coordinates", "").split())
    except Exception as error:  # any consequence of damage
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise OutputError(f"{folder} is damaged ({reason}); make it again with airshed run") from error
    result = shared.assign(fields).set_coords(list(beside))
    opened = ExitStack()
    for each in (shared, *(part for part, _, _ in pieces)):
        opened.callback(each.close)
    result.set_close(opened.close)
    return result


def open_run(path: str | Path, name: str = "output") -> xr.Dataset:
    """Open the results of a run as a dataset, which reads values when they are used.

    Parameters
    ----------
    path
        A run folder, or an output file.
    name
        Name of an output of the case, for a run folder.

    Returns
    -------
    xarray.Dataset
        The output, with ``time`` in UTC.

    Raises
    ------
    OutputError
        If there is no such output, if the run is unfinished, or if the file is damaged or not netCDF.

    Examples
    --------
    >>> run = airshed.open_run("runs/west-europe")
    >>> run["O3"].isel(level=0).airshed.to("ppb").plot(col="time")
    """
    path = Path(path)
    if not path.exists():
        raise OutputError(f"there is no run or file {path}{_hint(path)}")
    found = open_result(_output_of(path, name) if path.is_dir() and path.suffix not in RESULTS else path)
    if GRID_MAPPING not in found.data_vars:
        return found
    # As a coordinate it stays with each field, from which libraries such as rioxarray derive the projection.
    placed = found.set_coords(GRID_MAPPING)
    placed.set_close(found.close)
    return placed


def _hint(path: Path) -> str:
    """Return a question for the run of a case that was named instead of its folder; "" without one."""
    named = RUNS / path.name
    return f"; did you mean {named}?" if named.is_dir() and named != path else ""


def _output_of(folder: Path, name: str) -> Path:
    state = read_state(folder)
    if found := results(folder, name):
        return found[0]
    if state is None:
        raise OutputError(
            f"{folder} holds no run of Airshed{_hint(folder) or '; give the folder of a run, or a netCDF file'}"
        )
    if name not in state.outputs:
        raise OutputError(f"the run in {folder} has no output {name!r}; {suggestion(name, state.outputs)}")
    count = count_records(folder / RECORDS / name)
    raise OutputError(
        f"the run in {folder} is unfinished, with {count} output times so far; "
        "wait for it, or complete it with: airshed run CASE --resume"
    )


def damaged(path: Path, error: Exception) -> OutputError:
    """Return the error for a result that cannot be read."""
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    if isinstance(error, DataError):  # its message names the file and a remedy for input
        reason = reason.removeprefix(f"{path}: ").removeprefix(f"{path} ").partition("; ")[0]
    what = "is damaged" if path.suffix in (".files", ".zarr") else "is damaged or is not a netCDF file"
    return OutputError(f"{path} {what} ({reason}); make it again with airshed run")


def open_result(path: Path, *, decode: bool = True) -> xr.Dataset:
    """Return a result, by its path, as a lazily read dataset; without ``decode`` times remain numbers.

    Raises OutputError if it is damaged or not an output of Airshed.
    """
    if path.suffix == ".files":
        return open_parts(path, decode=decode)
    try:
        if path.suffix == ".zarr":
            dataset: xr.Dataset = xr.open_zarr(path, chunks=None, decode_times=decode)[variables_of(path)]
            check_shards(path)
        else:
            check_whole(path)
            check_heads([path])
            with hdf5():
                dataset = xr.open_dataset(path, engine="netcdf4", decode_times=decode)
    except Exception as error:  # any consequence of damage
        raise damaged(path, error) from error
    missing = ({"time"} if "airshed_run" in dataset.attrs else {"time", "lat", "lon"}) - set(dataset.variables)
    if missing or (decode and not np.issubdtype(dataset["time"].dtype, np.datetime64)):
        dataset.close()
        raise OutputError(f"{path} is not an output of Airshed: it lacks {', '.join(sorted(missing)) or 'times'}")
    return dataset


def merge(folder: Path, name: str | None = None, compression: cf.Compression = "zlib") -> list[Path]:
    """Convert the results of a run, or one of them, into one netCDF-4 file each, and remove their source files.

    With zlib the file has the bytes that the strategy "gather" would have written. Returns the paths of the new files,
    none if each result is already a single file. Raises OutputError if there is no result, or the file cannot be
    written.
    """
    state = read_state(folder)
    names = state.outputs if state is not None and name is None else (name or "output",)
    if state is None and not any(results(folder, each) for each in names):
        raise OutputError(f"{folder} holds no run of Airshed; give the folder of a finished run")
    made = []
    with RunFolder.locked(folder):
        for each, paths in _finished(folder, names, state).items():
            for path in paths:
                if path.suffix != ".nc":
                    target = folder / f"{each}.nc"
                    if target.exists():
                        open_result(target).close()  # from an earlier merge that was killed before its end
                    else:
                        _merge(path, target, compression)
                        made.append(target)
                    shutil.rmtree(path)
    return made


def _finished(folder: Path, names: Collection[str], state: RunState | None) -> dict[str, list[Path]]:
    """Return the files of the results; raise OutputError if one is missing."""
    if state is not None and state.outputs and not set(names) & set(state.outputs):
        raise OutputError(f"{folder} has no result {', '.join(names)}; it has {', '.join(state.outputs)}")
    found = {name: results(folder, name) for name in names}
    lacking = [name for name, paths in found.items() if not paths]
    if lacking or not found:
        raise OutputError(
            f"{folder} holds no finished result {', '.join(lacking) or 'at all'}; "
            "complete the run with: airshed run CASE --resume"
        )
    return found


def _merge(path: Path, target: Path, compression: cf.Compression) -> None:
    with open_result(path, decode=False) as dataset, write_whole(target) as part:
        fields, clock = _fields(dataset), [name for name in cf.CLOCK if name in dataset.variables]
        with cf.create(part, _description(dataset), compression) as file:
            for name in clock:
                file[name][: dataset.sizes["time"]] = dataset[name].to_numpy()
            for index in range(dataset.sizes["time"]):
                for field in fields:
                    try:
                        record = dataset[field][index].to_numpy()
                    except Exception as error:  # any consequence of damage
                        raise damaged(path, error) from error
                    file[field][index] = record


def _description(dataset: xr.Dataset) -> cf.Description:
    """Return the content of a dataset except its records, in the order of the file that the root would write."""
    fields = _fields(dataset)
    clock = [name for name in cf.CLOCK if name in dataset.variables]
    used = dict.fromkeys(str(dim) for name in fields for dim in dataset[name].dims[1:])
    others = [str(dim) for dim in dataset.sizes if dim not in ("time", "bnds", *used)]
    axes = [*others, *used]  # axes of some fields precede the axes of all fields
    places = [name for axis in axes for name in (axis, f"{axis}_bnds") if name in dataset.variables]
    places += sorted(str(name) for name in dataset.variables if name not in (*clock, *fields, *places))
    variables = [_variable(dataset[name], growing=True) for name in clock]
    variables += [_variable(dataset[name], growing=False) for name in places]
    variables += [_variable(dataset[name], growing=True) for name in fields]
    bounds = {"bnds": dataset.sizes["bnds"]} if "bnds" in dataset.sizes else {}
    dims: dict[str, int | None] = {**bounds, **{axis: dataset.sizes[axis] for axis in axes}}
    return cf.Description({"time": None, **dims}, tuple(variables), dict(dataset.attrs))


def _fields(dataset: xr.Dataset) -> list[str]:
    """Return the names of the record variables, except times."""
    variables = dataset.variables.items()
    return [str(name) for name, each in variables if "time" in each.dims and name not in cf.CLOCK]


def _variable(array: Any, *, growing: bool) -> cf.Variable:
    dtype: Literal["f4", "f8"] = "f4" if array.dtype == np.float32 else "f8"
    places = {key: text for key, text in array.encoding.items() if key == "coordinates"}
    return cf.Variable(array.name, dtype, array.dims, {**array.attrs, **places}, None if growing else array.to_numpy())
