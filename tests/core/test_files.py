"""A path that is not a regular file is refused in one line, without blocking."""

import os

import pytest

from airshed.core.errors import DataError
from airshed.core.files import read_text


def test_text_is_read_with_and_without_a_mark(tmp_path):
    for name, content in (("plain", "ä,1\n"), ("marked", "\ufeffä,1\n")):
        (tmp_path / name).write_text(content, encoding="utf-8")
        assert read_text(tmp_path / name) == "ä,1\n"


def test_what_is_no_text_file_is_refused(tmp_path):
    (tmp_path / "bytes").write_bytes(b"a,b\n1,\xff\n")
    (tmp_path / "zero").write_bytes(b"a,b\n1,2\n3,\x00\n")
    os.mkfifo(tmp_path / "pipe")
    for name, words in {
        "absent": "there is no file .*absent",
        "bytes": "line 2 holds bytes that are not UTF-8",
        "zero": "line 3 holds a zero byte",
        "pipe": "pipe is a pipe or a device, not a file",
        ".": "is a folder; name the file in it",
        "bytes/below": "there is no file",
        "a" * 5000: "cannot be read",
        "a\0b": "cannot be read",
    }.items():
        with pytest.raises(DataError, match=words) as caught:
            read_text(tmp_path / name)
        assert "\n" not in str(caught.value)
    with pytest.raises(DataError, match="does not exist; download it"):
        read_text(tmp_path / "absent", "download it")
    with pytest.raises(DataError, match="is a pipe or a device"):
        read_text(tmp_path / "/dev/zero")
