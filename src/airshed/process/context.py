"""What a process is given of the case in which it acts; sources that it returns."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

import numpy as np

from airshed.core.arrays import Array
from airshed.grid import Grid
from airshed.grid.window import Window

MARGIN: Final = 2
"""Most columns around its own whose weather a process reads."""


@dataclass(frozen=True)
class ProcessContext:
    """The case and the part of its grid in which processes act.

    species        names, in the order of the mechanism;  molar_masses  [kg/mol] of those whose composition is known
    grid           the columns held here;  whole  the grid of the case
    land_fraction  (lat, lon) of the columns held here
    sun_height     cosine of the sun's zenith angle (lat, lon) at a time [s]
    start          of the case, UTC
    weather_levels how many levels a field of the weather has, by name: those of cells, of faces, or one
    around, inside the columns held here with those around them, as far as the case reaches; and the window in these of
                   the columns held here
    provided       what the model provides for needs of processes, by type, see :func:`airshed.process.kinds.need`
    files          the files of the case that patterns under a key name
    total          sums of (..., lat, lon) over the columns of all ranks, which ask together
    """

    species: tuple[str, ...]
    grid: Grid
    whole: Grid
    land_fraction: Array
    sun_height: Callable[[float], Array]
    start: np.datetime64
    weather_levels: Mapping[str, int]
    around: Grid
    inside: Window
    molar_masses: Mapping[str, float | None] = field(default_factory=dict)
    provided: Mapping[type, object] = field(default_factory=dict)
    files: Callable[[Iterable[str], str], list[Path]] = lambda patterns, key: []
    total: Callable[[Array], Array] = lambda columns: np.asarray(columns.sum(axis=(-2, -1)))

    def offers(self, name: str, seconds: float) -> Array | float:
        """Return what :data:`airshed.process.kinds.OFFERED` names, at a time [s]."""
        match name:
            case "land_fraction":
                return self.land_fraction[None]
            case "cell_area":
                return np.broadcast_to(self.grid.cell_area, self.grid.shape[1:])[None]
            case "layer_thickness":
                return self.grid.thickness[:, None, None]
            case "sun_height":
                return self.sun_height(seconds)[None]
        return seconds


@runtime_checkable
class Source(Protocol):
    """Something that emits in the columns held here: vegetation, a file, a single stack all look like this.

    One that has the emission of every cell of the whole grid has a method `part(window)` too, which returns the source
    of a window's cells.
    """

    @property
    def species(self) -> tuple[str, ...]:
        """The model species that this source emits, in the order of the first axis of :meth:`rate`."""
        ...

    @property
    def levels(self) -> int:
        """The number of lowest model layers that receive emission."""
        ...

    def rate(self, seconds: float) -> Array:
        """Emission [mol/s per cell], shape (species, levels, lat, lon), constant in the hour UTC or between `changes`.

        ``seconds`` counts from the start of the case; before it is negative. The caller must not write to the array.
        """
        ...

    @property
    def changes(self) -> Sequence[float]:
        """The rising times [s] at which the emission changes beside the full hours UTC."""
        ...
