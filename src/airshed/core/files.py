"""Readers of user files, with a one-line message for each failure, and the location of files shipped with Airshed."""

import gzip
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from airshed.core.errors import DataError

_PACKAGE = Path(__file__).resolve().parents[1]
_ROOTS = (_PACKAGE.parents[1], _PACKAGE / "shipped")

_inputs: ContextVar[set[Path] | None] = ContextVar("inputs", default=None)


@contextmanager
def noting_inputs() -> Iterator[set[Path]]:
    """Yield a set that collects the files which this thread reads in the block; see :func:`note_input`."""
    files: set[Path] = set()
    token = _inputs.set(files)
    try:
        yield files
    finally:
        _inputs.reset(token)


def note_input(path: Path) -> Path:
    """Record that a result depends on a file, and return its path.

    Every reader of a user's file calls this function: a resumed run compares the content of these files.
    """
    files = _inputs.get()
    if files is not None:
        files.add(path.absolute())
    return path


def plain_file(path: Path, missing: str = "") -> Path:
    """Return the path of a regular file.

    missing  remedy to report if there is none; by default "there is no such file"
    raises   DataError for a missing file, a folder, and a pipe or device, whose reader would block
    """
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(f"{path} does not exist; {missing}" if missing else f"there is no file {path}") from None
    except (OSError, ValueError) as error:  # no permission for its folder, or an invalid file name
        raise DataError(f"{path} cannot be read ({_reason(error)}); check its path and permissions") from None
    if stat.S_ISDIR(mode):
        raise DataError(f"{path} is a folder; name the file in it")
    if not stat.S_ISREG(mode):
        raise DataError(f"{path} is a pipe or a device, not a file; copy its content to a file")
    return note_input(path)


def read_text(path: Path, missing: str = "") -> str:
    """Return the content of a UTF-8 text file, with or without a byte order mark; line endings are not changed.

    A file whose name ends in ``.gz`` is decompressed.

    raises  DataError as :func:`plain_file`, and with the line of bytes that are not text
    """
    try:
        content = plain_file(path, missing).read_bytes()
        content = gzip.decompress(content) if path.suffix == ".gz" else content
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path} cannot be decompressed ({_reason(error)}); get a fresh copy of the file") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read ({_reason(error)}); check its permissions") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _no_text(path, content, error.start, "bytes that are not UTF-8") from None
    if "\0" in text:
        raise _no_text(path, content, content.index(b"\0"), "a zero byte")
    return text


def _no_text(path: Path, content: bytes, place: int, what: str) -> DataError:
    line = content.count(b"\n", 0, place) + 1
    return DataError(f"{path} cannot be read as text: line {line} holds {what}; save it as UTF-8 text")


def _reason(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)


def shipped_name(path: Path) -> str | None:
    """Return the name of a shipped file, as accepted by :func:`resource`; None for any other file."""
    return next((str(path.relative_to(root)) for root in reversed(_ROOTS) if path.is_relative_to(root)), None)


def resource(name: str) -> Path:
    """Return the path of a shipped folder or file, such as ``mechanisms`` or ``cases/west-europe``.

    A checkout has them at its root, an installed wheel inside the package (see ``pyproject.toml``). Raises DataError if
    the installation does not contain it.
    """
    for root in _ROOTS:
        path = root / name
        if path.exists():
            return path
    raise DataError(f"this installation of Airshed has no {name!r}; install it again from a complete checkout or wheel")
