"""The folder of compiled kernels: where it is, and which of its files can be trusted.

A library is *sealed*: the SHA-256 of its bytes is appended to it. Loaders ignore bytes behind the last ELF section, and
a file that a full disk or a crash cut short no longer matches its seal. (Trying to load it is no test: a truncated
library can end the process with a bus error.)

A library runs with the rights of the user, so the folder and its files must be those of the user: whatever names the
folder, :mod:`airshed.kernels.cache` looks at owner and mode before each load.
"""

import fcntl
import grp
import hashlib
import os
import pwd
import stat
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Final

from airshed.core.atomic import write_whole
from airshed.core.errors import KernelError

_ROOT: Final = 0
_ALL_IDS: Final = ["0", "0", "4294967295"]


def check_trusted(folder: Path) -> None:
    """Raise KernelError for a folder that another user can write to or replace."""
    real = Path(os.path.realpath(folder))
    for path in dict.fromkeys((*reversed(folder.absolute().parents), folder.absolute(), *reversed(real.parents), real)):
        problem = _problem(path, is_last=path == real)
        if problem is not None:
            raise KernelError(
                f"the kernel cache {folder} is not used: {path} {problem}, so its libraries may be of others; "
                f"set AIRSHED_CACHE to a folder of yours, or take that right away (chmod go-w {path})"
            )


def is_own(status: os.stat_result) -> bool:
    """Return whether a file is the user's or the administrator's, and nobody else can write it."""
    return status.st_uid in (os.getuid(), _ROOT) and not _others_write(status)


def _problem(path: Path, *, is_last: bool) -> str | None:
    """Return what is wrong with a folder, or with a link to one; None where nothing is."""
    status = path.lstat()
    if status.st_uid not in (os.getuid(), _ROOT) and (is_last or status.st_uid not in _unmapped()):
        return f"belongs to {_name_of(status.st_uid)}"
    if stat.S_ISLNK(status.st_mode) or not _others_write(status):
        return None
    is_sticky = bool(status.st_mode & stat.S_ISVTX)
    return None if is_sticky and not is_last else "can be written by others"


def _others_write(status: os.stat_result) -> bool:
    """Return whether others can write, or a group that is not the user's own alone."""
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not _is_private(status.st_gid)


@cache
def _is_private(group: int) -> bool:
    """Return whether a group has no member but the user: many systems give each user such a group."""
    if group == _ROOT:
        return True
    try:
        user, found = pwd.getpwuid(os.getuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return found.gr_gid == user.pw_gid and found.gr_name == user.pw_name and not {*found.gr_mem} - {user.pw_name}


@cache
def _unmapped() -> tuple[int, ...]:
    """Return the user that stands, in a container, for those that it does not know, such as the host's root."""
    try:
        known = Path("/proc/self/uid_map").read_text(encoding="ascii").split()
        return () if known == _ALL_IDS else (int(Path("/proc/sys/kernel/overflowuid").read_text(encoding="ascii")),)
    except (OSError, ValueError):
        return ()


def _name_of(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"


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
