"""Reader of satellite columns with their averaging kernels from netCDF."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from airshed.core.errors import CaseError, DataError
from airshed.io.netcdf import load_netcdf
from airshed.observations.observation import Kernel, observed_unit
from airshed.observations.selection import Candidate, ObservationSelection

if TYPE_CHECKING:
    import xarray as xr


REQUIRED: Final = {
    "time": ("observation",),
    "lon": ("observation",),
    "lat": ("observation",),
    "value": ("observation",),
    "error": ("observation",),
    "edges": ("observation", "edge"),
    "kernel": ("observation", "layer"),
}
"""Required variables and their dimensions; optional are `a_priori` (as `kernel`) and `flag` (as `value`)."""


def read_columns(path: Path, start: np.datetime64, into: ObservationSelection) -> None:
    """Add the instantaneous columns of a netCDF file to a selection.

    start   of the window, UTC
    raises  DataError for an unusable file; an unusable observation is rejected with its index, from 0
    """
    data = load_netcdf(path)
    if "time" in data.variables and data["time"].dtype.kind != "M":
        raise DataError(f"{path}: its time needs units such as 'seconds since 2022-08-31', in the standard calendar")
    for name, dims in REQUIRED.items():
        if name not in data.variables or data[name].dims != dims:
            raise DataError(f"{path}: it needs a variable {name} with dimensions {', '.join(dims)}")
    if data.sizes["edge"] != data.sizes["layer"] + 1:
        raise DataError(f"{path}: {data.sizes['layer']} layers have {data.sizes['edge']} edges; give one more")
    species, unit = (str(data["value"].attrs.get(name, "")) for name in ("species", "units"))
    if not species or not unit:
        raise DataError(f"{path}: the variable value needs the attributes species and units")
    if not data.sizes["observation"]:
        raise DataError(f"{path} has no observations; get a fresh copy of the file, or leave it out")
    try:
        observed_unit(unit, "column")
    except CaseError as error:
        raise DataError(f"{path}: {error}") from None
    for index in range(data.sizes["observation"]):
        where = f"{path}, observation {index}"
        try:
            candidate = _candidate(data, index, start, where, (species, unit))
        except DataError as error:
            into.reject(where, str(error).removeprefix(f"{where}: "))
        else:
            into.add(candidate)


def _candidate(data: "xr.Dataset", index: int, start: np.datetime64, where: str, of: tuple[str, str]) -> Candidate:
    one = data.isel(observation=index)
    seconds = float((one["time"].to_numpy() - start) / np.timedelta64(1, "s"))
    species, unit = of
    return Candidate(
        station="", kind="column", parameter=species, lon=float(one["lon"]), lat=float(one["lat"]),
        begin=seconds, end=seconds, value=float(one["value"]), unit=unit, error=float(one["error"]),
        representativeness=0.0, flag=str(one["flag"].item()) if "flag" in one else "", where=where,
        kernel=_kernel(one, unit, where),
    )  # fmt: skip


def _kernel(one: "xr.Dataset", unit: str, where: str) -> Kernel:
    edges, weights = (one[name].to_numpy().astype(np.float64) for name in ("edges", "kernel"))
    size = observed_unit(unit, "column").size
    prior = one["a_priori"].to_numpy().astype(np.float64) * size if "a_priori" in one else np.zeros_like(weights)
    if not all(np.isfinite(values).all() for values in (edges, weights, prior)):
        raise DataError(f"{where}: its kernel, edges or a_priori are not finite; give finite ones, or a flag")
    if edges[0] < 0.0 or (np.diff(edges) <= 0.0).any():
        raise DataError(f"{where}: its edges must rise from the ground, in m; they begin with {edges[:3]}")
    return Kernel(edges, weights, prior)
