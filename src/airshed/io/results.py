"""Opens what a run has written."""

from pathlib import Path

import numpy as np
import xarray as xr

from airshed.core.errors import DataError, OutputError
from airshed.core.text import suggestion
from airshed.io.dataset import open_parts
from airshed.io.folder import RECORDS, RUNS
from airshed.io.hdf5 import hdf5
from airshed.io.heads import check_heads
from airshed.io.netcdf import check_whole
from airshed.io.run_state import RESULTS, read_state, results
from airshed.io.strategies.store import count_records
from airshed.io.strategies.zarr_store import check_shards, variables_of


def open_run(path: str | Path, name: str = "output") -> xr.Dataset:
    """Return an output file as a lazily read dataset, given the file or its run folder.

    Raises OutputError when there is none, when the run is unfinished, and when the file is damaged or no netCDF.
    """
    path = Path(path)
    if not path.exists():
        named = RUNS / path
        raise OutputError(f"there is no run or file {path}" + (f"; did you mean {named}?" if named.is_dir() else ""))
    return open_result(_output_of(path, name) if path.is_dir() and path.suffix not in RESULTS else path)


def _output_of(folder: Path, name: str) -> Path:
    state = read_state(folder)
    if found := results(folder, name):
        return found[0]
    if state is None:
        raise OutputError(f"{folder} holds no run of Airshed; give the folder of a run, or a netCDF file")
    if name not in state.outputs:
        raise OutputError(f"the run in {folder} has no output {name!r}; {suggestion(name, state.outputs)}")
    count = count_records(folder / RECORDS / name)
    raise OutputError(
        f"the run in {folder} is unfinished, with {count} output times so far; "
        "wait for it, or complete it with: airshed run CASE --resume"
    )


def damaged(path: Path, error: Exception) -> OutputError:
    """Return the error of a result that cannot be read."""
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    if isinstance(error, DataError):  # which names the file, and what to do with input
        reason = reason.removeprefix(f"{path}: ").removeprefix(f"{path} ").partition("; ")[0]
    what = "is damaged" if path.suffix in (".files", ".zarr") else "is damaged or is no netCDF file"
    return OutputError(f"{path} {what} ({reason}); make it again with airshed run")


def open_result(path: Path, *, decode: bool = True) -> xr.Dataset:
    """Return a result, by its path, as a lazily read dataset; without ``decode`` times stay numbers.

    Raises OutputError when it is damaged or no output of Airshed.
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
    except Exception as error:  # whatever damage leads to
        raise damaged(path, error) from error
    missing = ({"time"} if "airshed_run" in dataset.attrs else {"time", "lat", "lon"}) - set(dataset.variables)
    if missing or (decode and not np.issubdtype(dataset["time"].dtype, np.datetime64)):
        dataset.close()
        raise OutputError(f"{path} is no output of Airshed: it lacks {', '.join(sorted(missing)) or 'times'}")
    return dataset
