"""The variants that are measured: a layout, a choice for transport, and one for the column solve."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from validation.cuda.device import Launch

GLOBAL, SHARED, REGISTERS = range(3)
"""Where the solve holds mixing ratios."""


@dataclass(frozen=True)
class Variant:
    """One way to write the kernels; the options of ``kernels.hpp``.

    tile     threads of a block of transport, along memory;  share  whether faces inside a tile are computed once
    rows     levels of a thread of the solve;  columns  of a block of it
    block    columns whose species lie together, 0 for species apart;  resident  least blocks of the solve on a multiprocessor
    place    of mixing ratios in the solve;  inline  whether its elimination stands in the code of each species
    """

    real: str
    levels: int
    levels_fastest: bool
    tile: tuple[int, int, int]
    share: bool
    rows: int
    columns: int
    place: int = GLOBAL
    inline: bool = False
    block: int = 0
    resident: int = 0

    @property
    def dtype(self) -> Any:
        """The type of its numbers."""
        return {"double": np.float64, "float": np.float32}[self.real]

    @property
    def options(self) -> dict[str, object]:
        """Return the macros of its code."""
        tile = dict(zip(("T1", "T2", "T3"), self.tile, strict=True))
        return {
            "real": self.real, "NZ": self.levels, "LEVELS_FASTEST": int(self.levels_fastest), **tile, "R": self.rows,
            "SHARE_FACES": int(self.share), "COLUMNS": self.columns, "Y_PLACE": self.place, "INLINE_FINISH": int(self.inline),
            "BLOCK": self.block, "RESIDENT": self.resident,
        }  # fmt: skip

    @property
    def names(self) -> tuple[str, str]:
        """Return what it does in transport and in the solve, in words."""
        layout = ("levels" if self.levels_fastest else "columns") + " fastest" + f" in blocks of {self.block}" * bool(self.block)
        tile = "x".join(map(str, self.tile))
        team = self.levels // self.rows
        threads = "1 thread a column" if team == 1 else f"{team} threads a column"
        place = ("", ", y in shared memory", ", y in registers")[self.place] + (", inlined" if self.inline else "")
        place += f", {self.resident} blocks resident" if self.resident else ""
        return (
            f"{layout}, tile {tile}, faces {'once' if self.share else 'twice'}",
            f"{layout}, {threads}, {self.columns} columns a block{place}",
        )

    def transport(self, nx: int, ny: int) -> Launch:
        """Return the launch of transport."""
        size = (self.levels, nx, ny) if self.levels_fastest else (nx, ny, self.levels)
        blocks = [_whole(n, tile) for n, tile in zip(size, self.tile, strict=True)]
        count = int(np.prod(self.tile))
        return Launch("transport", (blocks[0], blocks[1], blocks[2]), self.tile, self.share * 6 * count * self._bytes)

    def solve(self, nx: int, ny: int, species: int) -> Launch:
        """Return the launch of the column solve."""
        team = self.levels // self.rows
        threads = self.columns * team
        block = (threads, 1, 1) if self.levels_fastest else (self.columns, team, 1)
        numbers = self.levels * threads if team == 1 else 0 if self.levels_fastest else 6 * threads
        if self.place == SHARED:
            numbers += species * self.rows * threads
        return Launch("solve", (_whole(nx * ny, self.columns), 1, 1), block, numbers * self._bytes)

    @property
    def _bytes(self) -> int:
        return int(np.dtype(self.dtype).itemsize)


def _whole(size: int, part: int) -> int:
    if size % part:
        raise ValueError(f"{part} does not divide {size}")
    return size // part


COLUMNS_FASTEST: Final = (
    ((32, 8, 1), False, 32, 128),
    ((32, 4, 2), True, 32, 64),
    ((64, 4, 1), False, 1, 16),
    ((32, 8, 1), False, 32, 128, GLOBAL, False, 32),
    ((32, 4, 2), True, 32, 64, GLOBAL, False, 32, 8),
    ((32, 8, 1), False, 4, 32, GLOBAL, False, 32),
    ((32, 4, 4), True, 1, 8, SHARED, False, 32),
)
LEVELS_FASTEST: Final = (
    ((32, 8, 1), False, 1, 4),
    ((32, 8, 1), False, 1, 4, GLOBAL, False, 4),
    ((32, 4, 2), True, 1, 4, GLOBAL, True, 4, 4),
    ((32, 4, 2), False, 1, 4, GLOBAL, False, 4, 8),
    ((32, 4, 4), True, 1, 4, SHARED, False, 4, 3),
    ((32, 2, 4), False, 1, 4, REGISTERS, True, 4),
    ((32, 4, 2), False, 2, 8, GLOBAL, False, 8, 4),
    ((32, 4, 2), False, 4, 16, GLOBAL, False, 16),
)
"""Tile, faces shared, levels of a thread, columns of a block, place of y, inlined, block of the layout, resident blocks."""


def variants(levels: int) -> Iterator[Variant]:
    """Return the variants that are measured on a GPU."""
    for real in ("double", "float"):
        for levels_fastest, choices in ((False, COLUMNS_FASTEST), (True, LEVELS_FASTEST)):
            for choice in choices:
                yield Variant(real, levels, levels_fastest, *choice)
