"""The coordinates of a model's domain, as results show them: any dimensions, some of which ranks divide."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from airshed.core.arrays import Array
from airshed.core.errors import CaseError
from airshed.grid.box import Box


@dataclass(frozen=True, eq=False)
class Coordinate:
    """Places along a dimension, or something else that each cell has, such as the latitude of a point.

    values      as many as there are cells along its dimensions
    attributes  by the CF conventions: units, long_name, standard_name, axis, positive ...
    bounds      (cells, 2), where cells along one dimension have an extent
    dims        where they are not the one of its name: ("cell",) of packed cells, ("y", "x") of a projected grid
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
        """Whether it is no dimension itself."""
        return self.dims != (self.name,)


@dataclass(frozen=True, eq=False)
class Axes:
    """The dimensions of a domain in the order that fields have them, each with a coordinate of its name.

    divided  dimensions that ranks divide: the last ones, which every field has; none where a domain has no space, or
             none that could be divided
    raises   CaseError for dimensions without a coordinate, or divided ones that are not the last
    """

    coordinates: Sequence[Coordinate] = ()
    divided: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        strange = sorted({dim for each in self.coordinates for dim in each.dims} - set(self.dims))
        if strange:
            raise CaseError(f"the dimension {strange[0]} has no coordinate of its name; give one")
        if self.dims[len(self.dims) - len(self.divided) :] != self.divided:
            raise CaseError(f"ranks divide {self.divided}, which must be the last of the dimensions {self.dims}")

    @cached_property
    def dims(self) -> tuple[str, ...]:
        """The names of the dimensions."""
        return tuple(each.name for each in self.coordinates if not each.auxiliary)

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """The number of cells along each dimension."""
        return {each.name: len(each.values) for each in self.coordinates if not each.auxiliary}

    @cached_property
    def whole(self) -> Box:
        """The box of all cells along the divided dimensions."""
        return Box.whole(*(self.sizes[dim] for dim in self.divided))

    def dataset_coords(self, *dims: str) -> dict[str, tuple[tuple[str, ...], Array, Mapping[str, str]]]:
        """Return the coordinates on some dimensions, all without any, as xarray takes them."""
        wanted = set(dims or self.dims)
        found = [each for each in self.coordinates if wanted.issuperset(each.dims)]
        return {each.name: (each.dims, each.values, dict(each.attributes)) for each in found}

    def check_dims(self, name: str, dims: tuple[str, ...]) -> None:
        """Raise CaseError for a field's dimensions that are not of these, in this order, with all divided ones."""
        if dims != tuple(dim for dim in self.dims if dim in dims):
            raise CaseError(f"field {name} has dimensions {dims}; they must be among {self.dims}, in this order")
        if dims[len(dims) - len(self.divided) :] != self.divided:
            raise CaseError(f"field {name} has dimensions {dims}; it must have {self.divided}, which ranks divide")
