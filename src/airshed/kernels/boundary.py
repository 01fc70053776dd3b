"""Boundary concentrations along the lateral faces of a rectangle of columns: as arrays, and packed for kernels.

A field has one value per face cell, in the order west (lat), east (lat), south (lon), north (lon); each side runs from
south to north or from west to east. The packed layout of the sides is

    west, east    [lat][species][level]
    south, north  [block][species][level][W]

with one row or one block for a profile that is the same along all faces.

A nest has concentrations of two cells beyond each face. Its fields are (2 species, level, face cell): all species of
the nearer cell, then all of the farther one.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from airshed.core.arrays import Array
from airshed.kernels.host import AnyArray
from airshed.kernels.layout import Layout
from airshed.kernels.step.arguments import REACH, SIDES, HaloExchange, Side


@dataclass(frozen=True)
class FaceCells:
    """The face cells around `rows` x `columns` cells."""

    rows: int
    columns: int

    @property
    def count(self) -> int:
        """The number of face cells."""
        return 2 * (self.rows + self.columns)

    @property
    def places(self) -> dict[Side, slice]:
        """The slice of each side in an array of face cells."""
        ends = np.cumsum([self.rows, self.rows, self.columns, self.columns]).tolist()
        return {side: slice(first, last) for side, first, last in zip(SIDES, [0, *ends], ends, strict=False)}

    def split(self, field: Array) -> dict[Side, Array]:
        """Return a field (..., face cell) by side."""
        return {side: field[..., place] for side, place in self.places.items()}

    def part(self, field: Array, rows: slice, columns: slice) -> Array:
        """Return the field of the face cells around some rows and columns."""
        along = {"west": rows, "east": rows, "south": columns, "north": columns}
        parts = [each[..., along[side]] for side, each in self.split(field).items()]
        return np.ascontiguousarray(np.concatenate(parts, axis=-1))

    def join(self, sides: Mapping[Side, Array]) -> Array:
        """Join the fields along the sides into a field (..., face cell)."""
        return np.concatenate([sides[side] for side in SIDES], axis=-1)


@dataclass(frozen=True, eq=False)
class PackedBoundary:
    """Packed boundary concentrations at an instant [s]; sides with a neighbouring rank are omitted."""

    sides: Mapping[Side, AnyArray]
    seconds: float = 0.0

    @property
    def count(self) -> int:
        """The number of species, twice for two cells beyond each face."""
        return int(next(iter(self.sides.values())).shape[1])

    @classmethod
    def of(
        cls, layout: Layout, field: Array, seconds: float = 0.0, sides: Collection[Side] = SIDES
    ) -> "PackedBoundary":
        """Pack a field (species, level, face cell), or a profile (species, level) for all faces."""
        return cls({side: _packed(layout, side, _along(layout, side, field)) for side in sides}, seconds)

    def unpacked(self, layout: Layout) -> Array:
        """Return the values of all sides as a field (species, level, face cell), without padding."""
        found: dict[Side, Array] = {}
        for side, packed in self.sides.items():
            values = packed.astype(np.float64)
            if side in ("west", "east"):
                found[side] = np.moveaxis(values, 0, -1)
            else:
                blocks = np.moveaxis(values, 0, -2)
                found[side] = blocks.reshape(*blocks.shape[:-2], -1)[..., : layout.columns]
        return FaceCells(layout.rows, layout.columns).join(found)

    def with_changes(self, layout: Layout, changes: "PackedBoundary | None") -> "PackedBoundary":
        """Interleave values with their tangents, as the tangent kernel reads them: [..][2] or [..][2][W]."""
        return PackedBoundary({
            side: _stacked(layout, side, values, None if changes is None else changes.sides[side])
            for side, values in self.sides.items()
        }, self.seconds)  # fmt: skip


@dataclass(frozen=True, eq=False)
class BoundaryForcing:
    """Packed boundary concentrations at both ends of an interval, and the weight of its end in a step (0..1)."""

    start: PackedBoundary
    end: PackedBoundary
    weight: float

    def shares(self) -> list[tuple[float, float]]:
        """Return the instants [s] between which a step interpolates, and the weight of each."""
        return [(self.start.seconds, 1.0 - self.weight), (self.end.seconds, self.weight)]


def cells_of(field: Array, species: int, axis: int = 0) -> Array:
    """Return a field with the axis of species split into (cells beyond the face, species)."""
    return field.reshape(*field.shape[:axis], -1, species, *field.shape[axis + 1 :])


def sum_of_cells(field: Array, species: int, axis: int = 0) -> Array:
    """Return the sum of a field over the cells beyond each face: the field itself where there is one."""
    return field if field.shape[axis] == species else np.asarray(cells_of(field, species, axis).sum(axis=axis))


def empty_sides(layout: Layout, species: int, levels: int) -> dict[Side, Array]:
    """Return zeros for the adjoints of packed boundary concentrations of all sides, in double."""
    rows = layout.rows, species, levels
    blocks = layout.blocks, species, levels, layout.width
    return {side: np.zeros(rows if side in ("west", "east") else blocks) for side in SIDES}


def _along(layout: Layout, side: Side, field: Array) -> Array:
    """Return the part of a field along a side; a profile becomes a single face cell."""
    cells = FaceCells(layout.rows, layout.columns)
    return field[..., None] if field.ndim == 2 else field[..., cells.places[side]]


def _packed(layout: Layout, side: Side, values: Array) -> AnyArray:
    """Pack (species, level, face cell) along a side."""
    species, levels, count = values.shape
    if side in ("west", "east"):
        rows = layout.empty(count, species, levels)
        rows[...] = np.moveaxis(values, -1, 0)
        return rows
    blocks = -(-count // layout.width)
    result = layout.empty(blocks, species, levels, layout.width)
    padded = np.concatenate([values, np.repeat(values[..., -1:], blocks * layout.width - count, axis=-1)], axis=-1)
    result[...] = np.moveaxis(padded.reshape(species, levels, blocks, layout.width), -2, 0)
    return result


def _stacked(layout: Layout, side: Side, values: AnyArray, changes: AnyArray | None) -> AnyArray:
    axis = values.ndim if side in ("west", "east") else values.ndim - 1
    shape = (*values.shape[:axis], 2, *values.shape[axis:])
    both = layout.empty(*shape)
    np.stack([values, np.zeros_like(values) if changes is None else np.broadcast_to(changes, values.shape)], axis,
             out=both)  # fmt: skip
    return both


def sides_of(halo_exchange: HaloExchange | None) -> tuple[Side, ...]:
    """Return the sides with a neighbouring rank."""
    return () if halo_exchange is None else tuple(halo_exchange.sides)


def empty_edges(layout: Layout, middle: tuple[int, ...], sides: Collection[Side]) -> dict[Side, AnyArray]:
    """Return arrays for the halo of a field [lat][block][middle...][W]: two rows, or one block of each row."""
    lanes = (*middle, layout.width)
    shapes = dict.fromkeys(("south", "north"), (REACH, layout.blocks)) | dict.fromkeys(("west", "east"), (layout.rows,))
    return {side: layout.empty(*shapes[side], *lanes) for side in sides}


def fetch(halo_exchange: HaloExchange | None, field: AnyArray, edges: Mapping[Side, AnyArray]) -> None:
    """Fill the halo with the edges of neighbours, and send them the same edges of a packed field."""
    outgoing: dict[Side, AnyArray] = {}
    for side, edge in edges.items():
        if side in ("south", "north"):
            outgoing[side] = field[: len(edge)] if side == "south" else field[-len(edge) :]
        else:
            outgoing[side] = field[:, 0] if side == "west" else field[:, -1]
    if halo_exchange is not None and outgoing:
        halo_exchange(outgoing, edges)


class BlockingNeighbours:
    """Neighbours with a blocking halo exchange; satisfies ``kernels.step.arguments.Neighbours``."""

    def __init__(self, layout: Layout, middle: tuple[int, int], halo_exchange: HaloExchange) -> None:
        self.sides, self._halo_exchange = sides_of(halo_exchange), halo_exchange
        self._edges = empty_edges(layout, middle, self.sides)

    def start(self, q: AnyArray) -> Mapping[Side, AnyArray]:
        """Exchange the edges of the mixing ratios."""
        fetch(self._halo_exchange, q, self._edges)
        return self._edges

    def arrived(self) -> bool:
        """Return True: the exchange is complete when :meth:`start` returns."""
        return True

    def close(self) -> None:
        """Do nothing: there are no resources to release."""
