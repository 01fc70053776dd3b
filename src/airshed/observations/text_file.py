"""Text of observation files: character sets, compression, separators, decimal commas."""

import csv
import gzip
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from airshed.core.errors import DataError
from airshed.core.files import plain_file

_MARKS: Final = (";", "\t", "|")
_SAMPLE: Final = 40
_DECIMAL_COMMA: Final = re.compile(r"[-+]?(\d{1,3}(\.\d{3})+|\d+),\d+", re.ASCII)


@dataclass(frozen=True)
class TextFile:
    """Text table: UTF-8 or Latin-1, optionally compressed by gzip, separated by commas, semicolons, tabs or bars."""

    path: Path
    lines: list[str]
    is_netcdf: bool = False

    @cached_property
    def mark(self) -> str:
        """Separator: the one in at least four of five of the first lines, else the comma."""
        sample = [line for line in self.lines[: 2 * _SAMPLE] if line.strip() and line[0] != "#"][-_SAMPLE:]
        for mark in _MARKS:
            if sample and sum(mark in line for line in sample) >= 0.8 * len(sample):
                return mark
        return ","

    def cells(self, line: str) -> list[str] | None:
        """Return the cells of a line without surrounding blanks, None where a quote is not closed."""
        if '"' not in line:
            return [cell.strip() for cell in line.split(self.mark)]
        if line.count('"') % 2:
            return None
        return [cell.strip() for cell in next(csv.reader([line], delimiter=self.mark, skipinitialspace=True), [])]

    @cached_property
    def head(self) -> list[list[str]]:
        """Cells of the first lines; no cells for an empty line.

        R writes row numbers without a column name; the line of names then gets an empty first name.
        """
        head = [(self.cells(line) or []) if line.strip() else [] for line in self.lines[:_SAMPLE]]
        filled = [number for number, cells in enumerate(head) if cells]
        if len(filled) > 1:
            names, rows = filled[0], [head[number] for number in filled[1:]]
            if all(len(cells) == len(head[names]) + 1 and cells[0].isdigit() for cells in rows):
                head[names] = ["", *head[names]]
        return head

    def rows(self, first: int) -> Iterator[tuple[int, list[str] | None]]:
        """Yield the number of each line that is not empty, from 1, and its cells; ``first`` counts from 0."""
        for number, line in enumerate(self.lines[first:], first + 1):
            if line and not line.isspace():
                yield number, self.cells(line)

    def number_text(self, text: str) -> str:
        """Return a number with a decimal point; a decimal comma is replaced unless commas separate cells."""
        if self.mark != "," and "," in text and _DECIMAL_COMMA.fullmatch(text):
            return text.replace(".", "").replace(",", ".")
        return text


def read_text_file(path: Path) -> TextFile:
    """Return a table; raises DataError for a file that is missing, damaged, or not text.

    A netCDF file is returned without lines.
    """
    try:
        content = plain_file(path).read_bytes()
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be read ({error}); get a fresh copy of the file") from None
    if content.startswith((b"CDF", b"\x89HDF")):
        return TextFile(path, [], is_netcdf=True)
    if content.startswith(b"PAR1"):
        raise DataError(f"{path} is a Parquet file; convert it to CSV: pandas.read_parquet({path.name!r}).to_csv(...)")
    if b"\0" in content[:4096] and not content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{path} is not a text file; observations are read from CSV and from netCDF")
    return TextFile(path, _decoded(content).replace("\r\n", "\n").replace("\r", "\n").split("\n"))


def _decoded(content: bytes) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", errors="replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")
