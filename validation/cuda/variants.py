"""The measured variants: a layout, options of transport, and options of the column solve."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from validation.cuda.device import Launch

GLOBAL, SHARED, REGISTERS = range(3)
"""Memory of mixing ratios in the solve."""


@dataclass(frozen=True)
class Variant:
    """A variant of the kernels, by the options of ``kernels.hpp``.

    block    columns whose species are contiguous in memory; 0 for separate species
    tile     threads of a block of transport, along memory;  share  faces inside a tile are computed once
    shuffle  threads of transport exchange the values of levels
    rows     levels per thread of the solve;  columns  per block
    resident, transport_resident  least blocks on a multiprocessor, which limits registers; 0 for no limit
    place    memory of mixing ratios in the solve;  group  species solved together
    """

    real: str
    levels: int
    levels_fastest: bool
    tile: tuple[int, int, int]
    share: bool
    rows: int
    columns: int
    place: int = GLOBAL
    block: int = 0
    resident: int = 0
    transport_resident: int = 0
    group: int = 3
    shuffle: bool = False

    @property
    def dtype(self) -> Any:
        """Type of its numbers."""
        return {"double": np.float64, "float": np.float32}[self.real]

    @property
    def options(self) -> dict[str, object]:
        """Return the macros of its code."""
        tile = dict(zip(("T1", "T2", "T3"), self.tile, strict=True))
        return {
            "real": self.real, "NZ": self.levels, "LEVELS_FASTEST": int(self.levels_fastest), "BLOCK": self.block,
            **tile, "SHARE_FACES": int(self.share), "SHUFFLE_LEVELS": int(self.shuffle),
            "TRANSPORT_RESIDENT": self.transport_resident, "R": self.rows, "COLUMNS": self.columns,
            "Y_PLACE": self.place, "RESIDENT": self.resident,
        }  # fmt: skip

    @property
    def names(self) -> tuple[str, str]:
        """Return descriptions of its transport and its solve."""
        layout = ("levels" if self.levels_fastest else "columns") + " fastest"
        layout += f" in blocks of {self.block}" * bool(self.block)
        tile = "x".join(map(str, self.tile))
        how = f", {self.transport_resident} blocks resident" * (self.transport_resident > 0)
        how += ", levels by shuffles" * self.shuffle
        team = self.levels // self.rows
        threads = "1 thread a column" if team == 1 else f"{team} threads a column"
        place = ("", ", y in shared memory", ", y in registers")[self.place]
        place += f", {self.group} species at once"
        place += f", {self.resident} blocks resident" if self.resident else ""
        return (
            f"{layout}, tile {tile}, faces {'once' if self.share else 'twice'}{how}",
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
        numbers = self.levels * threads if team == 1 else 0 if self.levels_fastest else 6 * self.group * threads
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


COLUMNS_FASTEST: Final[tuple[dict[str, Any], ...]] = (
    {"tile": (32, 8, 1), "rows": 32, "columns": 128},
    {"tile": (32, 4, 1), "rows": 32, "columns": 128, "block": 32, "transport_resident": 6},
    {"tile": (32, 2, 2), "rows": 4, "columns": 32, "block": 32, "group": 1, "resident": 2, "share": True},
    {"tile": (32, 2, 2), "rows": 2, "columns": 16, "block": 32, "group": 1, "resident": 2, "transport_resident": 6},
    {"tile": (32, 4, 1), "rows": 2, "columns": 8, "block": 32, "group": 3, "resident": 4, "transport_resident": 8},
    {"tile": (32, 4, 1), "rows": 1, "columns": 8, "block": 32, "place": SHARED, "group": 2, "transport_resident": 7},
)
LEVELS_FASTEST: Final[tuple[dict[str, Any], ...]] = (
    {"tile": (32, 1, 4), "rows": 1, "columns": 4, "group": 1, "transport_resident": 6},
    {"tile": (32, 8, 1), "rows": 1, "columns": 4, "block": 4, "group": 1, "resident": 5},
    {"tile": (32, 1, 4), "rows": 1, "columns": 4, "block": 4, "group": 3, "resident": 4},
    {"tile": (32, 1, 4), "rows": 1, "columns": 4, "block": 4, "place": SHARED, "group": 1, "share": True},
    {"tile": (32, 1, 4), "rows": 1, "columns": 4, "block": 4, "place": SHARED, "group": 2, "transport_resident": 6},
    {"tile": (32, 1, 4), "rows": 1, "columns": 4, "block": 4, "place": SHARED, "shuffle": True,
     "transport_resident": 6},
    {"tile": (32, 1, 4), "rows": 1, "columns": 4, "block": 4, "place": SHARED, "shuffle": True,
     "transport_resident": 8},
    {"tile": (32, 1, 4), "rows": 2, "columns": 4, "block": 4, "place": SHARED, "group": 1, "shuffle": True},
    {"tile": (32, 2, 2), "rows": 1, "columns": 4, "block": 4, "place": REGISTERS, "shuffle": True,
     "transport_resident": 6},
    {"tile": (32, 1, 2), "rows": 1, "columns": 4, "block": 8, "place": SHARED, "shuffle": True,
     "transport_resident": 12},
)  # fmt: skip


def variants(levels: int) -> Iterator[Variant]:
    """Return the variants for a GPU."""
    for real in ("double", "float"):
        for levels_fastest, choices in ((False, COLUMNS_FASTEST), (True, LEVELS_FASTEST)):
            for choice in choices:
                yield Variant(real, levels, levels_fastest, **{"share": False, **choice})
