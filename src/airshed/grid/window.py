"""Rectangle of a grid's columns: the part of the whole grid that a rank holds or reads."""

from dataclasses import dataclass
from typing import Self, TypeVar

import numpy as np
import numpy.typing as npt

from airshed.grid.box import Box

T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True)
class Window:
    """Rows south <= j < north and columns west <= i < east of a grid."""

    south: int
    north: int
    west: int
    east: int

    @classmethod
    def whole(cls, rows: int, columns: int) -> Self:
        """Return the window of the whole grid."""
        return cls(0, rows, 0, columns)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and columns."""
        return self.north - self.south, self.east - self.west

    @property
    def box(self) -> Box:
        """The same cells as a box along latitude and longitude."""
        return Box(((self.south, self.north), (self.west, self.east)))

    @property
    def rows(self) -> slice:
        """Slice of the rows."""
        return slice(self.south, self.north)

    @property
    def columns(self) -> slice:
        """Slice of the columns."""
        return slice(self.west, self.east)

    def of(self, field: npt.NDArray[T]) -> npt.NDArray[T]:
        """Return the part of a field (..., lat, lon) in the window, as a view."""
        return field[..., self.rows, self.columns]

    def of_faces(self, field: npt.NDArray[T], axis: str) -> npt.NDArray[T]:
        """Return the faces of the window's cells from a field (..., lat, lon + 1) or (..., lat + 1, lon).

        axis  "x" for west and east faces, "y" for south and north faces
        """
        rows = slice(self.south, self.north + (axis == "y"))
        columns = slice(self.west, self.east + (axis == "x"))
        return field[..., rows, columns]

    def grown(self, cells: int, rows: int, columns: int) -> "Window":
        """Return the window extended by so many cells on each side, limited to the grid of rows x columns."""
        return Window(
            max(self.south - cells, 0), min(self.north + cells, rows),
            max(self.west - cells, 0), min(self.east + cells, columns),
        )  # fmt: skip

    def within(self, outer: "Window") -> "Window":
        """Return the same cells, numbered relative to an outer window that contains them."""
        return Window(
            self.south - outer.south, self.north - outer.south, self.west - outer.west, self.east - outer.west
        )
