"""Damaged files, a full disk and a kill are detected and reported, and earlier commits remain valid."""

import json
import os
import shutil
from itertools import product

import numpy as np
import pytest

from airshed.core.atomic import is_part
from airshed.core.errors import OutputError
from airshed.inverse.checkpoints.stores import FileStore, commits

from .stores import PLAIN, level, same


def outcome(files):
    """Return the arrays that a store reads, or its error."""
    try:
        return files.get("level-7")
    except OutputError as error:
        return error


def test_any_damage_to_a_file_is_detected_and_named(tmp_path):
    files = FileStore(tmp_path)
    files.put("level-7", level(7))
    (path,) = tmp_path.iterdir()
    content, found = path.read_bytes(), 0
    for place in range(0, len(content), 7):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x40]) + content[place + 1 :])
        told = outcome(files)
        # Some bytes have no effect, such as dates in an archive.
        assert str(path) in str(told) if isinstance(told, OutputError) else same(told, level(7))
        found += isinstance(told, OutputError)
    assert found > len(content) // 7 // 2
    for cut in (0, 1, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:cut])
        with pytest.raises(OutputError, match=r"level-7\.1\.npz is damaged"):
            files.get("level-7")


def test_a_missing_or_exchanged_file_is_named(tmp_path):
    store = FileStore(tmp_path)
    for number in range(2):
        store.put(f"level-{number}", level(number))
    shutil.copy(tmp_path / "level-0.1.npz", tmp_path / "level-1.2.npz")
    with pytest.raises(OutputError, match=r"level-1\.2\.npz is damaged: it holds .*level-0.*not level-1"):
        store.get("level-1")
    (tmp_path / "level-1.2.npz").unlink()
    with pytest.raises(OutputError, match=r"there is no file .*level-1\.2\.npz"):
        store.get("level-1")


@pytest.mark.parametrize("kind", ["mpiio", "zarr"])
@pytest.mark.parametrize("damage", ["a bit", "the end", "all of it"])
def test_damage_to_shared_files_and_groups_is_detected_and_named(tmp_path, kind, damage):
    store = PLAIN[kind](tmp_path)
    large = {"q": np.random.default_rng(0).random(400), "air": np.arange(7)}
    store.put("level-7", large)
    path = max((each for each in tmp_path.rglob("*") if each.is_file()), key=lambda each: each.stat().st_size)
    content = path.read_bytes()
    if damage == "all of it":
        path.unlink() if kind == "zarr" else path.write_bytes(b"")
    else:
        cut = content[:1000] + (bytes([content[1000] ^ 1]) + content[1001:] if damage == "a bit" else b"")
        path.write_bytes(cut)
    with pytest.raises(OutputError, match=r"(checkpoints|level-7.1.zarr) is damaged"):
        store.get("level-7")
    store.close()


@pytest.mark.parametrize("small_disk", ["1m"], indirect=True)
@pytest.mark.parametrize("kind", ["files", "mpiio", "zarr"])
def test_a_full_disk_is_one_error_and_stored_arrays_remain(small_disk, kind):
    store = PLAIN[kind](small_disk)
    large = {"q": np.random.default_rng(0).random(30_000)}  # random data cannot be compressed

    def fill():
        for number in range(9):
            store.put(f"level-{number}", large)

    with pytest.raises(OutputError, match=r"cannot write .*(level-\d\.\d\.(npz|zarr)|checkpoints): the disk is full"):
        fill()
    assert same(store.get("level-0"), large)
    store.close()
    assert not [path for path in small_disk.rglob("*") if is_part(path)]


def committed(folder):
    """Run the operations of a backward pass; yield the expected state after each change of the disk."""
    store = FileStore(folder)
    for number in range(4):
        store.put(f"level-{number}", level(number))
    store.commit({"reversed": 4})
    yield
    for number in reversed(range(4)):
        store.put("adjoint", level(100 + number))
        yield
        store.drop(f"level-{number}")
        yield
        store.commit({"reversed": number})
        yield


def check(folder, resume):
    store = FileStore(folder, resume)
    number = store.note["reversed"]
    assert sorted(store.keys) == sorted([*(["adjoint"] if number < 4 else []), *(f"level-{n}" for n in range(number))])
    for each in range(number):
        assert same(store.get(f"level-{each}"), level(each))
    assert number == 4 or same(store.get("adjoint"), level(100 + number))
    assert store.bytes == sum(p.stat().st_size for p in folder.glob("[al]*.npz"))


def test_a_process_killed_anywhere_resumes_from_one_of_its_last_two_commits(tmp_path):
    checked = 0
    for _ in committed(tmp_path / "run"):
        (tmp_path / "run" / "a note of the user.txt").touch()
        (tmp_path / "run" / ".level-9.99.npz.123.part").touch()
        found = commits(tmp_path / "run")
        assert len(found) == min(2, found[-1])
        for resume, copy in product(found, ["copy"]):
            shutil.rmtree(tmp_path / copy, ignore_errors=True)
            shutil.copytree(tmp_path / "run", tmp_path / copy)
            check(tmp_path / copy, resume)
            assert commits(tmp_path / copy) == [resume]
            assert not [path for path in (tmp_path / copy).iterdir() if is_part(path)]
            checked += 1
    assert checked == 23


def test_a_damaged_manifest_and_a_missing_file_are_named(tmp_path):
    store = FileStore(tmp_path)
    store.put("level-0", level(0))
    store.commit({"reversed": 1})
    manifest, kept = tmp_path / "manifest.1.npz", (tmp_path / "level-0.1.npz").read_bytes()
    (tmp_path / "level-0.1.npz").unlink()
    with pytest.raises(OutputError, match=r"there is no file .*level-0\.1\.npz"):
        FileStore(tmp_path, 1)
    (tmp_path / "level-0.1.npz").write_bytes(kept)
    content = manifest.read_bytes()
    manifest.write_bytes(content.replace(b'"reversed": 1', b'"reversed": 2'))
    with pytest.raises(OutputError, match=r"manifest\.1\.npz is damaged"):
        FileStore(tmp_path, 1)
    manifest.write_bytes(content)
    FileStore(tmp_path, 1).close(keep=True)
    assert FileStore(tmp_path, 1).note == json.loads('{"reversed": 1}')


def test_commits_may_remain_when_a_store_is_closed(tmp_path):
    store = FileStore(tmp_path / "kept")
    store.put("level-0", level(0))
    store.commit({})
    store.put("level-1", level(1))
    store.close(keep=True)
    assert sorted(os.listdir(tmp_path / "kept")) == ["level-0.1.npz", "manifest.1.npz"]
