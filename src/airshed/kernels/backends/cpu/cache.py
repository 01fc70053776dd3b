"""The folder of compiled kernels: where it is, and which of its files can be trusted.

A library is *sealed*: the SHA-256 of its bytes is appended to it. Loaders ignore bytes behind the last ELF section, and
a file that a full disk or a crash cut short no longer matches its seal. (Trying to load it is no test: a truncated
library can end the process with a bus error.)

A library runs with the rights of the user, so the folder and its files must be those of the user: whatever names the
folder, :mod:`airshed.kernels.backends.cpu.trust` looks at owner and mode before each load.
"""

import fcntl
import hashlib
import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from airshed.core.atomic import write_whole
from airshed.core.errors import KernelError
from airshed.kernels.backends.cpu.trust import check_trusted, is_own

VARIABLE = "AIRSHED_CACHE"
"""Environment variable that moves the folder."""

_SEAL_LENGTH = hashlib.sha256().digest_size


def cache_folder() -> Path:
    """Return the folder of compiled kernels: ``$AIRSHED_CACHE``, else ``airshed/kernels`` in the user's cache."""
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    try:
        return Path(base).expanduser().absolute() / "airshed" / "kernels"
    except RuntimeError:  # a user without a home folder, as in some batch systems
        return _temporary_folder()


def writable_folder() -> Path:
    """Return the cache folder, made if need be; one of the user's own in the temporary folder where it is read-only.

    Raises KernelError when neither can be written, and for one that other users can write to.
    """
    folder = cache_folder()
    problem = write_problem(folder)
    if problem is None:
        check_trusted(folder)
        return folder
    fallback = _temporary_folder()
    warnings.warn(
        f"cannot write to the kernel cache {folder} ({problem}); using {fallback}. Set {VARIABLE} to a folder of yours",
        RuntimeWarning,
        stacklevel=2,
    )
    return fallback


def write_problem(folder: Path) -> str | None:
    """Return why files cannot be written to a folder, or None when they can."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return None
    except OSError as error:
        return error.strerror or str(error)


def _temporary_folder() -> Path:
    """Return a folder in the temporary one into which no other user can have put a library; its name can be guessed."""
    folder = Path(tempfile.gettempdir()) / f"airshed-kernels-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise KernelError(
            f"no folder for compiled kernels: {error}. Set {VARIABLE} to one that you can write to"
        ) from error
    check_trusted(folder)
    return folder


@contextmanager
def one_at_a_time(path: Path) -> Iterator[None]:
    """Let one process after the other into the block for a library: ranks that start together compile it once.

    The system opens the lock of a process that ends. Where it knows no locks, all go in at once, which harms nothing.
    """
    lock = path.with_name(f".{path.name}.lock")
    with ExitStack() as stack:
        with suppress(OSError):
            fcntl.flock(stack.enter_context(lock.open("w")), fcntl.LOCK_EX)
        try:
            yield
        finally:
            with suppress(OSError):
                lock.unlink()  # who waits for it looks first whether the library is there now


def store(path: Path, library: bytes) -> None:
    """Write a compiled library with its seal; raises OutputError."""
    with write_whole(path) as part:
        part.write_bytes(library + hashlib.sha256(library).digest())
        part.chmod(part.stat().st_mode & 0o755)


def intact(path: Path) -> bool:
    """Return whether a stored library is there, with the bytes that were compiled, and none but the user can write it.

    Raises KernelError for a folder that other users can write to.
    """
    try:
        with path.open("rb") as file:
            if not is_own(os.fstat(file.fileno())):
                return False
            content = file.read()
    except OSError:
        return False
    check_trusted(path.parent)
    library, seal = content[:-_SEAL_LENGTH], content[-_SEAL_LENGTH:]
    return bool(library) and hashlib.sha256(library).digest() == seal
