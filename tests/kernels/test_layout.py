"""Unpacking inverts packing; padding is as requested; columns have the layout of the kernels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airshed.kernels.host import aligned_zeros
from airshed.kernels.layout import Layout, PackedView, repack

LAYOUTS = st.builds(Layout, st.integers(1, 6), st.integers(1, 40), st.sampled_from([1, 4, 8, 16]), st.just(np.float64))


@given(LAYOUTS, st.lists(st.integers(1, 3), max_size=2), st.integers(0, 1000))
def test_unpacking_undoes_packing(layout: Layout, middle: list[int], seed: int) -> None:
    field = np.random.default_rng(seed).normal(size=(*middle, layout.rows, layout.columns))
    packed = layout.pack(field)
    assert packed.shape == layout.zeros(*middle).shape == (layout.rows, layout.blocks, *middle, layout.width)
    assert np.array_equal(layout.unpack(packed), field)
    assert 1 <= layout.last_lanes <= layout.width
    assert (layout.blocks - 1) * layout.width + layout.last_lanes == layout.columns


@given(st.integers(1, 3), st.integers(1, 80), st.sampled_from([(4, 8), (8, 32), (4, 32)]), st.integers(0, 1000))
def test_packs_of_another_width_hold_the_same_columns(
    rows: int, columns: int, widths: tuple[int, int], seed: int
) -> None:
    narrow, wide = (Layout(rows, columns, width, np.float64) for width in widths)
    field = np.random.default_rng(seed).normal(size=(2, 3, rows, columns))
    there, back = wide.pack(np.zeros_like(field)), narrow.pack(np.zeros_like(field))
    repack(narrow.pack(field), there)
    assert np.array_equal(there, wide.pack(field)), "padding repeats the last column"
    repack(there, back)
    assert np.array_equal(back, narrow.pack(field))
    there[..., 0] += 1.0
    repack(there, back)
    assert not np.array_equal(back, narrow.pack(field)), "the negative control"


@given(LAYOUTS)
def test_each_column_lies_in_its_lane(layout: Layout) -> None:
    rows, columns = np.meshgrid(np.arange(layout.rows), np.arange(layout.columns), indexing="ij")
    packed = layout.pack(100.0 * rows + columns)
    for row in range(layout.rows):
        for column in range(layout.columns):
            assert packed[row, column // layout.width, column % layout.width] == 100.0 * row + column


@given(LAYOUTS, st.integers(0, 1000))
def test_padding_repeats_the_last_column_or_is_zero(layout: Layout, seed: int) -> None:
    field = np.random.default_rng(seed).normal(size=(2, layout.rows, layout.columns))
    padding = slice(layout.last_lanes, None)
    repeated = layout.pack(field)[:, -1, :, padding]
    assert np.all(repeated == np.moveaxis(field, 0, 1)[:, :, -1:])
    assert np.all(layout.pack(field, padding="constant")[:, -1, :, padding] == 0.0)


@given(LAYOUTS)
def test_faces_have_one_row_or_one_block_more(layout: Layout) -> None:
    east = layout.pack(np.ones((3, layout.rows, layout.columns + 1)), padding="constant")
    north = layout.pack(np.ones((3, layout.rows + 1, layout.columns)), padding="constant")
    assert east.shape == (layout.rows, layout.blocks + 1, 3, layout.width)
    assert north.shape == (layout.rows + 1, layout.blocks, 3, layout.width)
    assert east.sum() == 3 * layout.rows * (layout.columns + 1)


def test_single_precision_is_rounded_once() -> None:
    layout = Layout(2, 5, 8, np.float32)
    field = np.random.default_rng(0).normal(size=(2, 5))
    assert layout.pack(field).dtype == np.float32
    assert np.array_equal(layout.unpack(layout.pack(field)), field.astype(np.float32).astype(np.float64))
    assert not np.array_equal(layout.unpack(layout.pack(field)), field)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8])
def test_memory_is_aligned_to_cache_lines(dtype: type) -> None:
    for size in (1, 3, 17, 1000):
        array = aligned_zeros((size,), dtype)
        assert array.ctypes.data % 64 == 0
        assert array.shape == (size,)
        assert not array.any()


@given(
    LAYOUTS, st.sampled_from([np.float64, np.float32]), st.sampled_from([slice(None), [0], [2, 0]]), st.integers(0, 99)
)
def test_a_view_is_copied_as_what_unpacking_gives_rounded_once(
    layout: Layout, dtype: type, levels: slice | list[int], seed: int
) -> None:
    layout = Layout(layout.rows, layout.columns, layout.width, dtype)
    packed = layout.pack(np.random.default_rng(seed).normal(size=(2, 3, layout.rows, layout.columns)))
    view = PackedView(layout, packed[:, :, 1])
    expected = layout.unpack(packed[:, :, 1])
    target = np.full(expected[levels].shape, np.nan, np.float32)
    view.copy_to(target, levels)
    assert view.shape == expected.shape
    assert np.array_equal(target, expected[levels].astype(np.float32))
