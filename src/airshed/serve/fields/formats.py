"""The present state as an xarray Dataset, as a netCDF file, and as a Zarr v3 store with one chunk per array."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from airshed.core.arrays import AnyArray
from airshed.core.text import printable
from airshed.core.version import __version__
from airshed.grid.axes import GRID_MAPPING
from airshed.serve.fields.published import Copy, Session, Shape
from airshed.serve.model.requests import Requests
from airshed.serve.protocol import types
from airshed.serve.protocol.errors import NotThereError

if TYPE_CHECKING:
    import xarray as xr

_CF = {
    "lat": {"standard_name": "latitude", "axis": "Y"},
    "lon": {"standard_name": "longitude", "axis": "X"},
    "level": {"standard_name": "height", "positive": "up", "axis": "Z"},
}


def coordinates(shape: Shape, dims: Iterable[str]) -> dict[str, tuple[list[str], AnyArray, dict[str, Any]]]:
    """Return the coordinates along some dimensions: dimensions, values, attributes.

    A projected map also has the latitude and longitude of its cells, and its grid mapping.
    """
    names, grid = set(dims), shape.grid
    found: dict[str, tuple[list[str], AnyArray, dict[str, Any]]] = {
        each.name: (
            [each.dim], np.asarray(each.values, np.float64),
            {"units": each.unit, "long_name": each.text, **_CF.get(each.name, {})},
        )
        for each in grid.coordinates
        if each.dim in names
    }  # fmt: skip
    if grid.kind == "projected" and {"y", "x"} <= names:
        for each in shape.places:
            found[each.name] = list(each.dims), each.values, dict(each.attributes)
        found[GRID_MAPPING] = [], np.zeros(()), dict(grid.projection)
    return found


def attributes_of(variable: types.Variable, grid: types.GridInfo) -> dict[str, Any]:
    """Return the CF attributes of a variable."""
    found = {"units": variable.unit, "long_name": variable.text}
    if variable.standard_name is not None:
        found["standard_name"] = variable.standard_name
    if grid.kind == "projected" and variable.dims[-2:] == ["y", "x"]:
        found |= {"grid_mapping": GRID_MAPPING}
    return found


def history(log: Sequence[types.LogEntry]) -> str:
    """Return the log of commands as lines for a history attribute."""
    return "\n".join(
        printable(  # a line break in a text would look like a new entry
            f"step {each.step} ({each.seconds:g} s) {each.author}: "
            + " ".join(f"{key}={value}" for key, value in each.command.items() if value is not None)
        )
        for each in log
    )


def global_attributes(session: Session) -> dict[str, str]:
    """Return the global attributes of a file: case, scenario, origin, and the log of commands as history."""
    title = ": ".join(filter(None, [session.state.title, session.state.scenario]))
    return {
        "Conventions": "CF-1.11", "title": title, "source": f"Airshed {__version__}, live",
        "history": "\n".join(filter(None, [*session.history, history(session.log)])), **session.shape.attributes,
    }  # fmt: skip


def dataset(session: Session, copies: Mapping[str, Copy]) -> "xr.Dataset":
    """Return copies of fields as a Dataset with coordinates."""
    import xarray as xr

    dims = {dim for copy in copies.values() for dim in copy.variable.dims}
    grid = session.shape.grid
    data = {
        name: (each.variable.dims, each.values, attributes_of(each.variable, grid)) for name, each in copies.items()
    }
    found = xr.Dataset(data, coords=coordinates(session.shape, dims), attrs=global_attributes(session))
    first = next(iter(copies.values()))
    return found.assign_coords(time=np.datetime64(first.state.time.removesuffix("Z"), "ns"))


def netcdf(session: Session, copies: Mapping[str, Copy]) -> bytes:
    """Return copies of fields as a netCDF file in classic format, written by SciPy.

    The HDF5 library serves one thread alone, that of the model.
    """
    made = dataset(session, copies).to_netcdf(engine="scipy")
    return bytes(made)


METADATA: Final = "zarr.json"


async def value_of(requests: Requests, name: str, key: str) -> tuple[bytes, str]:
    """Return the content of a key and its media type; raises NotThereError for a missing key."""
    session = requests.session(name)
    if key == METADATA:
        return _json(_group(session)), "application/json"
    array, _, rest = key.partition("/")
    metas = _arrays(session)
    if array not in metas:
        raise NotThereError(f"the store has no array {array!r}")
    if rest == METADATA:
        return _json(metas[array]), "application/json"
    if rest.split("/") != ["c", *("0" for _ in metas[array]["shape"])]:
        raise NotThereError(f"the store has no key {key!r}")
    return np.ascontiguousarray(await _values(requests, session, name, array)).tobytes(), "application/octet-stream"


async def _values(requests: Requests, session: Session, name: str, array: str) -> AnyArray:
    if array == "time":
        return np.array(np.datetime64(session.state.time.removesuffix("Z"), "ms").astype(np.int64), "<i8")
    places = coordinates(session.shape, all_dims(session.shape))
    if array in places:
        return np.asarray(places[array][1], "<f8")
    return np.asarray((await requests.copy(name, array)).values, "<f4")


def all_dims(shape: Shape) -> set[str]:
    """Return the dimensions of all variables."""
    return {dim for each in shape.variables.values() for dim in each.dims}


def _arrays(session: Session) -> dict[str, dict[str, Any]]:
    """Return the metadata of all arrays: variables, coordinates and the time."""
    found = {
        name: array_metadata(each.shape, each.dims, "float32", "NaN", attributes_of(each, session.shape.grid))
        for name, each in session.shape.variables.items()
    }
    for name, (dims, values, attributes) in coordinates(session.shape, all_dims(session.shape)).items():
        found[name] = array_metadata(values.shape, dims, "float64", "NaN", attributes)
    units = {"units": "milliseconds since 1970-01-01", "calendar": "proleptic_gregorian"}
    return {**found, "time": array_metadata([], [], "int64", 0, units)}


def _group(session: Session) -> dict[str, Any]:
    named = ["time", *(name for name in ("lat", "lon", GRID_MAPPING) if session.shape.places)]
    return group_metadata(_arrays(session), {**global_attributes(session), "coordinates": " ".join(named)})


def array_metadata(
    shape: Sequence[int], dims: Sequence[str], dtype: str, fill: object, attributes: dict[str, Any],
    chunk: Sequence[int] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Return the metadata of an array; by default it is one chunk."""
    return {
        "zarr_format": 3, "node_type": "array", "shape": [*shape], "data_type": dtype,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [*(shape if chunk is None else chunk)]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": fill, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "dimension_names": [*dims], "attributes": attributes, "storage_transformers": [],
    }  # fmt: skip


def group_metadata(arrays: dict[str, Any], attributes: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata of a group, with those of its arrays."""
    consolidated = {"kind": "inline", "must_understand": False, "metadata": arrays}
    return {
        "zarr_format": 3, "node_type": "group", "attributes": attributes, "consolidated_metadata": consolidated,
    }  # fmt: skip


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, allow_nan=False).encode()
