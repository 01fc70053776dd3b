"""Edges of packed fields beyond the open sides of a tile, by an exchange that waits: for steps that are verified.

The halo of a run's own steps is exchanged beside the computation, see ``parallel.halo``.
"""

from collections.abc import Collection, Mapping

from airshed.kernels.layout import Layout
from airshed.kernels.memory import AnyArray, aligned_empty
from airshed.kernels.step.data import REACH, Side, Swap


def sides_of(swap: Swap | None) -> tuple[Side, ...]:
    """Return the sides on which a neighbour goes on."""
    return () if swap is None else tuple(swap.sides)


def empty_edges(layout: Layout, middle: tuple[int, ...], sides: Collection[Side]) -> dict[Side, AnyArray]:
    """Return arrays for what neighbours hold of a field [lat][block][middle...][W]: two rows, or a block of each."""
    lanes = (*middle, layout.width)
    shapes = dict.fromkeys(("south", "north"), (REACH, layout.blocks)) | dict.fromkeys(("west", "east"), (layout.rows,))
    return {side: aligned_empty((*shapes[side], *lanes), layout.dtype) for side in sides}


def fetch(swap: Swap | None, field: AnyArray, edges: Mapping[Side, AnyArray]) -> None:
    """Fill the edges with those of neighbours, and send them the like of a packed field."""
    given: dict[Side, AnyArray] = {}
    for side, edge in edges.items():
        if side in ("south", "north"):
            given[side] = field[: len(edge)] if side == "south" else field[-len(edge) :]
        else:
            given[side] = field[:, 0] if side == "west" else field[:, -1]
    if swap is not None and given:
        swap(given, edges)


class WaitedFor:
    """Neighbours whose edges are here when a step begins; satisfies ``kernels.step.data.Neighbours``."""

    def __init__(self, layout: Layout, middle: tuple[int, int], swap: Swap) -> None:
        self.sides, self._swap = sides_of(swap), swap
        self._edges = empty_edges(layout, middle, self.sides)

    def start(self, q: AnyArray) -> Mapping[Side, AnyArray]:
        """Exchange the edges of the mixing ratios."""
        fetch(self._swap, q, self._edges)
        return self._edges

    def arrived(self) -> bool:
        """All edges are here."""
        return True

    def close(self) -> None:
        """Hold nothing."""
