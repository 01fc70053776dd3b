"""Files appear whole or not at all, and refusals of the system become messages."""

import errno
import os
import shutil
import subprocess

import numpy as np
import pytest

from airshed.core.errors import OutputError
from airshed.io.atomic import guarded, is_part, remove_parts, write_whole
from airshed.io.restart import RestartStore


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_only_at_the_end(tmp_path):
    with write_whole(tmp_path / "a.txt") as part:
        part.write_text("half")
        assert names(tmp_path) == [part.name]
        assert is_part(part)
        part.write_text("whole")
    assert names(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "whole"


def test_an_error_leaves_the_earlier_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("earlier")

    def fail_half_way():
        with write_whole(path) as part:
            part.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail_half_way()
    assert names(tmp_path) == ["a.txt"]
    assert path.read_text() == "earlier"


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EDQUOT, "quota"),
        (errno.EACCES, "no permission"),
        (errno.EROFS, "read-only"),
        (errno.EIO, "Input/output error"),
    ],
)
def test_a_refusal_names_the_path_and_what_to_do(tmp_path, monkeypatch, number, advice):
    def refuse(descriptor):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuse)
    with (
        pytest.raises(OutputError, match=rf"cannot write .*a\.txt: .*{advice}"),
        write_whole(tmp_path / "a.txt") as part,
    ):
        part.write_text("text")
    assert names(tmp_path) == []


def test_the_netcdf_librarys_words_for_a_full_disk_are_understood(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: shutil._ntuple_diskusage(10**9, 10**9, 0))
    with pytest.raises(OutputError, match="the disk is full"), guarded(tmp_path / "a.nc"):
        raise RuntimeError("NetCDF: HDF error")


def test_defects_stay_defects(tmp_path):
    with pytest.raises(RuntimeError, match="of the program"), guarded(tmp_path / "a.nc"):
        raise RuntimeError("an error of the program")


def test_the_parts_of_killed_processes_are_removed(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / ".output.nc.123-0.part").touch()
    (tmp_path / "deep" / "kept.part").touch()
    remove_parts(tmp_path)
    assert names(tmp_path / "deep") == ["kept.part"]


@pytest.fixture
def small_disk(tmp_path):
    """Yield a folder on a real file system of 1 MiB; skip where this user may not make one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    try:
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True)
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    if made.returncode != 0:
        pytest.skip("mounting a file system is not allowed here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize("victim", ["records", "output", "restart"])
def test_a_really_full_disk_stops_the_run_and_leaves_nothing_half_written(small_disk, start_run, values, victim):
    run = start_run(small_disk / "run")

    def fill_the_disk(*, records, left):
        for hour in range(records):
            run.writer.write(3600.0 * hour, values(3600.0 * hour))
        run.folder.writer.wait()
        (small_disk / "filler").write_bytes(b"x" * (shutil.disk_usage(small_disk).free - left))

    def write():
        if victim == "records":
            fill_the_disk(records=1, left=0)
            run.writer.write(3600.0, values(3600.0))
            run.folder.writer.wait()
        elif victim == "output":
            fill_the_disk(records=3, left=16384)
            run.writer.finish()
        else:
            fill_the_disk(records=1, left=0)
            RestartStore(run.folder).save(0.0, {"q": np.ones((50, 50, 50))}, {})

    with run.folder, pytest.raises(OutputError, match="the disk is full"):
        write()
    assert not [path for path in small_disk.rglob("*") if is_part(path)]
    assert not (small_disk / "run" / "output.nc").exists()
