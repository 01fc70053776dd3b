"""Files that are written whole or not at all.

A file gets its content under a temporary name in the same folder, reaches the disk, and only then takes its name in one
indivisible step; a file with its name is always whole, however the writing process ended.
"""

import errno
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from airshed.core.errors import OutputError

_PART_SUFFIX: Final = ".part"
_CHUNK_OF_A_LARGE_GRID: Final = 4 * 1024 * 1024
_ADVICE: Final = {
    errno.ENOENT: "there is no such folder; make it, or choose another folder",
    errno.EACCES: "there is no permission to write there; choose another folder",
    errno.EPERM: "there is no permission to write there; choose another folder",
    errno.EROFS: "that file system is read-only; choose another folder",
    errno.ENOTDIR: "part of that path is a file, not a folder; choose another folder",
    errno.EEXIST: "a file is in the way; remove it or choose another folder",
    errno.EISDIR: "a folder is in the way; remove it or choose another folder",
    errno.ENOSPC: "the disk is full; free some space, or choose a folder on another disk",
    errno.EDQUOT: "the disk quota is used up; free some space, or choose a folder on another disk",
    errno.ENAMETOOLONG: "that name is too long; choose a shorter one",
}


@contextmanager
def write_whole(path: Path) -> Iterator[Path]:
    """Yield a temporary path to write to; at the end of the block the file appears under ``path``, whole.

    When the block raises, the temporary file is removed and what was under ``path`` stays. Raises OutputError, which
    names the path and what to do, for whatever the system refuses.
    """
    part = part_path(path)
    with guarded(path, part):
        os.stat(f"{path.parent}/.")  # netCDF says of a folder that is not there that it may not be written
        yield part
        publish(part, path)


def part_path(path: Path) -> Path:
    """Return a new temporary name beside ``path``, unlike those of other threads, processes and machines."""
    return path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}{_PART_SUFFIX}")


def publish(part: Path, path: Path) -> None:
    """Bring a written temporary file to the disk and give it its name; the folder entry reaches the disk too."""
    sync(part)
    os.replace(part, path)
    sync(path.parent)


@contextmanager
def guarded(path: Path, part: Path | None = None) -> Iterator[None]:
    """Turn what the system refuses in the block into OutputError, after removing the temporary file ``part``."""
    try:
        yield
    except BaseException as error:
        explanation = None  # first, while a full disk is still full
        if isinstance(error, OSError):
            explanation = f"cannot write {path}: {advice(error.errno or 0, path, error)}"
        elif type(error) is RuntimeError and str(error).startswith("NetCDF"):  # which says no more than "HDF error"
            explanation = f"cannot write {path}: {advice(None, path, error)}"
        if part is not None:
            with suppress(OSError):
                part.unlink(missing_ok=True)
        if explanation is not None:
            raise OutputError(explanation) from error
        raise


def is_part(path: Path) -> bool:
    """Say whether a path is a temporary file of :func:`write_whole`, left by a process that was killed."""
    return path.name.startswith(".") and path.name.endswith(_PART_SUFFIX)


def remove_parts(folder: Path) -> None:
    """Remove the temporary files and folders that killed processes left anywhere in a folder."""
    for path in [*folder.rglob(f".*{_PART_SUFFIX}")]:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Bring a written file, or the entries of a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def advice(number: int | None, path: Path, reason: object) -> str:
    """Return what to do about an error of the system, by its number or, where a library hides it, by its reason."""
    if number is None:
        with suppress(OSError):
            is_full = shutil.disk_usage(path.parent).free < _CHUNK_OF_A_LARGE_GRID
            number = errno.ENOSPC if is_full else None
    return _ADVICE.get(number or 0, f"the system says {reason}; mend that or choose another folder")
