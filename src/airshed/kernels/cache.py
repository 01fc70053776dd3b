"""The cache of compiled kernels: its folder, and the checks of its files.

A library is *sealed*: the SHA-256 of its bytes is appended to it. Loaders ignore bytes behind the last ELF section. A
file that a full disk or a crash has truncated does not match its seal. (An attempt to load a truncated library is no
check: it can end the process with a bus error.)

A library runs with the rights of the user, so the folder and its files must belong to the user.
:mod:`airshed.kernels.cache` checks owner and mode before each load, for any choice of the folder.
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
                f"the kernel cache {folder} is not used: {path} {problem}, so its libraries may not be yours; "
                f"set AIRSHED_CACHE to a folder of yours, or remove write access of others (chmod go-w {path})"
            )


def is_own(status: os.stat_result) -> bool:
    """Return whether a file belongs to the user or the administrator, and no other user can write it."""
    return status.st_uid in (os.getuid(), _ROOT) and not _others_write(status)


def _problem(path: Path, *, is_last: bool) -> str | None:
    """Return the problem with the owner or mode of a folder, or of a link to one; None if there is none."""
    status = path.lstat()
    if status.st_uid not in (os.getuid(), _ROOT) and (is_last or status.st_uid not in _unmapped()):
        return f"belongs to {_name_of(status.st_uid)}"
    if stat.S_ISLNK(status.st_mode) or not _others_write(status):
        return None
    is_sticky = bool(status.st_mode & stat.S_ISVTX)
    return None if is_sticky and not is_last else "can be written by others"


def _others_write(status: os.stat_result) -> bool:
    """Return whether other users can write, or a group with other members."""
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not _is_private(status.st_gid)


@cache
def _is_private(group: int) -> bool:
    """Return whether a group has no member except the user: many systems give each user such a group."""
    if group == _ROOT:
        return True
    try:
        user, found = pwd.getpwuid(os.getuid()), grp.getgrgid(group)
    except KeyError:
        return False
    return found.gr_gid == user.pw_gid and found.gr_name == user.pw_name and not {*found.gr_mem} - {user.pw_name}


@cache
def _unmapped() -> tuple[int, ...]:
    """Return the user id that represents unmapped users in a container, such as root of the host."""
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
"""Environment variable that sets the folder."""

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
    """Return the cache folder, created if necessary; if it is read-only, a private folder in the temporary directory.

    Raises KernelError when neither is writable, and for a folder that other users can write to.
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
    """Return why files cannot be written to a folder, or None if they can."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return None
    except OSError as error:
        return error.strerror or str(error)


def _temporary_folder() -> Path:
    """Return a private folder in the temporary directory, checked since its name can be guessed."""
    folder = Path(tempfile.gettempdir()) / f"airshed-kernels-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise KernelError(
            f"no folder for compiled kernels: {error}. Set {VARIABLE} to a folder that you can write to"
        ) from error
    check_trusted(folder)
    return folder


@contextmanager
def one_at_a_time(path: Path) -> Iterator[None]:
    """Serialise the processes that build a library, so that ranks that start together compile it once.

    The system releases the lock of a process that ends. Without locks all processes build; the result is the same.
    """
    lock = path.with_name(f".{path.name}.lock")
    with ExitStack() as stack:
        with suppress(OSError):
            fcntl.flock(stack.enter_context(lock.open("w")), fcntl.LOCK_EX)
        try:
            yield
        finally:
            with suppress(OSError):
                lock.unlink()  # a process that waits for the lock checks first whether the library exists


def store(path: Path, library: bytes) -> None:
    """Write a compiled library with its seal; raises OutputError."""
    with write_whole(path) as part:
        part.write_bytes(library + hashlib.sha256(library).digest())
        part.chmod(part.stat().st_mode & 0o755)


def intact(path: Path) -> bool:
    """Return whether a stored library exists, has the bytes that were compiled, and only the user can write it.

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
