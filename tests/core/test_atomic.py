"""Files appear complete or not at all, and system errors become messages."""

import errno
import os
import shutil

import pytest

from airshed.core.atomic import guarded, is_part, remove_parts, write_whole
from airshed.core.errors import OutputError


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


def test_a_folder_that_is_not_there_is_told(tmp_path):
    with (
        pytest.raises(OutputError, match="there is no such folder"),
        write_whole(tmp_path / "no" / "a.nc") as part,
    ):
        raise PermissionError(errno.EACCES, "message of netCDF", str(part))


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
