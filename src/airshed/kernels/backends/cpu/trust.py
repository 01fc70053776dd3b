"""Which files and folders nobody but the user, or the administrator, can have written.

A folder is trusted where each folder above it is, too: who can rename one of them can put another in its place. In a
folder with the sticky bit, such as /tmp, only the owner of an entry can rename it.
"""

import grp
import os
import pwd
import stat
from functools import cache
from pathlib import Path
from typing import Final

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
