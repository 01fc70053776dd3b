"""A folder that exists whole or not at all, with a list of its files, their sizes and checksums."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from airshed.core.atomic import guarded, part_path, sync
from airshed.core.errors import DataError, OutputError
from airshed.core.files import note_input

MANIFEST: Final = "manifest.json"
FORMAT: Final = "airshed pasture inputs 1"
_PREPARE: Final = "make it again by `airshed pasture prepare`"


@contextmanager
def new_folder(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """Yield an empty folder to write to; at the end of the block it gets a manifest and appears under `path`, whole.

    When the block raises, nothing is left. Raises OutputError where something else is under that name, or inputs are
    that `replace` does not allow to replace.
    """
    with guarded(path):
        if path.exists() and not (path / MANIFEST).is_file() and not _is_empty(path):
            raise OutputError(f"{path} is there and is no pasture input; choose another folder")
        if path.exists() and not replace and not _is_empty(path):
            raise OutputError(f"{path} is there already; choose another folder, or replace it by --replace")
        path.parent.mkdir(parents=True, exist_ok=True)
        part = part_path(path)
        part.mkdir()
        try:
            yield part
            _seal(part)
            _publish(part, path)
        finally:
            shutil.rmtree(part, ignore_errors=True)


def check_folder(path: Path) -> dict[str, Any]:
    """Return the manifest of a folder whose files are all there, in the sizes that they had.

    Raises DataError, which names the file, for what is missing, truncated or no such folder; contents are looked at by
    :func:`check_contents`, and each block as it is read.
    """
    if not path.is_dir():
        raise DataError(f"there is no folder {path}; make one by `airshed pasture prepare`")
    try:
        manifest: dict[str, Any] = json.loads(note_input(path / MANIFEST).read_text(encoding="utf-8"))
        sizes = {str(name): int(entry["bytes"]) for name, entry in manifest["files"].items()}
        made = manifest["format"]
    except FileNotFoundError:
        raise DataError(f"{path} is no pasture input: it has no {MANIFEST}; {_PREPARE}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path / MANIFEST} is damaged ({error}); {_PREPARE}") from None
    if made != FORMAT:
        raise DataError(f"{path} has the format {made!r}, and this version reads {FORMAT!r}; {_PREPARE}")
    for name, size in sizes.items():
        try:
            there = (path / name).stat().st_size
        except OSError:
            raise DataError(f"{path} lacks its file {name}; {_PREPARE}") from None
        if there != size:
            raise DataError(f"{path / name} has {there} bytes of {size}; {_PREPARE}")
    return manifest


def check_contents(path: Path) -> None:
    """Compare the checksums of all files with the manifest; raises DataError with the first that differs."""
    for name, entry in check_folder(path)["files"].items():
        if _checksum(path / name) != entry["sha256"]:
            raise DataError(f"{path / name} is not as it was written; {_PREPARE}")


def _seal(folder: Path) -> None:
    """Write the manifest of all files, and bring everything to the disk."""
    files = sorted(each for each in folder.rglob("*") if each.is_file())
    entries = {
        str(each.relative_to(folder)): {"bytes": each.stat().st_size, "sha256": _checksum(each)} for each in files
    }
    text = json.dumps({"format": FORMAT, "files": entries}, indent=1)
    (folder / MANIFEST).write_text(text, encoding="utf-8")
    for each in [*files, folder / MANIFEST, *(each for each in folder.rglob("*") if each.is_dir()), folder]:
        sync(each)


def _publish(part: Path, path: Path) -> None:
    old = part_path(path)
    if path.exists():
        os.replace(path, old)
    os.replace(part, path)
    sync(path.parent)
    shutil.rmtree(old, ignore_errors=True)


def _is_empty(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
