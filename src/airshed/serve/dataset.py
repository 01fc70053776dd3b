"""The present state as an xarray Dataset, and as a netCDF file that any program reads."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from airshed.core.text import printable
from airshed.core.version import __version__
from airshed.serve import types
from airshed.serve.session import Copy, Session

if TYPE_CHECKING:
    import xarray as xr

_CF = {
    "lat": {"standard_name": "latitude", "axis": "Y"},
    "lon": {"standard_name": "longitude", "axis": "X"},
    "level": {"standard_name": "height", "positive": "up", "axis": "Z"},
}


def coordinates(session: Session, dims: Iterable[str]) -> dict[str, tuple[str, list[float], dict[str, str]]]:
    """Return the coordinates along some dimensions: dimension, values, attributes."""
    wanted = set(dims)
    return {
        each.name: (
            each.dim, each.values,
            {"units": each.unit, "long_name": each.text, **_CF.get(each.name, {})},
        )
        for each in session.shape.grid.coordinates
        if each.dim in wanted
    }  # fmt: skip


def attributes_of(variable: types.Variable) -> dict[str, Any]:
    """Return the attributes of a variable, by the CF conventions."""
    found = {"units": variable.unit, "long_name": variable.text}
    return found if variable.standard_name is None else {**found, "standard_name": variable.standard_name}


def history(log: Sequence[types.LogEntry]) -> str:
    """Return a log as the lines of a history."""
    return "\n".join(
        printable(  # a text with a line of its own would look like another entry
            f"step {each.step} ({each.seconds:g} s) {each.author}: "
            + " ".join(f"{key}={value}" for key, value in each.command.items() if value is not None)
        )
        for each in log
    )


def global_attributes(session: Session) -> dict[str, str]:
    """Return what a file says of its origin, the log of commands in its history."""
    return {
        "Conventions": "CF-1.11", "title": session.state.title, "source": f"Airshed {__version__}, live",
        "history": "\n".join(filter(None, [*session.history, history(session.log)])), **session.shape.attributes,
    }  # fmt: skip


def dataset(session: Session, copies: Mapping[str, Copy]) -> "xr.Dataset":
    """Return copies of fields as a Dataset with coordinates."""
    import xarray as xr

    dims = {dim for copy in copies.values() for dim in copy.variable.dims}
    data = {name: (copy.variable.dims, copy.values, attributes_of(copy.variable)) for name, copy in copies.items()}
    found = xr.Dataset(data, coords=coordinates(session, dims), attrs=global_attributes(session))
    first = next(iter(copies.values()))
    return found.assign_coords(time=np.datetime64(first.state.time.removesuffix("Z"), "ns"))


def netcdf(session: Session, copies: Mapping[str, Copy]) -> bytes:
    """Return copies of fields as a netCDF file of the classic format, whose writer is no library of C.

    That of HDF5 is used by the model's thread, and bears one thread alone.
    """
    made = dataset(session, copies).to_netcdf(engine="scipy")
    return bytes(made)
