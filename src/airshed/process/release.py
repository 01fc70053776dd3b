"""What a process brings into the air: amounts that are known before, constant in each period."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from numpy import float64
from numpy.typing import NDArray

from airshed.grid.window import Window


@runtime_checkable
class Source(Protocol):
    """Something that emits in the columns held here: vegetation, a file, a single stack all look like this."""

    @property
    def species(self) -> tuple[str, ...]:
        """The model species that this source emits, in the order of the first axis of :meth:`rate`."""
        ...

    @property
    def levels(self) -> int:
        """The number of lowest model layers that receive emission."""
        ...

    def rate(self, seconds: float) -> NDArray[float64]:
        """Emission [mol/s per cell], shape (species, levels, lat, lon), constant in the hour UTC or between `changes`.

        ``seconds`` counts from the start of the case; before it is negative. The caller must not write to the array.
        """
        ...

    @property
    def changes(self) -> Sequence[float]:
        """The rising times [s] at which the emission changes beside the full hours UTC."""
        ...


@runtime_checkable
class SourceOfAll(Source, Protocol):
    """A source that knows its emission in every cell of the whole grid."""

    def part(self, window: Window) -> Source:
        """The emission of a window's cells."""
        ...
