"""The difference of two runs of one grid, field by field, as pictures show it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import xarray as xr

from airshed.core.arrays import Array
from airshed.core.errors import DataError
from airshed.plot.limits import Scale, scale_around_zero
from airshed.plot.results import Quantity, Results
from airshed.plot.style import SIGNED


class Difference(Results):
    """The fields of a run minus those of a reference, at the times that both have."""

    def __init__(self, dataset: xr.Dataset, path: Path, reference: xr.Dataset, reference_path: Path) -> None:
        """Raise DataError where the runs have other cells, or no time in common."""
        times = np.intersect1d(dataset["time"].values, reference["time"].values)
        if times.size == 0:
            raise DataError(f"{path} and {reference_path} have no time in common; run both over one period")
        super().__init__(dataset.sel(time=times), path)
        self._reference = Results(reference.sel(time=times), reference_path)
        own, other = self.cells, self._reference.cells
        if own.mapping != other.mapping:
            raise DataError(f"{path} and {reference_path} have different map projections; run both on one grid")
        axes = ("values of y", "values of x") if own.is_projected else ("latitudes", "longitudes")
        for axis, lines in zip(axes, ((own.y, other.y), (own.x, other.x)), strict=True):
            if not np.array_equal(*lines):
                raise DataError(f"{path} and {reference_path} have cells at other {axis}; run both on one grid")

    @property
    def is_difference(self) -> bool:
        """Return True."""
        return True

    @property
    def fields(self) -> list[str]:
        """Return the names of the fields that both runs have."""
        return [name for name in super().fields if name in self._reference.fields]

    def quantity(self, name: str) -> Quantity:
        """Return how to show the difference of a field."""
        own = super().quantity(name)
        names = f"{_name(self.path)} minus {_name(self._reference.path)}"
        return replace(own, title=f"{own.title}: {names}", short=f"Δ {own.short}")

    def ground(self, name: str) -> Array:
        """Return the difference at the lowest level, (time, lat, lon), in the unit of `quantity`."""
        return np.asarray(super().ground(name) - self._in_unit(name) * self._reference.ground(name))

    def section(self, name: str, row: int, times: Sequence[int]) -> Array:
        """Return the difference along one row of cells, (time, level, lon), in the unit of `quantity`."""
        return np.asarray(
            super().section(name, row, times) - self._in_unit(name) * self._reference.section(name, row, times)
        )

    def layer(self, name: str) -> int:
        """Return the layer of a field that maps show, the lowest one unless both runs show another."""
        both = {super().layer(name), self._reference.layer(name)}
        self._layers[name] = self._reference._layers[name] = both.pop() if len(both) == 1 else 0
        return self._layers[name]

    def wind(self, time: int, layer: int = 0) -> None:
        """Return None: a difference has no arrows."""
        return

    def palette(self, name: str) -> str:
        """Return the colours of values on both sides of zero."""
        return SIGNED

    def scale(self, values: Array) -> Scale:
        """Return a scale around zero."""
        return scale_around_zero(values)

    def _in_unit(self, name: str) -> float:
        """Return the factor from the unit of the reference to that of this run."""
        return self._unit(name).factor / self._reference._unit(name).factor


def _name(path: Path) -> str:
    return path.name if path.is_dir() else path.stem
