"""Coordinates of a model's domain as shown in results: any dimensions, some of which are divided among ranks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from airshed.core.arrays import Array
from airshed.core.errors import CaseError
from airshed.grid.box import Box

Attributes = Mapping[str, str | float | tuple[float, ...]]
"""Attributes of a variable of a file."""

GRID_MAPPING: Final = "projection"
"""Name of the variable of files that holds the attributes of a map projection."""


@dataclass(frozen=True, eq=False)
class Coordinate:
    """Coordinate along a dimension, or an auxiliary one such as the latitude of a point.

    values      as many as cells along its dimensions
    attributes  CF attributes: units, long_name, standard_name, axis, positive ...
    bounds      (cells, 2), where cells along one dimension have an extent
    dims        dimensions if they differ from the name: ("cell",) of packed cells, ("y", "x") of a projected grid
    """

    name: str
    values: Array
    attributes: Mapping[str, str]
    bounds: Array | None = None
    dims: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "dims", self.dims or (self.name,))

    @property
    def auxiliary(self) -> bool:
        """Return whether this is an auxiliary coordinate, without a dimension of its name."""
        return self.dims != (self.name,)


@dataclass(frozen=True, eq=False)
class Axes:
    """Dimensions of a domain in the order of fields, each with a coordinate of the same name.

    divided  dimensions that ranks divide: the last ones, common to all fields; empty if the domain has no space or
             cannot be divided
    mapping  CF attributes of the map projection of the divided dimensions; empty for longitude and latitude
    raises   CaseError for a dimension without a coordinate, or divided dimensions that are not the last
    """

    coordinates: Sequence[Coordinate] = ()
    divided: tuple[str, ...] = field(default=())
    mapping: Attributes = field(default_factory=dict)

    def __post_init__(self) -> None:
        strange = sorted({dim for each in self.coordinates for dim in each.dims} - set(self.dims))
        if strange:
            raise CaseError(f"the dimension {strange[0]} has no coordinate of its name; give one")
        if self.dims[len(self.dims) - len(self.divided) :] != self.divided:
            raise CaseError(f"ranks divide {self.divided}, which must be the last of the dimensions {self.dims}")

    @cached_property
    def dims(self) -> tuple[str, ...]:
        """Names of the dimensions."""
        return tuple(each.name for each in self.coordinates if not each.auxiliary)

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """Number of cells along each dimension."""
        return {each.name: len(each.values) for each in self.coordinates if not each.auxiliary}

    @cached_property
    def whole(self) -> Box:
        """Box of all cells along the divided dimensions."""
        return Box.whole(*(self.sizes[dim] for dim in self.divided))

    def dataset_coords(self, *dims: str) -> dict[str, Any]:
        """Return the coordinates on the given dimensions, or all of them, in the form that xarray accepts."""
        wanted = set(dims or self.dims)
        found = [each for each in self.coordinates if wanted.issuperset(each.dims)]
        coords: dict[str, Any] = {each.name: (each.dims, each.values, dict(each.attributes)) for each in found}
        if self.mapping and wanted >= {*self.divided}:
            coords[GRID_MAPPING] = ((), 0, dict(self.mapping))
        return coords

    def check_dims(self, name: str, dims: tuple[str, ...]) -> None:
        """Raise CaseError unless a field's dimensions are a subset of these, in order, with all divided ones."""
        if dims != tuple(dim for dim in self.dims if dim in dims):
            raise CaseError(f"field {name} has dimensions {dims}; they must be among {self.dims}, in this order")
        if dims[len(dims) - len(self.divided) :] != self.divided:
            raise CaseError(f"field {name} has dimensions {dims}; it must have {self.divided}, which ranks divide")
