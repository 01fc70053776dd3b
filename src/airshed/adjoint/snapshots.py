"""Snapshots of a model as arrays, so that any store can keep them."""

import json
from typing import Final

import numpy as np

from airshed.adjoint.stores.store import Arrays
from airshed.runtime.model import Snapshot

_TILED: Final = "tiled."
_WHOLE: Final = "whole."
_METADATA: Final = "metadata"


def as_arrays(snapshot: Snapshot) -> Arrays:
    """Return a snapshot as arrays; its plain values as the bytes of their JSON."""
    metadata = np.frombuffer(json.dumps(dict(snapshot.metadata)).encode(), np.uint8)
    tiled = {_TILED + name: array for name, array in snapshot.tiled.items()}
    return tiled | {_WHOLE + name: array for name, array in snapshot.whole.items()} | {_METADATA: metadata}


def as_snapshot(arrays: Arrays) -> Snapshot:
    """Return the snapshot that was kept as arrays."""
    tiled = {name.removeprefix(_TILED): array for name, array in arrays.items() if name.startswith(_TILED)}
    whole = {name.removeprefix(_WHOLE): array for name, array in arrays.items() if name.startswith(_WHOLE)}
    return Snapshot(tiled, whole, json.loads(arrays[_METADATA].tobytes()))
