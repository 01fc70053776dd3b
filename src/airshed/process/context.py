"""Context of a process: the parts of the case that it may read, and the protocol of its sources."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

import numpy as np

from airshed.core.arrays import Array
from airshed.grid import Grid
from airshed.grid.window import Window

MARGIN: Final = 2
"""Largest margin of columns whose weather a process may read."""


@dataclass(frozen=True)
class ProcessContext:
    """The case and the part of its grid in which processes act.

    species        names, in the order of the mechanism;  molar_masses  [kg/mol] of species with known composition
    grid           the columns of this rank;  whole  the grid of the case
    land_fraction  (lat, lon) of the columns of this rank
    sun_height     function of time [s]: cosine of the solar zenith angle (lat, lon)
    start          of the case, UTC
    weather_levels number of levels of a weather field, by name: of cells, of faces, or one
    around         grid of the columns of this rank with a margin, within the area of the case
    inside         window of the columns of this rank in `around`
    provided       objects that the model provides, by type, see :func:`airshed.process.kinds.need`
    files          function that returns the files of the case for patterns; its second argument is the key for messages
    length         of the case [s]; infinite if unknown
    total          function that sums (..., lat, lon) over the columns of all ranks; all ranks must call it
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
    length: float = inf

    def offers(self, name: str, seconds: float) -> Array | float:
        """Return an input of :data:`airshed.process.kinds.OFFERED` by name, at a time [s]."""
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
    """Emission source in the columns of this rank, such as vegetation, a file or a single stack.

    A source that covers the whole grid also has a method `part(window)`, which returns the source of the cells in a
    window.
    """

    @property
    def species(self) -> tuple[str, ...]:
        """The species that the source emits, in the order of the first axis of :meth:`rate`."""
        ...

    @property
    def levels(self) -> int:
        """The number of lowest model layers that receive emission."""
        ...

    def rate(self, seconds: float) -> Array:
        """Emission [mol/s per cell], shape (species, levels, lat, lon), constant in each hour UTC or between `changes`.

        seconds: since the start of the case; negative before it. The caller must not write to the array.
        """
        ...

    @property
    def changes(self) -> Sequence[float]:
        """The times [s], ascending, at which the emission changes in addition to the full hours UTC."""
        ...
