"""Classic netCDF formats with 64-bit offsets (CDF-2) and 64-bit data (CDF-5): header, and the bytes of a record.

Sizes and offsets follow from the description of a file alone, so that many processes can write one file without a
library. The header has the number of records: bytes after the last record are not part of the file. Records have the
same bytes in both formats. CDF-2 is readable by all tools, including GDAL and SciPy. CDF-5 is required by a variable of
2 GiB or more, per record if it has records.

source  NetCDF User's Guide, appendix "File Format Specifications"; PnetCDF, "CDF-5 format specification"
"""

import struct
from collections.abc import Callable, Mapping
from itertools import accumulate
from math import prod
from typing import BinaryIO, Final, NamedTuple, TypeVar

from airshed.grid.axes import Attributes
from airshed.io.cf import Description, Variable

_OFFSETS, _DATA = b"CDF\x02", b"CDF\x05"
_WIDTHS: Final = {b"CDF\x01": (4, 4), _OFFSETS: (4, 8), _DATA: (8, 8)}
"""Bytes of a number and of an offset in the file, by format."""
_DIMENSION, _VARIABLE, _ATTRIBUTE = 10, 11, 12
_CHAR, _TYPES, _SIZES = 2, {"f4": 5, "f8": 6}, {"f4": 4, "f8": 8}
_SIZE_OF_TYPE: Final = {1: 1, 2: 1, 3: 2, 4: 4, 5: 4, 6: 8, 7: 1, 8: 2, 9: 4, 10: 8, 11: 8}
_LONGEST: Final = 1 << 28
"""Limit of the bytes of a text in a header."""
_PAGE: Final = 4096
_COUNT_AT: Final = len(_DATA)
_MOST: Final = 2**31 - 4
"""Maximum bytes of a variable in CDF-2, per record if it has records."""
T = TypeVar("T")


class ClassicFormat:
    """Offsets and sizes in a file.

    records  offset of the first record
    record   bytes of a record
    within   offset in a record of each variable that has records
    wide     whether it is CDF-5
    """

    def __init__(self, description: Description, room: int = 256, *, wide: bool = False) -> None:
        """``wide`` requests CDF-5 even if CDF-2 suffices."""
        self._description = description
        variables = description.variables
        self.wide = wide or any(self._bytes(each) > _MOST for each in variables)
        fixed = [each for each in variables if each.data is not None]
        growing = [each for each in variables if each.data is None]
        begins = list(accumulate((self._bytes(each) for each in fixed), initial=0))
        start = _round_up(len(self._header(0, {})) + room, _PAGE)
        self._fixed = {each.name: start + at for each, at in zip(fixed, begins, strict=False)}
        self.records = _round_up(start + begins[-1], _PAGE)
        sizes = list(accumulate((self._bytes(each) for each in growing), initial=0))
        self.within = {each.name: at for each, at in zip(growing, sizes, strict=False)}
        self.record = sizes[-1]

    def start(self, count: int, description: Description | None = None) -> bytes:
        """Return all bytes before the first record, for so many records; another description may have other texts."""
        begins = self._fixed | {name: self.records + at for name, at in self.within.items()}
        header = self._header(count, begins, description)
        content = bytearray(self.records)
        content[: len(header)] = header
        for variable in self._description.variables:
            if variable.data is not None:
                at = self._fixed[variable.name]
                content[at : at + self._bytes(variable)] = variable.data.astype(f">{variable.dtype}").tobytes()
        return bytes(content)

    def size(self, count: int) -> int:
        """Return the bytes of a file with so many records."""
        return self.records + count * self.record

    def _bytes(self, variable: Variable) -> int:
        return int(prod(self._description.shape(variable))) * _SIZES[variable.dtype]

    def _header(self, count: int, begins: Mapping[str, int], texts: Description | None = None) -> bytes:
        what, long = texts or self._description, self._long
        numbers = {name: number for number, name in enumerate(what.dims)}
        dims = [self._text(name) + long(size or 0) for name, size in what.dims.items()]
        variables = [
            self._text(each.name) + long(len(each.dims)) + b"".join(long(numbers[dim]) for dim in each.dims)
            + self._attributes(each.attributes) + struct.pack(">i", _TYPES[each.dtype]) + long(self._bytes(each))
            + struct.pack(">q", begins.get(each.name, 0))
            for each in what.variables
        ]  # fmt: skip
        lists = self._list(_DIMENSION, dims), self._attributes(what.attributes), self._list(_VARIABLE, variables)
        return (_DATA if self.wide else _OFFSETS) + long(count) + b"".join(lists)

    def count_bytes(self, count: int) -> tuple[int, bytes]:
        """Return the offset of the number of records in a file, and its bytes."""
        return _COUNT_AT, self._long(count)

    def _long(self, number: int) -> bytes:
        return number.to_bytes(8 if self.wide else 4, "big", signed=True)

    def _text(self, text: str) -> bytes:
        content = text.encode()
        return self._long(len(content)) + content + bytes(-len(content) % 4)

    def _list(self, tag: int, items: list[bytes]) -> bytes:
        return struct.pack(">i", tag if items else 0) + self._long(len(items)) + b"".join(items)

    def _attributes(self, attributes: Attributes) -> bytes:
        items = []
        for name, value in attributes.items():
            if isinstance(value, str):
                items.append(self._text(name) + struct.pack(">i", _CHAR) + self._text(value))
                continue
            numbers = value if isinstance(value, tuple) else (value,)
            content = struct.pack(f">{len(numbers)}d", *numbers)
            items.append(self._text(name) + struct.pack(">i", _TYPES["f8"]) + self._long(len(numbers)) + content)
        return self._list(_ATTRIBUTE, items)


def count_in(start: bytes) -> int | None:
    """Return the number of records from the first bytes of a file; None for another format."""
    size = {_OFFSETS: 4, _DATA: 8}.get(start[:_COUNT_AT])
    if size is None or len(start) < _COUNT_AT + size:
        return None
    return int.from_bytes(start[_COUNT_AT : _COUNT_AT + size], "big", signed=True)


def is_wide(start: bytes) -> bool:
    """Return whether the first bytes of a file are those of CDF-5."""
    return start.startswith(_DATA)


def required_bytes(file: BinaryIO) -> int | None:
    """Return the bytes that a classic file must have by its header; None for another format.

    Raises ValueError for a truncated or damaged header. The netCDF library reads missing bytes as zeros, and for a
    damaged length uses excessive time and memory.
    """
    widths = _WIDTHS.get(file.read(_COUNT_AT))
    if widths is None:
        return None
    count, variables = _header_of(file, *widths)
    growing = [each for each in variables if each.grows]
    record = growing[0].size if len(growing) == 1 else sum(_round_up(each.size, 4) for each in growing)
    ends = [each.begin + each.size for each in variables if not each.grows]
    if count:
        ends += [each.begin + (count - 1) * record + each.size for each in growing]
    return max(ends, default=file.tell())


def records_at(file: BinaryIO) -> int:
    """Return the offset of the records of a classic file, from its header; raise ValueError for a damaged one."""
    _, variables = _header_of(file, *_WIDTHS[file.read(_COUNT_AT)])
    return min(each.begin for each in variables if each.grows)


class _Extent(NamedTuple):
    """Offset of a variable, or of its first record, in a file, and its bytes there."""

    begin: int
    size: int
    grows: bool


def _header_of(file: BinaryIO, number: int, place: int) -> tuple[int, list[_Extent]]:
    """Return the number of records and the variables of a file from its first bytes; raise ValueError.

    number, place  bytes of a number and of an offset in the file
    """

    def content(size: int) -> bytes:
        found = file.read(size) if size < _LONGEST else b""
        if len(found) < size:
            raise ValueError("the header is truncated")
        return found

    def long(size: int = number) -> int:
        found = int.from_bytes(content(size), "big", signed=True)
        if found < 0:
            raise ValueError("a negative number in the header")
        return found

    def items(item: Callable[[], T]) -> list[T]:
        content(4)  # the tag, 0 for an empty list
        return [item() for _ in range(long())]

    def skip(size: int) -> None:
        content(_round_up(size, 4))

    def type_size() -> int:
        kind = int.from_bytes(content(4), "big", signed=True)
        if kind not in _SIZE_OF_TYPE:
            raise ValueError(f"no type has the number {kind}")
        return _SIZE_OF_TYPE[kind]

    def dimension() -> int:
        skip(long())
        return long()

    def attribute() -> None:
        skip(long())
        skip(type_size() * long())

    def variable() -> _Extent:
        skip(long())
        numbers = [long() for _ in range(long())]
        if any(each >= len(dims) for each in numbers):
            raise ValueError("a variable on a missing dimension")
        sizes = [dims[each] for each in numbers]
        items(attribute)
        grows = bool(sizes) and sizes[0] == 0
        size = type_size() * prod(sizes[1:] if grows else sizes)
        long()  # the size as the writer padded it
        return _Extent(long(place), size, grows)

    records = content(number)
    count = 0 if records == b"\xff" * number else int.from_bytes(records, "big", signed=True)  # 0: it was never closed
    if count < 0:
        raise ValueError("a negative number in the header")
    dims = items(dimension)
    items(attribute)
    return count, items(variable)


def _round_up(number: int, unit: int) -> int:
    return -(-number // unit) * unit
