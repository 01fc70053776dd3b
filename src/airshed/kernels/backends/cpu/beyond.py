"""What a tile's step in reverse sees beyond its open sides: edges of packs, and air fluxes, that neighbours hold.

A cell gathers what four faces along each direction give to it:

    mixing ratios, adjoints of tendencies  of two rows to the south and north, of a block to the west and east
    air fluxes, exchange                   through the faces one beyond those of the columns held here
"""

from collections.abc import Mapping, Sequence
from typing import Final

from airshed.kernels.backends.cpu.argument_table import ArgumentTable
from airshed.kernels.boundary import empty_edges, fetch, sides_of
from airshed.kernels.host import AnyArray, aligned_empty
from airshed.kernels.layout import Layout
from airshed.kernels.operators import Member
from airshed.kernels.step.data import Pair, Side, Swap, TransportForcing

_ALONG: Final[Mapping[str, tuple[Side, ...]]] = {"flux_x": ("west", "east"), "flux_y": ("south", "north")}
_OF_FACES: Final = {"west faces": "flux_x", "south faces": "flux_y"}


class Beyond:
    """The edges of neighbours, as they come pass by pass.

    sides  the open ones
    """

    def __init__(self, layout: Layout, middle: tuple[int, int], swap: Swap | None) -> None:
        self._layout, self._swap, self.sides = layout, swap, sides_of(swap)
        self.newest, self.older, self.adjoint = (empty_edges(layout, middle, self.sides) for _ in range(3))
        self._fields: dict[int, tuple[AnyArray, dict[Side, AnyArray]]] = {}

    def fetch(self, field: AnyArray, edges: Mapping[Side, AnyArray]) -> None:
        """Fill the edges with those of neighbours, and send them the like of a packed field."""
        fetch(self._swap, field, edges)

    def fill(
        self, table: ArgumentTable, rows: Mapping[Side, int], step: TransportForcing, read: Sequence[Member]
    ) -> None:
        """Set the rows of a table, by side, to the air fluxes of a step beyond, and fields of faces that are read."""
        pairs = {"flux_x": ("flux_x", step.flux_x), "flux_y": ("flux_y", step.flux_y)}
        pairs |= {each.name: (_OF_FACES[each.shape], step.fields[each.key]) for each in read if each.shape in _OF_FACES}
        wanted = {id(end) for _, pair in pairs.values() for end in pair}
        self._fields = {key: kept for key, kept in self._fields.items() if key in wanted}
        found: dict[Side, dict[str, Pair]] = {side: {} for side in self.sides}
        for name, (along, (start, end)) in pairs.items():
            first, last = self._of_faces(start, along), self._of_faces(end, along)
            for side in first:
                found[side][name] = first[side], last[side]
        for side, fields in found.items():
            table.fill_strip(rows[side], fields, step)

    def _of_faces(self, field: AnyArray, along: str) -> dict[Side, AnyArray]:
        """A field of faces at one instant, one face beyond each open side; each instant is asked for once."""
        kept = self._fields.get(id(field))
        if kept is None:
            rows, blocks = self._layout.rows, self._layout.blocks
            places: dict[Side, AnyArray] = {
                "west": field[:, 0], "east": field[:, blocks - 1], "south": field[1:2], "north": field[rows - 1 : rows],
            }  # fmt: skip
            given = {side: places[side] for side in _ALONG[along] if side in self.sides}
            taken = {side: aligned_empty(each.shape, field.dtype) for side, each in given.items()}
            if self._swap is not None and given:
                self._swap(given, taken)
            kept = self._fields[id(field)] = field, taken
        return kept[1]
