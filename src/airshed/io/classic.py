"""The classic netCDF formats with 64-bit offsets (CDF-2) and 64-bit data (CDF-5): header, and the bytes of a record.

Sizes and offsets follow from the description of a file alone, so that many processes can write one file without a
library. The number of records stands in the header: what lies behind the last of them is no part of the file. Records
have the same bytes in both formats. CDF-2 is what all tools read, GDAL and SciPy too; a variable of 2 GiB or more, of
one record where it has records, needs CDF-5.

source  NetCDF User's Guide, appendix "File Format Specifications"; PnetCDF, "CDF-5 format specification"
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from math import prod
from typing import BinaryIO, Final, NamedTuple, TypeVar

from airshed.io.cf import Description, Variable

_OFFSETS, _DATA = b"CDF\x02", b"CDF\x05"
_WIDTHS: Final = {b"CDF\x01": (4, 4), _OFFSETS: (4, 8), _DATA: (8, 8)}
"""Bytes of a number and of a place in the file, by format."""
_DIMENSION, _VARIABLE, _ATTRIBUTE = 10, 11, 12
_CHAR, _TYPES, _SIZES = 2, {"f4": 5, "f8": 6}, {"f4": 4, "f8": 8}
_SIZE_OF_TYPE: Final = {1: 1, 2: 1, 3: 2, 4: 4, 5: 4, 6: 8, 7: 1, 8: 2, 9: 4, 10: 8, 11: 8}
_LONGEST: Final = 1 << 28
"""Bytes of a text that no header holds."""
_PAGE: Final = 4096
_COUNT_AT: Final = len(_DATA)
_MOST: Final = 2**31 - 4
"""Most bytes of a variable in CDF-2, of one record where it has records."""
T = TypeVar("T")


class ClassicFormat:
    """Where things are in a file.

    records  offset of the first record
    record   bytes of a record
    within   offset in a record of each variable that has records
    wide     whether it is CDF-5
    """

    def __init__(self, description: Description, room: int = 256, *, wide: bool = False) -> None:
        """``wide`` asks for CDF-5 also where CDF-2 will do."""
        self._description = description
        variables = description.variables
        self.wide = wide or any(self._bytes(each) > _MOST for each in variables)
        self._numbers = _Numbers(8 if self.wide else 4)
        fixed = [each for each in variables if each.data is not None]
        growing = [each for each in variables if each.data is None]
        begins = list(accumulate((self._bytes(each) for each in fixed), initial=0))
        start = _up(len(self._header(0, {})) + room, _PAGE)
        self._fixed = {each.name: start + at for each, at in zip(fixed, begins, strict=False)}
        self.records = _up(start + begins[-1], _PAGE)
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
        what, long = texts or self._description, self._numbers
        numbers = {name: number for number, name in enumerate(what.dims)}
        dims = [long.name(name) + long(size or 0) for name, size in what.dims.items()]
        variables = [
            long.name(each.name) + long(len(each.dims)) + b"".join(long(numbers[dim]) for dim in each.dims)
            + long.attributes(each.attributes) + struct.pack(">i", _TYPES[each.dtype]) + long(self._bytes(each))
            + struct.pack(">q", begins.get(each.name, 0))
            for each in what.variables
        ]  # fmt: skip
        lists = long.list(_DIMENSION, dims), long.attributes(what.attributes), long.list(_VARIABLE, variables)
        return (_DATA if self.wide else _OFFSETS) + long(count) + b"".join(lists)

    def count_bytes(self, count: int) -> tuple[int, bytes]:
        """Return where the number of records stands in a file, and its bytes."""
        return _COUNT_AT, self._numbers(count)


def count_in(start: bytes) -> int | None:
    """Return the number of records that the first bytes of a file tell; None for another format."""
    size = {_OFFSETS: 4, _DATA: 8}.get(start[:_COUNT_AT])
    if size is None or len(start) < _COUNT_AT + size:
        return None
    return int.from_bytes(start[_COUNT_AT : _COUNT_AT + size], "big", signed=True)


def is_wide(start: bytes) -> bool:
    """Whether the first bytes of a file are those of CDF-5."""
    return start.startswith(_DATA)


def needed(file: BinaryIO) -> int | None:
    """Return the bytes that a classic file, of 32 or 64 bits, must have by its header; None for another format.

    Raises ValueError for a header that is cut or damaged. The netCDF library reads what is missing as zeros, and takes
    the time and the memory that a damaged length asks for.
    """
    widths = _WIDTHS.get(file.read(_COUNT_AT))
    if widths is None:
        return None
    header = _Header(file, *widths)
    count = header.count()
    dims = header.items(header.dimension)
    header.items(header.attribute)
    variables = header.items(lambda: header.variable(dims))
    growing = [each for each in variables if each.grows]
    record = growing[0].size if len(growing) == 1 else sum(_up(each.size, 4) for each in growing)
    ends = [each.begin + each.size for each in variables if not each.grows]
    if count:
        ends += [each.begin + (count - 1) * record + each.size for each in growing]
    return max(ends, default=file.tell())


def records_at(file: BinaryIO) -> int:
    """Return where the records of a classic file begin, by its header; raises ValueError for a damaged one."""
    header = _Header(file, *_WIDTHS[file.read(_COUNT_AT)])
    header.count()
    dims = header.items(header.dimension)
    header.items(header.attribute)
    return min(each.begin for each in header.items(lambda: header.variable(dims)) if each.grows)


class _Held(NamedTuple):
    """Where a variable, or its first record, begins in a file, and its bytes there."""

    begin: int
    size: int
    grows: bool


class _Header:
    """Reads the header of a file, item by item; numbers have so many bytes, and places in the file so many."""

    def __init__(self, file: BinaryIO, number: int, place: int) -> None:
        self._file, self._number, self._place = file, number, place

    def count(self) -> int:
        """Return the number of records; of a file that was never closed, which has all bits set, none."""
        content = self._bytes(self._number)
        return 0 if content == b"\xff" * self._number else _not_negative(content)

    def long(self) -> int:
        return _not_negative(self._bytes(self._number))

    def items(self, item: Callable[[], T]) -> list[T]:
        self._bytes(4)  # the tag, 0 for a list of nothing
        return [item() for _ in range(self.long())]

    def skip_name(self) -> None:
        self._bytes(_up(self.long(), 4))

    def dimension(self) -> int:
        self.skip_name()
        return self.long()

    def attribute(self) -> None:
        self.skip_name()
        size = _SIZE_OF_TYPE[self._type()]
        self._bytes(_up(size * self.long(), 4))

    def variable(self, dims: Sequence[int]) -> _Held:
        self.skip_name()
        numbers = [self.long() for _ in range(self.long())]
        if any(number >= len(dims) for number in numbers):
            raise ValueError("a variable on a dimension that is not there")
        sizes = [dims[number] for number in numbers]
        self.items(self.attribute)
        size = _SIZE_OF_TYPE[self._type()] * prod(sizes[1:] if sizes and sizes[0] == 0 else sizes)
        self.long()  # the size as the writer padded it
        return _Held(_not_negative(self._bytes(self._place)), size, bool(sizes) and sizes[0] == 0)

    def _type(self) -> int:
        (number,) = struct.unpack(">i", self._bytes(4))
        if number not in _SIZE_OF_TYPE:
            raise ValueError(f"no type has the number {number}")
        return int(number)

    def _bytes(self, count: int) -> bytes:
        content = self._file.read(count) if count < _LONGEST else b""
        if len(content) < count:
            raise ValueError("the header is cut")
        return content


def _not_negative(content: bytes) -> int:
    number = int.from_bytes(content, "big", signed=True)
    if number < 0:
        raise ValueError("a negative number in the header")
    return number


class _Numbers:
    """Writes numbers of so many bytes, and what is made of them."""

    def __init__(self, size: int) -> None:
        self._size = size

    def __call__(self, number: int) -> bytes:
        return number.to_bytes(self._size, "big", signed=True)

    def name(self, name: str) -> bytes:
        text = name.encode()
        return self(len(text)) + _padded(text)

    def list(self, tag: int, items: list[bytes]) -> bytes:
        return struct.pack(">i", tag if items else 0) + self(len(items)) + b"".join(items)

    def attributes(self, attributes: Mapping[str, str | float]) -> bytes:
        made = []
        for name, value in attributes.items():
            if isinstance(value, str):
                text = value.encode()
                made.append(self.name(name) + struct.pack(">i", _CHAR) + self(len(text)) + _padded(text))
            else:
                made.append(self.name(name) + struct.pack(">i", _TYPES["f8"]) + self(1) + struct.pack(">d", value))
        return self.list(_ATTRIBUTE, made)


def _padded(text: bytes) -> bytes:
    return text + bytes(-len(text) % 4)


def _up(number: int, unit: int) -> int:
    return -(-number // unit) * unit
