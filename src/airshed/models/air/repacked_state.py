"""Saved states of a run on another device, whose packs have a different width."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from airshed.core.arrays import AnyArray
from airshed.grid.box import Box
from airshed.kernels.layout import repack
from airshed.runtime.model import SavedState


@dataclass(frozen=True)
class RepackedState:
    """Saved state in packs of another width; implements :class:`airshed.runtime.model.SavedState`.

    saved    state with packs of `before` columns; one of the widths is a multiple of the other
    width    columns in a pack of this run;  columns  of the whole area
    """

    saved: SavedState
    before: int
    width: int
    columns: int

    @property
    def whole(self) -> Mapping[str, AnyArray]:
        """Arrays that are the same on all ranks."""
        return self.saved.whole

    @property
    def metadata(self) -> Mapping[str, Any]:
        """Plain values."""
        return self.saved.metadata

    def part(self, name: str, box: Box) -> AnyArray:
        """Return a box of rows and packs of a tiled array [lat][block][...][W]."""
        rows, (west, east) = box.ends
        first, last = west * self.width // self.before, -(-min(east * self.width, self.columns) // self.before)
        found = self.saved.part(name, Box((rows, (first, last))))
        start, most = first * self.before // self.width, -(-self.columns // self.width)
        end = max(east, min(last * self.before // self.width, most))
        result = np.empty((len(found), end - start, *found.shape[2:-1], self.width), found.dtype)
        repack(found, result)
        return result[:, west - start : east - start]


def in_packs(saved: SavedState, held: Box, width: int, columns: int) -> SavedState:
    """Return a saved state of any device with packs of `width` columns.

    held     rows and packs of this rank;  columns  of the whole area
    """
    (south, _), _ = held.ends
    before = saved.part("state.air", Box(((south, south + 1), (0, 1)))).shape[-1]
    return saved if before == width else RepackedState(saved, before, width, columns)
