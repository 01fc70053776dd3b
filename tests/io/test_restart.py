"""Restarts: every bit is restored, damage is detected, the last two are retained."""

import io
import json
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_np

from airshed.core.errors import OutputError
from airshed.grid.box import Box
from airshed.io.archive import load_arrays, load_rows, save_arrays
from airshed.io.folder import RunFolder
from airshed.io.restart import RestartStore

CASE = "[time]\n"


@pytest.fixture
def run(tmp_path):
    with RunFolder(tmp_path / "run", CASE) as folder:
        yield folder


def state(seconds):
    return {"q": np.random.default_rng(int(seconds)).random((5, 4, 3)), "rho": np.array(float(seconds))}


def saved(run, times):
    store = RestartStore(run)
    for seconds in times:
        store.save(seconds, {}, state(seconds), {"step": int(seconds) // 100})
    run.writer.wait()
    return store


def test_the_newest_restart_comes_back_bit_for_bit(run):
    restart = saved(run, [0.0, 100.25, 9000.5]).latest()
    assert restart.seconds == 9000.5
    assert restart.metadata == {"step": 90, "seconds": 9000.5}
    assert restart.skipped == ()
    for name, array in state(9000.5).items():
        assert restart.whole[name].dtype == np.float64
        assert restart.whole[name].tobytes() == array.tobytes()


def test_the_last_two_are_kept(run):
    saved(run, [0.0, 100.0, 10000.0, 900.0])
    assert sorted(path.name for path in (run.path / "restart").iterdir()) == ["10000.0.npz", "900.0.npz"]


def test_the_state_may_change_after_the_call(run):
    store, arrays = RestartStore(run), state(1)
    store.save(1.0, {}, arrays, {})
    arrays["q"][...] = -1.0
    run.writer.wait()
    assert np.array_equal(store.latest().whole["q"], state(1)["q"])


def test_there_may_be_none(run):
    assert RestartStore(run).latest() is None


def test_numpy_alone_reads_a_restart(run):
    saved(run, [3600.0])
    with np.load(run.path / "restart" / "3600.0.npz", allow_pickle=False) as archive:
        assert np.array_equal(archive["q"], state(3600)["q"])
        assert json.loads(archive["metadata.json"]) == {"step": 36, "seconds": 3600.0}


def damaged(content, kind):
    middle = content.index(state(200)["q"].tobytes()) + 77
    return {
        "one bit": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
        "truncated": content[:middle],
        "empty": b"",
        "zeros": bytes(len(content)),
        "no zip": b"PK but not an archive" * 9,
    }[kind]


@pytest.mark.parametrize("kind", ["one bit", "truncated", "empty", "zeros", "no zip"])
def test_a_damaged_restart_is_skipped_for_the_one_before(run, kind):
    store = saved(run, [100.0, 200.0])
    path = run.path / "restart" / "200.0.npz"
    path.write_bytes(damaged(path.read_bytes(), kind))
    restart = store.latest()
    assert restart.seconds == 100.0
    assert "200.0.npz is damaged" in restart.skipped[0]
    (run.path / "restart" / "100.0.npz").write_bytes(b"")
    with pytest.raises(OutputError, match=r"no restart in .* is intact: .*200\.0\.npz is damaged.*100\.0\.npz"):
        store.latest()


def test_without_the_checksum_the_flipped_bit_would_be_accepted(run):
    store = saved(run, [100.0, 200.0])
    path = run.path / "restart" / "200.0.npz"
    content = bytearray(path.read_bytes())
    middle = content.index(state(200)["q"].tobytes()) + 77
    content[middle] ^= 1
    with zipfile.ZipFile(path) as archive:
        old = archive.getinfo("q.npy").CRC.to_bytes(4, "little")
    member = np.lib.format.header_data_from_array_1_0(state(200)["q"])
    text = io.BytesIO()
    np.lib.format.write_array_header_1_0(text, member)
    flipped = text.getvalue() + bytes(content[middle - 77 : middle - 77 + state(200)["q"].nbytes])
    path.write_bytes(bytes(content).replace(old, zipfile.crc32(flipped).to_bytes(4, "little")))
    restart = store.latest()
    assert restart.seconds == 200.0
    assert not np.array_equal(restart.whole["q"], state(200)["q"])


@settings(max_examples=30)
@given(st_np.arrays(np.float64, st_np.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)), st.booleans())
def test_any_array_of_doubles_survives(tmp_path_factory, array, transposed):
    path = tmp_path_factory.mktemp("archive") / "a.npz"
    array = array.T if transposed else array
    save_arrays(path, {"a": array}, {})
    found = load_arrays(path)[0]["a"]
    assert found.shape == array.shape
    assert found.tobytes() == array.tobytes()


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(OutputError, match=r"there is no file .*a\.npz"):
        load_arrays(tmp_path / "a.npz")


@given(st.integers(0, 6), st.integers(0, 6), st.sampled_from([np.float64, np.float32, np.int16]))
@settings(max_examples=20, deadline=None)
def test_some_rows_of_an_array_are_those_of_the_whole(tmp_path_factory, first, last, dtype):
    first, last = sorted((first, last))
    path = tmp_path_factory.mktemp("rows") / "a.npz"
    arrays = {name: np.random.default_rng(7).random((6, 2, 3)).astype(dtype) for name in ("a", "bb")}
    save_arrays(path, arrays, {"x": 1})
    for name, array in arrays.items():
        found = load_rows(path, name, first, last)
        assert found.dtype == dtype
        assert np.array_equal(found, array[first:last])


def test_rows_that_are_not_there_are_refused(tmp_path):
    path = tmp_path / "a.npz"
    save_arrays(path, {"a": np.ones((6, 2))}, {})
    with pytest.raises(OutputError, match="damaged"):
        load_rows(path, "a", 0, 10**6)
    with pytest.raises(OutputError, match="damaged"):
        load_rows(path, "b", 0, 1)
    np.savez_compressed(path, a=np.ones((6, 2)))
    with pytest.raises(OutputError, match="is compressed"):
        load_rows(path, "a", 0, 1)


def test_a_rank_reads_its_rows_of_a_gathered_restart_alone(run, monkeypatch):
    tile = np.random.default_rng(3).random((6, 2, 3))
    RestartStore(run, Box.whole(*tile.shape[:2])).save(5.0, {"q": tile}, {}, {})
    run.wait()
    restart = RestartStore(run).latest()
    monkeypatch.setattr("airshed.io.strategies.states.load_array", None)
    assert np.array_equal(restart.part("q", Box(((2, 5), (1, 2)))), tile[2:5, 1:2])
