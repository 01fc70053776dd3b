"""A library is loaded only from a folder that no user except its owner or the administrator can write to."""

import os
import pwd
from collections.abc import Callable
from pathlib import Path

import pytest

from airshed.core.errors import KernelError
from airshed.kernels import cache
from airshed.kernels import cache as trust
from airshed.kernels.cache import intact, store

NOBODY = 65534
as_root = pytest.mark.skipif(os.getuid() != 0, reason="gives files to other users")


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A sealed library in a cache two folders below the test's own."""
    path = tmp_path / "shared" / "cache" / "some-0123.so"
    path.parent.mkdir(parents=True, mode=0o755)
    store(path, b"\x7fELF")
    return path


def test_a_folder_of_ones_own_is_trusted(library: Path) -> None:
    assert intact(library)


MODES: dict[str, Callable[[Path], Path]] = {
    "the folder": lambda path: path.parent,
    "a folder above it": lambda path: path.parents[1],
}


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o757, 0o1777])
@pytest.mark.parametrize("which", MODES)
def test_folders_that_others_can_write_to_are_refused(
    library: Path, which: str, mode: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = MODES[which](library)
    folder.chmod(mode)
    monkeypatch.setattr(trust, "_is_private", lambda group: False)
    if mode == 0o1777 and which == "a folder above it":  # as /tmp is
        assert intact(library)
        return
    with pytest.raises(KernelError, match=rf"is not used: {folder} can be written by others.*chmod go-w"):
        intact(library)


@as_root
@pytest.mark.parametrize("which", MODES)
def test_folders_of_others_are_refused(library: Path, which: str) -> None:
    os.chown(MODES[which](library), NOBODY, -1)
    with pytest.raises(KernelError, match=f"belongs to {pwd.getpwuid(NOBODY).pw_name}"):
        intact(library)


@as_root
def test_a_link_of_others_is_refused(library: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(library.parent)
    assert intact(link / library.name)
    os.chown(link, NOBODY, -1, follow_symlinks=False)
    with pytest.raises(KernelError, match=f"link belongs to {pwd.getpwuid(NOBODY).pw_name}"):
        intact(link / library.name)


@as_root
def test_a_library_of_others_is_compiled_again(library: Path) -> None:
    os.chown(library, NOBODY, -1)
    assert not intact(library)


@pytest.mark.parametrize("mode", [0o666, 0o646])
def test_a_library_that_others_can_write_is_compiled_again(library: Path, mode: int) -> None:
    library.chmod(mode)
    assert not intact(library)


def test_an_open_umask_makes_no_open_library(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store(tmp_path / "some.so", b"\x7fELF")
        assert cache.write_problem(tmp_path / "new") is None
    finally:
        os.umask(before)
    assert (tmp_path / "some.so").stat().st_mode & 0o022 == 0
    assert (tmp_path / "new").stat().st_mode & 0o022 == 0
    assert intact(tmp_path / "some.so")


def test_a_group_of_the_user_alone_may_write(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library.parent.chmod(0o775)
    monkeypatch.setattr(trust, "_is_private", lambda group: True)
    assert intact(library)


def test_a_cache_that_others_can_write_to_is_never_written(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library.parent.chmod(0o777)
    monkeypatch.setenv("AIRSHED_CACHE", str(library.parent))
    with pytest.raises(KernelError, match="is not used"):
        cache.writable_folder()
