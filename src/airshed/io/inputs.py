"""Marks of the input files of a run, by which a resumed run finds those that have changed.

A mark holds the size and the SHA-256 of the whole content. Where files are large together (`WHOLE`), marks of the
largest hold the size, the time of modification and the SHA-256 of samples. Names are relative to the folder of the
case, so that a case that was moved with its files has the same marks.
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from os.path import normpath
from pathlib import Path
from typing import Any, Final

from airshed.core.files import resource, shipped_name
from airshed.core.text import listed

WHOLE: Final = 1 << 30
"""Bytes that are read whole of all files together, the smallest first; some 0.6 s."""

_SAMPLES, _SAMPLE = 64, 1 << 16
_SHIPPED: Final = "airshed:"

Mark = Mapping[str, Any]
Marks = Mapping[str, Mark]


@dataclass(frozen=True)
class Inputs:
    """The input files of a run.

    files   that were read
    base    folder of the case, to which their names are relative
    accept  whether a run is resumed although some have changed
    """

    files: Collection[Path] = ()
    base: Path = Path()
    accept: bool = False

    def marks(self) -> dict[str, Mark]:
        """Return the mark of each file by its name."""
        names = {_name_of(path, self.base): path for path in self.files}
        return dict(sorted(_marks(names)))

    def changed(self, before: Marks) -> list[str]:
        """Return what has changed of files that an earlier run has read, before this one reads any.

        A file that is missing is left to :meth:`differences`: where it must be there, its reader says so.
        """
        paths = {name: _path_of(name, self.base) for name in before}
        there = [name for name, path in paths.items() if path.is_file()]
        return [f"{name} has changed" for name in there if not _fits(paths[name], before[name])]

    def differences(self, before: Marks) -> list[str]:
        """Return all that differs between the files that an earlier run has read and those that this one has read."""
        now = self.marks()
        moved = {_known_by(name, mark) for name, mark in before.items()} & {
            _known_by(name, mark) for name, mark in now.items()
        }
        missing = [
            f"{name} is missing"
            for name, mark in before.items()
            if not _path_of(name, self.base).is_file() and _known_by(name, mark) not in moved
        ]
        new = [
            f"{name} is new" for name, mark in now.items() if name not in before and _known_by(name, mark) not in moved
        ]
        return [*self.changed(before), *missing, *new]


def in_words(differences: Collection[str]) -> str:
    """Return differences behind each other, the first ones of many."""
    return listed(list(differences), 5)


def _known_by(name: str, mark: Mark) -> tuple[Any, ...]:
    """Return what a file outside the folder of the case keeps where both are moved."""
    return Path(name).name, mark["bytes"], mark["sha256"]


def _name_of(path: Path, base: Path) -> str:
    """Return the name of a file: relative to the case, or to the shipped ones; of others the path."""
    plain = Path(normpath(path))
    if plain.is_relative_to(base):
        return str(plain.relative_to(base))
    shipped = shipped_name(plain)
    return str(plain) if shipped is None else f"{_SHIPPED}{shipped}"


def _path_of(name: str, base: Path) -> Path:
    """Return the path of a file, which need not be there."""
    if not name.startswith(_SHIPPED):
        return base / name
    folder, _, rest = name.removeprefix(_SHIPPED).partition("/")
    try:
        return resource(folder) / rest
    except Exception:
        return base / name


def _marks(names: Mapping[str, Path]) -> Iterator[tuple[str, Mark]]:
    """Yield the marks of files, the smallest first."""
    left = WHOLE
    for size, name in sorted((path.stat().st_size, name) for name, path in names.items()):
        left -= size
        yield name, _mark(names[name], whole=left >= 0)


def _mark(path: Path, *, whole: bool) -> Mark:
    status = path.stat()
    with path.open("rb") as file:
        if whole:
            return {"bytes": status.st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
        found = hashlib.sha256()
        for number in range(_SAMPLES):
            file.seek((status.st_size - _SAMPLE) * number // (_SAMPLES - 1))
            found.update(file.read(_SAMPLE))
    return {"bytes": status.st_size, "modified": status.st_mtime_ns, "sha256": found.hexdigest()}


def _fits(path: Path, mark: Mark) -> bool:
    """Return whether a file has a mark; one of another size is not read."""
    if path.stat().st_size != mark["bytes"]:
        return False
    return _mark(path, whole="modified" not in mark) == mark
