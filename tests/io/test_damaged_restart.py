"""Damaged restarts, truncated or with flipped bits, are read unchanged or skipped in favour of the previous one."""

import shutil

import numpy as np
import pytest

from airshed.grid.box import Box
from airshed.io.archive import save_arrays
from airshed.io.folder import RunFolder
from airshed.io.restart import RestartStore

HELD = Box.whole(3, 2)
FORMATS = ("gather", "files", "mpiio", "zarr")


def tiled(seconds):
    return {"q": np.random.default_rng(int(seconds)).random((3, 2, 5, 2)), "first": np.full((3, 2, 2), seconds)}


def whole(seconds):
    return {"sums": np.arange(7.0) * seconds}


@pytest.fixture
def store(tmp_path, request):
    with RunFolder(tmp_path / "run", "[time]\n") as run:
        store = RestartStore(run, HELD, request.param)
        for seconds in (100.0, 200.0):
            store.save(seconds, tiled(seconds), whole(seconds), {"step": int(seconds)})
        run.wait()
        yield store


def files_of(store):
    """Return the files of the newest restart, except the marker of a Zarr group."""
    newest = next(store._folder.glob("200.0.*"))
    if newest.is_file():
        return [newest]
    return sorted(path for path in newest.rglob("*") if path.is_file() and path.parent.suffix != ".zarr")


def taken(store):
    """Return the time of the restart that is used; every bit of it must be as written."""
    restart = store.latest()
    assert restart.metadata == {"step": int(restart.seconds), "seconds": restart.seconds}
    assert len(restart.skipped) == (restart.seconds == 100.0)
    for name, array in tiled(restart.seconds).items():
        assert restart.part(name, HELD).tobytes() == array.tobytes()
    assert restart.whole["sums"].tobytes() == whole(restart.seconds)["sums"].tobytes()
    return restart.seconds


def places(size, most):
    """Return numbers below a size: the first and the last ones, and some between."""
    ends = {*range(min(size, 4)), *range(max(size - 4, 0), size)}
    return sorted(ends | {number * size // most for number in range(most)})


@pytest.mark.parametrize("store", FORMATS, indirect=True)
def test_a_file_that_is_cut_anywhere(store):
    for path in files_of(store):
        content = path.read_bytes()
        for length in places(len(content), 8):
            path.write_bytes(content[:length])
            assert taken(store) == 100.0, f"{path.name} is {length} long"
        path.write_bytes(content)
    assert taken(store) == 200.0


@pytest.mark.parametrize("store", FORMATS, indirect=True)
def test_a_byte_that_is_another_anywhere(store):
    noticed = 0
    for path in files_of(store):
        content = path.read_bytes()
        for place in places(len(content), 30):
            flipped = content[place] ^ (1, 0x40, 0xFF)[place % 3]
            path.write_bytes(content[:place] + bytes([flipped]) + content[place + 1 :])
            noticed += taken(store) == 100.0
        path.write_bytes(content)
    assert taken(store) == 200.0
    assert noticed > 25  # the rest are bytes without meaning, such as the dates in an archive


@pytest.mark.parametrize("store", ["files", "mpiio", "zarr"], indirect=True)
def test_a_file_that_is_gone(store):
    for path in files_of(store):
        kept = path.read_bytes()
        path.unlink()
        assert taken(store) == 100.0
        path.write_bytes(kept)
    assert taken(store) == 200.0


@pytest.mark.parametrize("store", ["gather", "files"], indirect=True)
@pytest.mark.parametrize("metadata", [{}, [], {"tiles": {}}, {"tiles": {"names": ["q"], "windows": [[0]]}}])
def test_a_whole_archive_of_something_else(store, metadata):
    path = next(path for path in files_of(store) if "part" not in path.name)
    save_arrays(path, {"q": np.zeros(3)}, metadata)
    assert taken(store) == 100.0


@pytest.mark.parametrize("store", ["gather"], indirect=True)
def test_what_has_no_time_for_its_name_is_no_restart(store):
    shutil.copy(store._folder / "100.0.npz", store._folder / "copy of 100.npz")
    assert taken(store) == 200.0
