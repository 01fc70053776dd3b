"""The present state as the keys of a Zarr v3 store: what xarray opens over HTTP. One chunk for each array."""

import json
from typing import Any

import numpy as np
import numpy.typing as npt

from airshed.serve.asking import Asking, NotThereError
from airshed.serve.dataset import attributes_of, coordinates, global_attributes
from airshed.serve.session import Session

_META = "zarr.json"
Array = npt.NDArray[Any]


async def value_of(asking: Asking, name: str, key: str) -> tuple[bytes, str]:
    """Return what a key holds, and its type; raises NotThereError for one that is not there."""
    session = asking.session(name)
    if key == _META:
        return _json(_group(session)), "application/json"
    array, _, rest = key.partition("/")
    metas = _arrays(session)
    if array not in metas:
        raise NotThereError(f"the store has no array {array!r}")
    if rest == _META:
        return _json(metas[array]), "application/json"
    if rest.split("/") != ["c", *("0" for _ in metas[array]["shape"])]:
        raise NotThereError(f"the store has no key {key!r}")
    return np.ascontiguousarray(await _values(asking, session, name, array)).tobytes(), "application/octet-stream"


async def _values(asking: Asking, session: Session, name: str, array: str) -> Array:
    if array == "time":
        return np.array(np.datetime64(session.state.time.removesuffix("Z"), "ms").astype(np.int64), "<i8")
    places = coordinates(session, _all_dims(session))
    if array in places:
        return np.array(places[array][1], "<f8")
    return np.asarray((await asking.copy(name, array)).values, "<f4")


def _all_dims(session: Session) -> set[str]:
    return {dim for each in session.shape.variables.values() for dim in each.dims}


def _arrays(session: Session) -> dict[str, dict[str, Any]]:
    """Return the metadata of all arrays: variables, coordinates and the time."""
    found = {
        name: _array(each.shape, each.dims, "float32", "NaN", attributes_of(each))
        for name, each in session.shape.variables.items()
    }
    for name, (dim, values, attributes) in coordinates(session, _all_dims(session)).items():
        found[name] = _array([len(values)], [dim], "float64", "NaN", attributes)
    units = {"units": "milliseconds since 1970-01-01", "calendar": "proleptic_gregorian"}
    return {**found, "time": _array([], [], "int64", 0, units)}


def _array(shape: list[int], dims: list[str], dtype: str, fill: object, attributes: dict[str, Any]) -> dict[str, Any]:
    return {
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": dtype,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": shape}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": fill, "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "dimension_names": dims, "attributes": attributes, "storage_transformers": [],
    }  # fmt: skip


def _group(session: Session) -> dict[str, Any]:
    metadata = {"kind": "inline", "must_understand": False, "metadata": _arrays(session)}
    attributes = {**global_attributes(session), "coordinates": "time"}
    return {"zarr_format": 3, "node_type": "group", "attributes": attributes, "consolidated_metadata": metadata}


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, allow_nan=False).encode()
