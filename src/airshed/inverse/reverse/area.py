"""Conversion between fields of the whole area and the packed columns of a rank."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from airshed.core import exact_sum
from airshed.core.arrays import Array
from airshed.core.exact_sum import Sums
from airshed.kernels.backend import StepKernel
from airshed.kernels.boundary import BlockingNeighbours, FaceCells, PackedBoundary, empty_sides
from airshed.kernels.host import AnyArray
from airshed.kernels.layout import Layout, Padding
from airshed.kernels.step.arguments import HaloExchange, Neighbours
from airshed.models.air.model import AirModel
from airshed.parallel.domain import Subdomain
from airshed.parallel.halo import edge_exchange


@dataclass(frozen=True)
class Area:
    """Area of a model; all ranks call its methods together.

    layout         layout of the columns of this rank
    halo_exchange  halo exchange with neighbouring ranks, None for a single rank
    """

    layout: Layout
    subdomain: Subdomain
    sums: Sums
    halo_exchange: HaloExchange | None

    @classmethod
    def of(cls, model: AirModel) -> "Area":
        """Return the area of a model."""
        return cls(model.layout, model.subdomain, model.kernel.sums, edge_exchange(model.subdomain))

    @classmethod
    def single_rank(cls, layout: Layout) -> "Area":
        """Return an area on a single rank."""
        return cls(layout, Subdomain.of(layout.rows, layout.columns, layout.width), exact_sum, None)

    def whole(self, packed: AnyArray) -> Array:
        """Return a packed field of cells or faces as (..., lat, lon) of the whole area, on every rank."""
        return self.joined(self.layout.unpack(packed))

    def joined(self, own: Array) -> Array:
        """Return the field of the whole area from the cells or faces of all ranks (..., lat, lon), on every rank.

        A face between two ranks has the value of the rank to the north or east of it.
        """
        layout, subdomain = self.layout, self.subdomain
        if subdomain.alone:
            return own
        decomposition = subdomain.decomposition
        north, east = own.shape[-2] - layout.rows, own.shape[-1] - layout.columns
        result = np.empty((*own.shape[:-2], decomposition.rows + north, decomposition.columns + east), own.dtype)
        parts = subdomain.ranks.gather_all(own)
        for tile, part in zip(decomposition.tiles(), parts, strict=True):  # from the south-west on
            window = tile.window
            result[..., window.south : window.north + north, window.west : window.east + east] = part
        return result

    @property
    def face_cells(self) -> FaceCells:
        """Face cells of the whole area."""
        return FaceCells(self.subdomain.decomposition.rows, self.subdomain.decomposition.columns)

    def around(self, own: Array) -> Array:
        """Return values along the lateral faces of the whole area from those of all ranks (..., face cell)."""
        return self.subdomain.whole_faces(own)

    def own_boundary(self, field: Array, like: PackedBoundary) -> PackedBoundary:
        """Return the part of a field (species, level, face cell) along the sides of this rank, packed."""
        window = self.subdomain.window
        part = self.face_cells.part(field, window.rows, window.columns)
        return PackedBoundary.of(self.layout, part, like.seconds, tuple(like.sides))

    def whole_boundary(self, packed: PackedBoundary, levels: int) -> Array:
        """Return packed boundary concentrations as a field of the whole area (species, level, face cell)."""
        count = packed.count if packed.sides else 0
        sides = empty_sides(self.layout, int(self.subdomain.greatest(float(count))), levels)
        return self.around(PackedBoundary({**sides, **packed.sides}).unpacked(self.layout))

    def own(self, field: Array, *, padding: Padding = "edge") -> AnyArray:
        """Return the columns of this rank of a field (..., lat, lon) of cells or faces, packed."""
        window, whole = self.subdomain.window, self.subdomain.decomposition
        north, east = field.shape[-2] - whole.rows, field.shape[-1] - whole.columns
        part = field[..., window.south : window.north + north, window.west : window.east + east]
        return self.layout.pack(part, padding=padding)

    def neighbours(self, kernel: StepKernel) -> Neighbours | None:
        """Return the halo exchange for a stepper of this area; None if it has no neighbours."""
        if self.halo_exchange is None or not kernel.shape.horizontal:
            return None
        return BlockingNeighbours(self.layout, (len(kernel.network.species), kernel.shape.levels), self.halo_exchange)

    def total(self, by_column: npt.NDArray[Any]) -> Array:
        """Return the sums over [lat][block] of all ranks; the bits do not depend on the number of ranks."""
        flat = by_column.reshape(by_column.shape[0] * by_column.shape[1], *by_column.shape[2:])
        return self.subdomain.total(flat, self.sums)
