"""Makes one netCDF-4 file of a result that lies in many."""

import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Any, Literal

import numpy as np
import xarray as xr

from airshed.core.atomic import write_whole
from airshed.core.errors import OutputError
from airshed.io import cf
from airshed.io.folder import RunFolder
from airshed.io.results import damaged, open_result
from airshed.io.run_state import RunState, read_state, results


def merge(folder: Path, name: str | None = None, compression: cf.Compression = "zlib") -> list[Path]:
    """Turn the results of a run, or one of them, into one netCDF-4 file each, and remove what they were made of.

    With zlib the file has the bytes that the strategy "gather" would have written. Returns the paths of the new files,
    none where each result is one already. Raises OutputError where there is no result, or the file cannot be written.
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
                        open_result(target).close()  # an earlier merge made it, and was killed before the end
                    else:
                        _merge(path, target, compression)
                        made.append(target)
                    shutil.rmtree(path)
    return made


def _finished(folder: Path, names: Collection[str], state: RunState | None) -> dict[str, list[Path]]:
    """Return what there is of results; raises OutputError where one is not there."""
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
                    file[field][index] = _record(dataset, field, index, path)


def _record(dataset: xr.Dataset, field: str, index: int, path: Path) -> np.ndarray[Any, Any]:
    """Return a record of a field; an error of reading is reported as damage."""
    try:
        record: np.ndarray[Any, Any] = dataset[field][index].to_numpy()
    except Exception as error:  # whatever damage leads to
        raise damaged(path, error) from error
    return record


def _description(dataset: xr.Dataset) -> cf.Description:
    """Return what a dataset holds but its records, in the order of the file that the root would write."""
    fields = _fields(dataset)
    clock = [name for name in cf.CLOCK if name in dataset.variables]
    used = dict.fromkeys(str(dim) for name in fields for dim in dataset[name].dims[1:])
    others = [str(dim) for dim in dataset.sizes if dim not in ("time", "bnds", *used)]
    axes = [*others, *used]  # what no field has stands before what all have
    places = [name for axis in axes for name in (axis, _bounds(axis)) if name in dataset.variables]
    places += sorted(str(name) for name in dataset.variables if name not in (*clock, *fields, *places))
    variables = [_variable(dataset[name], growing=True) for name in clock]
    variables += [_variable(dataset[name], growing=False) for name in places]
    variables += [_variable(dataset[name], growing=True) for name in fields]
    bounds = {"bnds": dataset.sizes["bnds"]} if "bnds" in dataset.sizes else {}
    dims: dict[str, int | None] = {**bounds, **{axis: dataset.sizes[axis] for axis in axes}}
    return cf.Description({"time": None, **dims}, tuple(variables), dict(dataset.attrs))


def _fields(dataset: xr.Dataset) -> list[str]:
    """Return the names of the variables that records bring, but the times."""
    variables = dataset.variables.items()
    return [str(name) for name, each in variables if "time" in each.dims and name not in cf.CLOCK]


def _bounds(axis: str) -> str:
    return f"{axis}_bnds"


def _variable(array: Any, *, growing: bool) -> cf.Variable:
    dtype: Literal["f4", "f8"] = "f4" if array.dtype == np.float32 else "f8"
    places = {key: text for key, text in array.encoding.items() if key == "coordinates"}
    return cf.Variable(array.name, dtype, array.dims, {**array.attrs, **places}, None if growing else array.to_numpy())
