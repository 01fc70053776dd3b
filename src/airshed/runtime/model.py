"""What a run asks of a model beside its steps: who holds what of which grid, its fields, and where its time went."""

from collections.abc import Collection, Mapping, Sequence
from typing import Literal, Protocol

from airshed.core.protocols import Model
from airshed.fields.spec import FieldRegistry, FieldSpec
from airshed.grid import Grid
from airshed.parallel.share import Share


class GriddedModel(Model, Protocol):
    """A model of fields on columns that ranks share; steps, records, restarts and wall times see it only like this."""

    @property
    def share(self) -> Share:
        """The ranks, and the columns that this one holds; :meth:`value` and :meth:`view` give fields of those."""
        ...

    @property
    def whole(self) -> Grid:
        """The grid of all ranks together."""
        ...

    @property
    def registry(self) -> FieldRegistry:
        """The fields that can be asked for, with their dimensions and units."""
        ...

    def output_fields(self, names: Sequence[str] | Literal["all"]) -> tuple[FieldSpec, ...]:
        """The fields of an output that names some, or all, with those that go with every output."""
        ...

    @property
    def attributes(self) -> Mapping[str, str]:
        """What results must say of the input, such as the licences of data."""
        ...

    def wall(self) -> dict[str, float]:
        """Wall time [s] of the parts of all steps so far; what threads share as their mean."""
        ...

    @property
    def waiting(self) -> Collection[str]:
        """The parts of :meth:`wall` in which a rank does not compute."""
        ...

    def wall_notes(self) -> list[str]:
        """What there is to say of these times; all ranks ask together."""
        ...
