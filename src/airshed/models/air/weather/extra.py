"""Fields of the weather that only some processes need: declared by name, and read where they are asked for."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray

from airshed.core.errors import DataError
from airshed.grid import Grid

if TYPE_CHECKING:
    from airshed.models.air.weather.state import MetState

Array = NDArray[np.float64]
Place = Literal["cells", "layer_faces", "surface"]


@dataclass(frozen=True)
class WeatherField:
    """A field that a process asks the meteorology for.

    name     by which the state holds it
    cf_name  that of the variable of a Dataset
    unit     of both;  low, high  the range of its values there
    place    "cells" (nz, nlat, nlon), "layer_faces" (nz + 1, nlat, nlon) or "surface" (nlat, nlon)
    text     what it is, for documents
    era5     its name in ERA5 files, where the model can read it from them
    """

    name: str
    cf_name: str
    unit: str
    low: float
    high: float
    place: Place = "cells"
    text: str = ""
    era5: str = ""

    def shape(self, grid: Grid) -> tuple[int, ...]:
        """Return its shape on a grid."""
        nz, nlat, nlon = grid.shape
        return {"cells": (nz, nlat, nlon), "layer_faces": (nz + 1, nlat, nlon), "surface": (nlat, nlon)}[self.place]

    def of(self, state: "MetState", grid: Grid, process: str) -> Array:
        """Return it from a state for a process; raises DataError where it is not there or has another shape."""
        value = state.extra.get(self.name)
        if value is None:
            era5 = f", or {self.era5} in the ERA5 files" if self.era5 else ""
            raise DataError(
                f"{process} needs {self.name} [{self.unit}], which the meteorology does not hold; give "
                f"{self.cf_name} in a Dataset{era5}, or switch {process} off"
            )
        if value.shape != self.shape(grid):
            raise DataError(f"the meteorology: {self.name} has shape {value.shape}, the grid needs {self.shape(grid)}")
        return value


CLOUD_WATER: Final = WeatherField(
    "cloud_water", "mass_fraction_of_cloud_liquid_water_in_air", "kg kg-1", -1e-6, 0.05,
    text="Liquid water of clouds, mean over the cell", era5="clwc",
)  # fmt: skip
UPDRAUGHT: Final = WeatherField(
    "updraught_mass_flux", "atmosphere_updraft_convective_mass_flux", "kg m-2 s-1", -1e-6, 10.0, "layer_faces",
    "Air that convection carries up through a face, over the area of the cell",
)  # fmt: skip
DOWNDRAUGHT: Final = WeatherField(
    "downdraught_mass_flux", "atmosphere_downdraft_convective_mass_flux", "kg m-2 s-1", -1e-6, 10.0, "layer_faces",
    "Air that convection carries down through a face, positive downwards",
)  # fmt: skip
UPDRAUGHT_DETRAINMENT: Final = WeatherField(
    "updraught_detrainment", "updraft_detrainment_rate", "kg m-3 s-1", -1e-9, 1.0,
    text="Air that updraughts leave in a layer, per volume",
)  # fmt: skip
DOWNDRAUGHT_DETRAINMENT: Final = WeatherField(
    "downdraught_detrainment", "downdraft_detrainment_rate", "kg m-3 s-1", -1e-9, 1.0,
    text="Air that downdraughts leave in a layer, per volume",
)  # fmt: skip

KNOWN: Final = (CLOUD_WATER, UPDRAUGHT, DOWNDRAUGHT, UPDRAUGHT_DETRAINMENT, DOWNDRAUGHT_DETRAINMENT)
"""The fields that processes of the model ask for; a user's own process declares others."""


@dataclass(frozen=True)
class WeatherNeeds:
    """What processes want of the weather besides what every state holds.

    fields  that are read where the data has them
    margin  columns on each side of a rank's own ones that states hold too
    """

    fields: tuple[WeatherField, ...] = ()
    margin: int = 0

    @classmethod
    def together(cls, several: Iterable["WeatherNeeds"]) -> Self:
        """Return all that several want; raises DataError for two fields of one name that differ."""
        fields: dict[str, WeatherField] = {}
        margin = 0
        for needs in several:
            margin = max(margin, needs.margin)
            for field in needs.fields:
                if fields.setdefault(field.name, field) != field:
                    raise DataError(f"two processes declare the weather field {field.name} differently; rename one")
        return cls(tuple(fields.values()), margin)


def extra_provenance(fields: Iterable[WeatherField], present: Mapping[str, str]) -> dict[str, str]:
    """Return where each field comes from: what ``present`` says by its name, or that there is none."""
    return {field.name: present.get(field.name, "none given") for field in fields}


NO_EXTRA: Final[Mapping[str, Array]] = MappingProxyType({})
