"""Frames are decoded to the values that were sent, byte images to within half a step of their range."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from airshed.core.errors import DataError
from airshed.serve.protocol.frames import MISSING, encode, frame, frames, window_of

HEADER = {
    "variable": "O3", "unit": "1", "dims": ["lat", "lon"], "session": "main", "version": 1, "step": 1, "seconds": 0.0,
    "time": "2022-08-31T00:00:00.000Z", "level": None, "window": None, "stride": 1,
}  # fmt: skip


def sent(values, encoding="float32", limits=None, compress=False) -> bytes:
    payload = encode(values, encoding, limits, compress=compress)
    header = {
        **HEADER, "shape": values.shape, "dtype": payload.dtype, "encoding": encoding, "range": payload.range,
        "missing": MISSING if encoding == "byte" else "NaN", "compression": payload.compression,
        "length": len(payload.data),
    }  # fmt: skip
    return frame(header, payload.data)


fields = arrays.arrays(np.float32, (3, 5), elements=st.floats(-1e6, 1e6, width=32) | st.just(float("nan")))


@given(fields, st.booleans())
def test_float32_is_unchanged(values: np.ndarray, compress: bool) -> None:
    (found,) = frames(sent(values, compress=compress))
    assert found.values.tobytes() == values.tobytes()


@given(fields, st.booleans())
def test_a_byte_image_is_off_by_half_a_step_at_most(values: np.ndarray, compress: bool) -> None:
    (found,) = frames(sent(values, "byte", compress=compress))
    assert np.array_equal(found.raw == MISSING, np.isnan(values))
    low, high = found.header.range or (0.0, 0.0)
    off = np.abs(found.values - values)[~np.isnan(values)]
    assert np.all(off <= 0.51 * (high - low) / 254.0 + 1e-9 * max(abs(low), abs(high)))


@pytest.mark.parametrize(("low", "high"), [(0.0, 1e-38), (1e-40, 2e-40), (-3e38, 3e38), (0.0, 3e38), (-1e-44, 1e-44)])
def test_a_byte_image_is_right_where_single_precision_ends(low: float, high: float) -> None:
    values = np.linspace(low, high, 7).astype(np.float32).reshape(1, 7)
    low, high = float(values.min()), float(values.max())
    expected = np.rint((values.astype(np.float64) - low) / (high - low) * 254.0)
    (found,) = frames(sent(values, "byte"))
    assert found.raw.tolist() == expected.tolist()


def test_values_beyond_the_range_are_its_ends() -> None:
    (found,) = frames(sent(np.array([[-5.0, 0.0, 1.0, 9.0, np.inf]]), "byte", (0.0, 1.0)))
    assert found.raw.tolist() == [[0, 0, 254, 254, MISSING]]


def test_frames_follow_each_other_and_values_begin_at_a_multiple_of_8() -> None:
    one = sent(np.arange(3, dtype=np.uint8).astype(np.float32)[None], "byte")
    assert len(one) % 8 == 0
    assert (8 + int.from_bytes(one[4:8], "little")) % 8 == 0
    assert [each.header.shape for each in frames(one + one)] == [[1, 3], [1, 3]]


@pytest.mark.parametrize("broken", [b"XXXX", b"ASF1", b"ASF1\xff\xff\xff\xff", sent(np.zeros((2, 2)))[:-20]])
def test_an_invalid_frame_is_refused(broken: bytes) -> None:
    with pytest.raises(DataError):
        list(frames(broken))


def test_a_window_is_a_part_of_each_level() -> None:
    values = np.arange(2 * 4 * 6).reshape(2, 4, 6)
    assert np.array_equal(window_of(values, 1, (1, 4, 2, 6), 2), values[1, 1:4:2, 2:6:2])
    assert np.array_equal(window_of(values, None, None, 3), values[:, ::3, ::3])
    assert window_of(np.array(3.0), None, None, 1).shape == ()
