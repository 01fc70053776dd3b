"""All stores return the same bits, and a case selects its stores."""

import json
import os
import weakref
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from airshed.core.errors import NumericalError, OutputError
from airshed.inverse.checkpoints.stores import LARGE, FileStore, GroupStore, MemoryStore, SharedStore
from airshed.inverse.checkpoints.trajectory import make_stores, restored, rounded
from airshed.io import archive
from airshed.io.block_file import BlockFile
from airshed.kernels.host import address
from airshed.models.air.case.sections import AdjointSection
from airshed.parallel.communicator import SingleRank

from .stores import PLAIN, level, same


@pytest.fixture(params=PLAIN)
def store(request, tmp_path):
    store = PLAIN[request.param](tmp_path)
    yield store
    store.close()


def test_stored_arrays_have_the_same_bits_in_any_order(store):
    for number in range(12):
        given = level(number)
        store.put(f"level-{number}", given)
        for array in given.values():
            array[...] = 0  # the store has copies
    assert store.keys == [f"level-{number}" for number in range(12)]
    for number in (*reversed(range(12)), 5, 0, 11):
        assert same(store.get(f"level-{number}"), level(number))


def test_storing_again_replaces_arrays(store):
    for number in range(3):
        store.put("adjoint", level(number))
    assert same(store.get("adjoint"), level(2))
    assert store.keys == ["adjoint"]


def test_dropped_arrays_are_removed_and_free_their_space(store):
    sizes = []
    for number in range(3):
        store.put(f"level-{number}", level(number))
        sizes.append(store.bytes)
    assert store.get("level-1") is not None
    for number in reversed(range(3)):
        assert store.bytes == sizes[number]
        store.drop(f"level-{number}")
    assert store.bytes == 0
    for call in (store.get, store.drop):
        with pytest.raises(KeyError):
            call("level-1")


def test_files_are_removed_with_their_keys(tmp_path):
    store = FileStore(tmp_path / "kept")
    for number in range(3):
        store.put(f"level-{number}", level(number))
    assert store.bytes == sum(path.stat().st_size for path in (tmp_path / "kept").iterdir())
    for number in range(3):
        store.drop(f"level-{number}")
    assert not list((tmp_path / "kept").iterdir())
    store.close()
    assert not (tmp_path / "kept").exists()


class TestReusedMemory:
    def test_the_next_copy_reuses_dropped_memory(self):
        store, large = MemoryStore(), np.zeros(LARGE // 8)
        for number in range(4):
            store.put("level", {"q": large + number, "air": np.arange(4.0) + number})
            assert (store.get("level")["q"] == number).all()
            assert (store.get("level")["air"] == np.arange(4.0) + number).all()
        store.put("first", {"q": large})
        places = {address(store.get(key)["q"]) for key in store.keys}
        for key in ("first", "level"):
            store.drop(key)
        assert store.bytes == 0
        store.put("next", {"q": large + 5, "also": large + 6})
        assert {address(each) for each in store.get("next").values()} == places
        assert same(store.get("next"), {"q": large + 5, "also": large + 6})

    @pytest.mark.parametrize("other", [np.zeros(LARGE // 4), np.zeros(LARGE // 8, np.int64), np.zeros((2, LARGE))])
    def test_free_memory_is_released_if_nothing_fits(self, other):
        store = MemoryStore()
        store.put("level", {"q": np.zeros(LARGE // 8)})
        free = weakref.ref(store.get("level")["q"])
        store.drop("level")
        assert free() is not None
        store.put("restart", {"q": other})
        assert free() is None

    def test_small_arrays_are_left_to_the_library(self):
        store = MemoryStore()
        store.put("level", level(1))
        gone = weakref.ref(store.get("level")["q"])
        store.drop("level")
        assert gone() is None


@given(arrays_of.arrays(np.float64, st.integers(1, 8), elements=st.floats(-1e38, 1e38)))
def test_single_precision_errs_by_half_a_unit(values):
    kept = rounded({"q": values, "count": np.arange(3)})
    assert sum(each.nbytes for each in kept.values()) == values.nbytes // 2 + np.arange(3).nbytes
    found = restored(kept)
    assert found["q"].dtype == np.float64
    assert (np.abs(found["q"] - values) <= np.maximum(2.0**-24 * np.abs(values), 2.0**-150)).all()
    assert same({"count": found["count"]}, {"count": np.arange(3)})


def test_single_precision_refuses_overflow():
    with pytest.raises(NumericalError, match=r"q exceeds the range .*\.rounding"):
        rounded({"q": np.array([1e39])})


@pytest.mark.parametrize("shape", [(7, 5, 4), (1, 9, 8), (2, 3, 90), (0, 4), (40,), ()])
def test_a_large_array_is_several_chunks_of_a_group(tmp_path, monkeypatch, shape):
    monkeypatch.setattr(archive, "LARGEST", 400)
    store, given = GroupStore(tmp_path), {"q": np.random.default_rng(0).random(shape)}
    store.put("level-0", given)
    assert same(store.get("level-0"), given)
    chunks = json.loads((tmp_path / "level-0.1.zarr" / "q" / "zarr.json").read_text())["chunk_grid"]["configuration"]
    assert 8 * np.prod(chunks["chunk_shape"]) <= 400


def test_a_file_read_in_short_pieces_is_complete(tmp_path, monkeypatch):
    store = SharedStore(BlockFile(tmp_path / "checkpoints", SingleRank(), block=512))
    store.put("level-0", level(0))
    read = os.preadv
    monkeypatch.setattr(os, "preadv", lambda file, buffers, at: read(file, [buffers[0][:100]], at))
    assert same(store.get("level-0"), level(0))
    store.close()


def test_blocks_of_ranks_are_interleaved_in_one_file_and_reused(tmp_path):
    stores = [SharedStore(BlockFile(tmp_path / "checkpoints", Rank(rank), block=64)) for rank in range(3)]
    for turn in range(4):
        for rank, store in enumerate(stores):
            store.put(f"level-{turn}", {"q": np.full(10 + 20 * rank, turn + 10.0 * rank)})
            if turn > 1:
                store.drop(f"level-{turn - 2}")
    for rank, store in enumerate(stores):
        for turn in (2, 3):
            assert (store.get(f"level-{turn}")["q"] == np.full(10 + 20 * rank, turn + 10.0 * rank)).all()
        assert store.bytes == 2 * 64 * -(-(8 * (10 + 20 * rank)) // 64)
    assert (tmp_path / "checkpoints").stat().st_size <= 3 * 64 * 21
    for store in stores:
        store.close()
    assert not list(tmp_path.iterdir())


class Rank(SingleRank):
    """Rank in this process, one of three."""

    size = 3

    def __init__(self, rank):
        self.rank = rank


@pytest.mark.parametrize("kind", get_args(AdjointSection.model_fields["store"].annotation))
def test_a_case_selects_the_stores(tmp_path, kind):
    stores = make_stores(AdjointSection(store=kind, disk="1 MB"), tmp_path, SingleRank())
    for store in stores.values():
        store.put("level-1", level(1))
        assert same(store.get("level-1"), level(1))
        store.close()
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize("kind", ["files:async", "mpiio:async", "zarr:async"])
def test_removed_asynchronous_stores_are_refused_with_the_synchronous_one(kind):
    with pytest.raises(ValueError, match=f'no faster than "{kind.removesuffix(":async")}"; take'):
        AdjointSection(store=kind, disk="1 MB")


@pytest.mark.parametrize("kind", ["mpiio", "zarr"])
def test_an_inaccessible_folder_of_the_first_rank_is_reported(tmp_path, kind):
    with pytest.raises(OutputError, match=r"rank 1 cannot access .*/private/first, .*; set TMPDIR to a folder"):
        make_stores(AdjointSection(store=kind, disk="1 MB"), tmp_path / "private" / "first", Rank(1))
    assert not list(tmp_path.iterdir())
