"""Files that appear complete or not at all.

The content goes to a temporary file in the same folder, is synced to disk, and is then renamed atomically. A file under
its final name is therefore always complete, however the writing process ended.
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
    """Yield a temporary path to write to; when the block ends, the complete file appears under ``path``.

    If the block raises, the temporary file is removed and an earlier file under ``path`` remains. Any failure of the
    operating system raises OutputError, which names the path and suggests a remedy.
    """
    part = part_path(path)
    with guarded(path, part):
        os.stat(f"{path.parent}/.")  # netCDF reports a missing folder as a missing permission
        yield part
        publish(part, path)


def part_path(path: Path) -> Path:
    """Return a new temporary name next to ``path``, unique among threads, processes and machines."""
    return path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}{_PART_SUFFIX}")


def publish(part: Path, path: Path) -> None:
    """Sync a temporary file to disk, rename it to its final name, and sync the folder entry."""
    sync(part)
    os.replace(part, path)
    sync(path.parent)


@contextmanager
def guarded(path: Path, part: Path | None = None) -> Iterator[None]:
    """Convert system errors in the block into OutputError, after the removal of the temporary file ``part``."""
    try:
        yield
    except BaseException as error:
        explanation = None  # determined before the removal frees space on a full disk
        if isinstance(error, OSError):
            explanation = f"cannot write {path}: {advice(error.errno or 0, path, error)}"
        elif type(error) is RuntimeError and str(error).startswith("NetCDF"):  # the text is only "HDF error" or similar
            explanation = f"cannot write {path}: {advice(None, path, error)}"
        if part is not None:
            with suppress(OSError):
                part.unlink(missing_ok=True)
        if explanation is not None:
            raise OutputError(explanation) from error
        raise


def is_part(path: Path) -> bool:
    """Return whether a path is a temporary file of :func:`write_whole` that a killed process left behind."""
    return path.name.startswith(".") and path.name.endswith(_PART_SUFFIX)


def remove_parts(folder: Path) -> None:
    """Remove all temporary files and folders below a folder that killed processes left behind."""
    for path in [*folder.rglob(f".*{_PART_SUFFIX}")]:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Sync a written file, or the entries of a folder, to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def advice(number: int | None, path: Path, reason: object) -> str:
    """Return the remedy for a system error, by its number or, where a library hides the number, by its message."""
    if number is None:
        with suppress(OSError):
            is_full = shutil.disk_usage(path.parent).free < _CHUNK_OF_A_LARGE_GRID
            number = errno.ENOSPC if is_full else None
    return _ADVICE.get(number or 0, f"the system reports {reason}; correct this or choose another folder")
