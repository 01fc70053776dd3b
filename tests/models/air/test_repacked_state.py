"""A saved state in packs of another device holds the same columns."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from airshed.grid.box import Box
from airshed.kernels.layout import Layout
from airshed.models.air.repacked_state import in_packs

ROWS, COLUMNS = 3, 76


@dataclass
class WholeState:
    """Saved state of the whole area, of which any box can be read."""

    tiled: dict[str, np.ndarray]
    whole: dict[str, np.ndarray] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)

    def part(self, name: str, box: Box) -> np.ndarray:
        return self.tiled[name][box.slices]


def state(width: int) -> WholeState:
    values = np.random.default_rng(1).normal(size=(2, ROWS, COLUMNS))
    layout = Layout(ROWS, COLUMNS, width, np.float64)
    return WholeState({"state.air": layout.pack(values), "state.q": layout.pack(np.stack([values, 2.0 * values]))})


@pytest.mark.parametrize(("before", "width"), [(8, 32), (32, 8), (4, 32)])
@pytest.mark.parametrize("name", ["state.air", "state.q"])
def test_any_box_has_the_values_of_its_columns(before: int, width: int, name: str) -> None:
    blocks, expected = -(-COLUMNS // width), state(width)
    for west in range(blocks):
        for east in range(west + 1, blocks + 1):
            box = Box(((1, 3), (west, east)))
            found = in_packs(state(before), box, width, COLUMNS).part(name, box)
            np.testing.assert_array_equal(found, expected.part(name, box))
    other = Box(((1, 3), (0, 1)))
    assert not np.array_equal(in_packs(state(before), other, width, COLUMNS).part(name, other), found)


def test_a_state_in_the_same_packs_is_itself() -> None:
    saved = state(8)
    assert in_packs(saved, Box(((0, 1), (0, 1))), 8, COLUMNS) is saved
