"""Binary frames: a small JSON header, then raw values; see docs/how-to/serve.md."""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from airshed.core.arrays import AnyArray
from airshed.core.errors import DataError
from airshed.serve.protocol.types import FrameHeader
from airshed.serve.protocol.values import Encoding, Window

MAGIC: Final = b"ASF1"
MEDIA_TYPE: Final = "application/x-airshed-frame"
MISSING: Final = 255
"""The byte for a missing value."""

_STEPS = 254.0
_WIDTHS = (1e-30, 1e30)
_ALIGN = 8
_HEADER_MOST = 1 << 20


@dataclass(frozen=True)
class Payload:
    """Encoded values: bytes, their type, and the range of the values or of the byte image."""

    data: bytes
    dtype: str
    encoding: Encoding
    range: tuple[float, float] | None
    compression: str | None


def encode(
    values: AnyArray, encoding: Encoding, limits: tuple[float, float] | None = None, *, compress: bool = False
) -> Payload:
    """Return values as float32, or as a byte image of a range [low, high], by default that of the values.

    A byte b means low + b (high - low) / 254; 255 is missing, and values outside the range are 0 or 254.
    """
    span = _range(values)
    if encoding == "byte":
        span = span if limits is None else limits
        raw, dtype = _image(values, span or (0.0, 0.0)).tobytes(), "|u1"
    else:
        raw, dtype = np.ascontiguousarray(values, "<f4").tobytes(), "<f4"
    data = gzip.compress(raw, 1, mtime=0) if compress else raw
    return Payload(data, dtype, encoding, span, "gzip" if compress else None)


def _range(values: AnyArray) -> tuple[float, float] | None:
    finite = values[np.isfinite(values)] if values.ndim else values.reshape(1)[np.isfinite(values.reshape(1))]
    return (float(finite.min()), float(finite.max())) if finite.size else None


def _image(values: AnyArray, span: tuple[float, float]) -> npt.NDArray[np.uint8]:
    low, high = span
    if not _WIDTHS[0] < high - low < _WIDTHS[1]:  # avoids overflow in single precision
        values, low, high = values.astype(np.float64) / 2.0, low / 2.0, high / 2.0
    width = high - low
    scale = _STEPS / width if width > 0.0 else 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.clip(np.rint((values - low) * scale), 0.0, _STEPS)
    return np.where(np.isfinite(values), np.nan_to_num(steps), MISSING).astype(np.uint8)


def frame(header: dict[str, Any], payload: bytes) -> bytes:
    """Return a frame: magic, length of the header, header, values, and zeros up to a multiple of 8 bytes."""
    text = json.dumps(header, separators=(",", ":"), allow_nan=False).encode()
    text += b" " * (-len(text) % _ALIGN)
    return b"".join([MAGIC, len(text).to_bytes(4, "little"), text, payload, bytes(-len(payload) % _ALIGN)])


@dataclass(frozen=True)
class Frame:
    """A received frame."""

    header: FrameHeader
    payload: bytes

    @cached_property
    def raw(self) -> AnyArray:
        """The values as sent: numbers, or bytes of an image."""
        data = gzip.decompress(self.payload) if self.header.compression == "gzip" else self.payload
        return np.frombuffer(data, self.header.dtype).reshape(self.header.shape)

    @cached_property
    def values(self) -> AnyArray:
        """The values in the unit of the variable; NaN where missing."""
        if self.header.encoding == "float32":
            return self.raw
        low, high = self.header.range or (np.nan, np.nan)
        values = low + self.raw.astype(np.float64) * ((high - low) / _STEPS)
        return np.where(self.raw == MISSING, np.nan, values)


def frames(data: bytes) -> Iterator[Frame]:
    """Yield consecutive frames; raises DataError for invalid bytes."""
    at = 0
    while at < len(data):
        if data[at : at + 4] != MAGIC or len(data) < at + 8:
            raise DataError(f"no frame starts at byte {at} of the response; does the server have another version?")
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        begin = at + 8 + size
        if size > _HEADER_MOST or begin > len(data):
            raise DataError("a frame of the response is incomplete; repeat the request")
        header = FrameHeader.model_validate_json(data[at + 8 : begin])
        if begin + header.length > len(data):
            raise DataError("a frame of the response is incomplete; repeat the request")
        yield Frame(header, data[begin : begin + header.length])
        at = begin + header.length + -header.length % _ALIGN


def window_of(values: AnyArray, level: int | None, window: Window | None, stride: int) -> AnyArray:
    """Return a level, and a window of rows and columns, of a field whose last two dimensions are those of a map."""
    if level is not None and values.ndim > 2:
        values = values[level]
    if values.ndim < 2:
        return values[::stride] if values.ndim else values
    first, last, left, right = window or (0, values.shape[-2], 0, values.shape[-1])
    return values[..., first:last:stride, left:right:stride]
