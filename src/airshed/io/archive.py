"""Named arrays in one file: an uncompressed NumPy ``.npz`` archive with a JSON member ``metadata.json``.

The files are readable with ``numpy.load(path)``. Each member has a CRC-32, checked on reading. The list of members is
at the end of the file. A truncated or damaged file is thus detected. HDF5 is not used: only one thread at a time
may call that library, and a writer would wait for the thread that reads weather ahead.

A Zarr group holds arrays with lossless compression: each is one chunk, or a few if large; any Zarr library can read it.
"""

import json
import os
import shutil
import struct
import zipfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from airshed.core.atomic import guarded
from airshed.core.errors import OutputError

_METADATA = "metadata.json"
_NAME_LENGTHS: Final = 26
"""Offset of the lengths of name and extra field in a member's header; the content follows them."""


def save_arrays(path: Path, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any]) -> None:
    """Write arrays, bit for bit, and JSON metadata; the same content gives the same bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(_METADATA), json.dumps(metadata))
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                contiguous = np.ascontiguousarray(array).reshape(np.shape(array))
                header = np.lib.format.header_data_from_array_1_0(contiguous)
                np.lib.format.write_array_header_1_0(member, header)
                if contiguous.size:
                    member.write(contiguous.reshape(-1).view(np.uint8).data)


def load_arrays(path: Path, without: Collection[str] = ()) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the arrays of a file, without the excluded ones, and its metadata.

    Raises OutputError if it is damaged or is not such a file.
    """
    left_out = {_METADATA, *(f"{name}.npy" for name in without)}
    with _opened(path) as archive:
        names = [name for name in archive.namelist() if name not in left_out]
        arrays = {name.removesuffix(".npy"): _read_member(archive, name) for name in names}
        return arrays, json.loads(archive.read(_METADATA))


def load_array(path: Path, name: str) -> NDArray[Any]:
    """Return one array of a file; raise OutputError if it is damaged or missing."""
    with _opened(path) as archive:
        return _read_member(archive, f"{name}.npy")


def load_rows(path: Path, name: str, first: int, last: int) -> NDArray[Any]:
    """Return rows first <= n < last of an array without reading others; raise OutputError if they are missing.

    The checksum covers the whole array, so that only :func:`load_array` verifies it.
    """
    with _opened(path) as archive, path.open("rb") as file:
        member = archive.getinfo(f"{name}.npy")
        if member.compress_type != zipfile.ZIP_STORED:
            raise OutputError(f"{path} is compressed, unlike files of Airshed")
        file.seek(member.header_offset + _NAME_LENGTHS)
        file.seek(sum(struct.unpack("<HH", file.read(4))), os.SEEK_CUR)
        np.lib.format.read_magic(file)
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        row = prod(shape[1:])
        file.seek(first * row * dtype.itemsize, os.SEEK_CUR)
        return np.fromfile(file, dtype, (last - first) * row).reshape(last - first, *shape[1:])


def load_metadata(path: Path) -> dict[str, Any]:
    """Return only the metadata of a file; raise OutputError if it is damaged or is not such a file."""
    with _opened(path) as archive:
        metadata: dict[str, Any] = json.loads(archive.read(_METADATA))
        return metadata


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Convert any error in the block, where a file is read, into OutputError.

    The consequences of damage cannot be listed: zip interprets flipped bits as passwords, compression methods and
    lengths, and the readers behind it as syntax, keys, types and sizes.
    """
    try:
        yield
    except OutputError:
        raise
    except FileNotFoundError as error:
        raise OutputError(f"there is no file {error.filename or path}") from error
    except Exception as error:
        reason = str(error).strip() or type(error).__name__
        raise OutputError(f"{path} is damaged or is not a file of Airshed: {reason}") from error


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    with reading(path), zipfile.ZipFile(path) as archive:
        yield archive


def _read_member(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    with archive.open(name) as member:
        array: NDArray[Any] = np.lib.format.read_array(member, allow_pickle=False)
        member.read()  # the checksum is compared at the member's end
    return array


Arrays = Mapping[str, npt.NDArray[Any]]

LARGEST: Final = 1 << 30
"""Limit of the bytes of a chunk, unless a row is larger: the buffers of Blosc end below 2 GiB."""


def save_group(path: Path, arrays: Arrays) -> None:
    """Write arrays into a new group, bit for bit; raise OutputError for system errors."""
    import zarr
    from zarr.codecs import BloscCodec

    with guarded(path):
        group = zarr.create_group(path, zarr_format=3)
        for name, array in arrays.items():
            # Shuffled bytes: LZ4 is then faster than a disk.
            packed = BloscCodec(typesize=array.dtype.itemsize, cname="lz4", clevel=1, shuffle="shuffle")
            made: Any = group.create_array(
                name, shape=array.shape, dtype=array.dtype, chunks=_chunks(array),
                compressors=packed, config={"write_empty_chunks": True},  # a chunk of zeros may contain negative zeros
            )  # fmt: skip
            made[...] = np.ascontiguousarray(array).reshape(array.shape)


def _chunks(array: npt.NDArray[Any]) -> tuple[int, ...]:
    """Return the shape of chunks: as many whole rows along the first axis as fit; of a larger row a part,
    recursively.
    """
    chunks, rest = [max(size, 1) for size in array.shape], max(array.nbytes, 1)
    for axis, size in enumerate(chunks):
        rest //= size  # bytes of a row
        chunks[axis] = max(min(LARGEST // max(rest, 1), size), 1)
        if rest <= LARGEST:
            break
    return tuple(chunks)


def load_group(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a group; raise OutputError if it is damaged or missing."""
    import zarr

    with reading(path):
        return {name: np.asarray(array[...]) for name, array in zarr.open_group(path, mode="r").arrays()}


def remove_group(path: Path) -> None:
    """Remove a group, complete or not."""
    shutil.rmtree(path, ignore_errors=True)
