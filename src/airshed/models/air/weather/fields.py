"""Fields of the weather: those that processes request, and where each comes from."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Literal, Self

import numpy as np
from numpy.typing import NDArray

from airshed.core.errors import DataError
from airshed.grid import Grid

if TYPE_CHECKING:
    import xarray as xr

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


CF_FIELDS: Mapping[str, str] = {
    "eastward_wind": "eastward_air_flux",
    "northward_wind": "northward_air_flux",
    "air_temperature": "temperature",
    "air_pressure": "pressure",
    "specific_humidity": "water_vapour",
    "surface_air_pressure": "surface_pressure",
    "surface_temperature": "surface_temperature",
    "atmosphere_heat_diffusivity": "diffusivity",
    "atmosphere_boundary_layer_thickness": "boundary_layer_height",
    "cloud_area_fraction": "cloud_cover",
    "precipitation_flux": "precipitation",
    "friction_velocity": "friction_velocity",
    "obukhov_length": "obukhov_length",
    "surface_upward_sensible_heat_flux": "sensible heat flux",
    "surface_downwelling_shortwave_flux_in_air": "solar radiation",
}
"""CF name in a Dataset -> field of the state, or the quantity that the diagnosis uses."""

ERA5_FIELDS: Mapping[str, str] = {
    "u": "eastward_air_flux",
    "v": "northward_air_flux",
    "t": "temperature",
    "q": "water_vapour",
    "sp": "surface_pressure",
    "lnsp": "surface_pressure",
    "zs": "height of the ground",
    "z": "heights of the levels",
    "t2m": "surface_temperature",
    "u10": "eastward wind at 10 m",
    "v10": "northward wind at 10 m",
    "blh": "boundary_layer_height",
    "zust": "friction_velocity",
    "tcc": "cloud_cover",
    "cc": "cloud of levels",
    "tp": "precipitation",
    "e": "evaporation",
    "ssrd": "solar radiation",
    "sshf": "sensible heat flux",
    "lsm": "land and sea",
}
"""ERA5 name -> field of the state, or the quantity that the diagnosis uses."""

TEMPERATURE = (
    "diagnosed: date and latitude (Collins & Langley 1999), humidity (77 %, Manabe & Wetherald 1967), hour; 6.5 K/km"
)
TEMPERATURE_OF_HEIGHT = "diagnosed: from the geopotential between levels (hypsometric)"

DIAGNOSED: Mapping[str, str] = {
    "cloud_cover": "diagnosed: from relative humidity (Sundqvist et al. 1989), maximum-random overlap",
    "friction_velocity": "diagnosed: log law with Businger-Dyer stability by day, Venkatram 1980 by night",
    "obukhov_length": "diagnosed: from friction velocity and heat flux",
    "sensible heat flux": "diagnosed: energy of the ground (Holtslag & van Ulden 1983), by night theta* of "
    "van Ulden & Holtslag 1985; 0 over sea",
    "solar radiation": "diagnosed: solar elevation and cloud (Holtslag & van Ulden 1983)",
    "diffusivity": "diagnosed: K-profile (Troen & Mahrt 1986), above it Holtslag & Boville 1993",
    "surface_temperature": "diagnosed: temperature of the lowest layer",
}

RICHARDSON = "diagnosed: bulk Richardson number 0.25 (Vogelezang & Holtslag 1996), at least 100 m"
ENCROACHMENT = "diagnosed: heat since the morning (Tennekes 1973), friction (Zilitinkevich et al. 2007), at least 100 m"
STANDARD_HUMIDITY = "diagnosed: relative humidity of Manabe & Wetherald 1967"
CONTINUITY = "diagnosed: continuity of air in the model"


def height_rule(temperature_read: bool) -> str:
    """Return how the height of the boundary layer is diagnosed."""
    return RICHARDSON if temperature_read else ENCROACHMENT


def dataset_provenance(
    used: Iterable[str], present: Iterable[str], extra: Sequence[WeatherField] = ()
) -> dict[str, str]:
    """Return the provenance of each quantity for a Dataset with CF names; ``extra`` is what processes ask for."""
    names = set(used)
    asked = {each.name: f"given: {each.cf_name}" for each in extra if each.cf_name in names}
    given = {field: f"given: {name}" for name, field in CF_FIELDS.items() if name in names}
    result = {
        "temperature": "diagnosed: standard atmosphere (ISO 2533)",
        "pressure": "diagnosed: hydrostatic, 1013.25 hPa at the ground"
        if "temperature" in given
        else "diagnosed: standard atmosphere (ISO 2533)",
        "water_vapour": STANDARD_HUMIDITY,
        "surface_pressure": "diagnosed: hydrostatic, from the lowest layer",
        "precipitation": "none given: 0",
        "boundary_layer_height": height_rule("temperature" in given),
        **DIAGNOSED,
        "air_density": "diagnosed: p / (R T)",
        "vertical air flux": CONTINUITY,
        **given,
    }
    unused = sorted(set(present) - set(CF_FIELDS) - names)
    return {**result, **extra_provenance(extra, asked), **dict.fromkeys(unused, "given, not used")}


def era5_provenance(
    dataset: "xr.Dataset",
    held: bool,
    extra: Sequence[WeatherField] = (),
    of_sums: Callable[[str], str] = lambda name: "",
) -> dict[str, str]:
    """Return the provenance of each quantity for fields of ERA5.

    extra    fields that processes ask for
    of_sums  returns over what the sums of a field are
    """
    names = set(map(str, dataset.data_vars))
    meanings = {**ERA5_FIELDS, **{each.era5: each.name for each in extra if each.era5}}
    result = {
        "temperature": TEMPERATURE_OF_HEIGHT if "z" in names else TEMPERATURE,
        "water_vapour": STANDARD_HUMIDITY,
        "surface_pressure": "diagnosed: pressure at the ground's geopotential"
        if "zs" in names
        else "diagnosed: pressure at sea level, from geopotential",
        "precipitation": "not in the files: 0",
        "boundary_layer_height": height_rule(bool(names & {"t", "z"})),
        **DIAGNOSED,
        "pressure": "diagnosed: hydrostatic (hypsometric heights of the levels)",
        "air_density": "diagnosed: hydrostatic, from pressure, temperature and humidity",
        "vertical air flux": CONTINUITY,
        **extra_provenance(extra, {}),
    }
    for name in sorted(names & set(meanings)):
        about = [text for text in (dataset[name].attrs.get("converted"), of_sums(name)) if text]
        told = f" ({'; '.join(about)})" if about else ""
        result[meanings[name]] = f"read: {name} from {dataset[name].attrs['file']}{told}"
    if held:
        result["last interval"] = f"held: the data ends at {str(dataset['time'].values[-1])[:16]}"
    for name in sorted({*dataset.attrs.get("unused", ()), *(names - set(meanings))}):
        result[name] = "in the files, not used"
    return result
