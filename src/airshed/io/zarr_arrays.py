"""Named arrays as a Zarr group: each is one chunk, or a few if large, without loss; whoever has Zarr reads them."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.atomic import guarded
from airshed.io.archive import reading

Arrays = Mapping[str, npt.NDArray[Any]]

LARGEST: Final = 1 << 30
"""Bytes of a chunk at most, where a row is no larger: the buffers of Blosc end below 2 GiB."""


def save_group(path: Path, arrays: Arrays) -> None:
    """Write arrays into a new group, bit for bit; raises OutputError for what the system refuses."""
    import zarr
    from zarr.codecs import BloscCodec

    with guarded(path):
        group = zarr.create_group(path, zarr_format=3)
        for name, array in arrays.items():
            # bytes of a kind side by side: LZ4 is faster than a disk then
            packed = BloscCodec(typesize=array.dtype.itemsize, cname="lz4", clevel=1, shuffle="shuffle")
            made: Any = group.create_array(
                name, shape=array.shape, dtype=array.dtype, chunks=_chunks(array),
                compressors=packed, config={"write_empty_chunks": True},  # one of zeros may hold negative ones
            )  # fmt: skip
            made[...] = np.ascontiguousarray(array).reshape(array.shape)


def _chunks(array: npt.NDArray[Any]) -> tuple[int, ...]:
    """The shape of chunks: whole rows along the first axis, as many as fit; of a larger row a part, and so on."""
    chunks, rest = [max(size, 1) for size in array.shape], max(array.nbytes, 1)
    for axis, size in enumerate(chunks):
        rest //= size  # bytes of a row
        chunks[axis] = max(min(LARGEST // max(rest, 1), size), 1)
        if rest <= LARGEST:
            break
    return tuple(chunks)


def load_group(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a group; raises OutputError where it is damaged or not there."""
    import zarr

    with reading(path):
        return {name: np.asarray(array[...]) for name, array in zarr.open_group(path, mode="r").arrays()}


def remove_group(path: Path) -> None:
    """Remove a group, whatever is left of it."""
    shutil.rmtree(path, ignore_errors=True)
