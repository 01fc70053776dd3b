"""Pictures in a run folder: where they are, and which of the files there Airshed itself drew."""

from pathlib import Path
from typing import Final

from airshed.core.version import __version__

PICTURES: Final = "maps"
"""The folder of pictures inside that of a run."""

SOFTWARE: Final = f"Airshed {__version__}"
"""What each picture says of who made it: a PNG as its software, a GIF as its comment."""

_MARKS: Final = ((b"\x89PNG", b"Software\0Airshed "), (b"GIF89a", b"Airshed "))
_HEAD: Final = 4096
"""Bytes at the beginning of a picture that may contain these words."""


def drawn(folder: Path) -> list[Path]:
    """Return the pictures in a run folder that Airshed drew; other files are left out."""
    return [path for path in sorted((folder / PICTURES).glob("*")) if path.is_file() and _is_drawn(path)]


def _is_drawn(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(_HEAD)
    return any(head.startswith(kind) and mark in head for kind, mark in _MARKS)
