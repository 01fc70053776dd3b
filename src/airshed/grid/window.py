"""A rectangle of a grid's columns: what one of several ranks holds, or reads, of the whole."""

from dataclasses import dataclass
from typing import Self, TypeVar

import numpy as np
import numpy.typing as npt

from airshed.grid.box import Box

T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True)
class Window:
    """Rows south <= j < north and columns west <= i < east of a grid, by their numbers."""

    south: int
    north: int
    west: int
    east: int

    @classmethod
    def whole(cls, rows: int, columns: int) -> Self:
        """Return the window that is the whole grid."""
        return cls(0, rows, 0, columns)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and columns."""
        return self.north - self.south, self.east - self.west

    @property
    def box(self) -> Box:
        """The same cells as a box along latitude and longitude."""
        return Box(((self.south, self.north), (self.west, self.east)))

    @property
    def rows(self) -> slice:
        """The rows."""
        return slice(self.south, self.north)

    @property
    def columns(self) -> slice:
        """The columns."""
        return slice(self.west, self.east)

    def of(self, field: npt.NDArray[T]) -> npt.NDArray[T]:
        """Return the part of a field (..., lat, lon) of cells that lies in the window: a view."""
        return field[..., self.rows, self.columns]

    def of_faces(self, field: npt.NDArray[T], axis: str) -> npt.NDArray[T]:
        """Return the faces of the window's cells, those of a field (..., lat, lon + 1) or (..., lat + 1, lon).

        axis  "x" for west and east faces, "y" for south and north faces
        """
        rows = slice(self.south, self.north + (axis == "y"))
        columns = slice(self.west, self.east + (axis == "x"))
        return field[..., rows, columns]

    def grown(self, cells: int, rows: int, columns: int) -> "Window":
        """Return the window with so many more cells on each side, as far as the grid of rows x columns reaches."""
        return Window(
            max(self.south - cells, 0), min(self.north + cells, rows),
            max(self.west - cells, 0), min(self.east + cells, columns),
        )  # fmt: skip

    def within(self, outer: "Window") -> "Window":
        """Return the same cells by their numbers in an outer window that holds them."""
        return Window(
            self.south - outer.south, self.north - outer.south, self.west - outer.west, self.east - outer.west
        )
