"""The names that ERA5 files use, and the values that their fields can take."""

from collections.abc import Mapping
from typing import NamedTuple


class Field(NamedTuple):
    """A field of ERA5: what it is called, and the range [SI units of ERA5] that its values lie in."""

    aliases: tuple[str, ...]
    low: float
    high: float


FIELDS: Mapping[str, Field] = {
    "u": Field(("u", "u_component_of_wind", "var131"), -150.0, 150.0),
    "v": Field(("v", "v_component_of_wind", "var132"), -150.0, 150.0),
    "t": Field(("t", "temperature", "var130"), 150.0, 350.0),
    "q": Field(("q", "specific_humidity", "var133"), -0.001, 0.1),
    "z": Field(("z", "geopotential", "var129"), -2e4, 8e5),
    "cc": Field(("cc", "fraction_of_cloud_cover"), -0.01, 1.01),
    "sp": Field(("sp", "surface_pressure", "var134"), 30e3, 110e3),
    "lnsp": Field(("lnsp", "logarithm_of_surface_pressure", "var152"), 10.3, 11.7),
    "t2m": Field(("t2m", "2t", "2m_temperature", "var167"), 150.0, 350.0),
    "u10": Field(("u10", "10u", "10m_u_component_of_wind", "var165"), -150.0, 150.0),
    "v10": Field(("v10", "10v", "10m_v_component_of_wind", "var166"), -150.0, 150.0),
    "blh": Field(("blh", "boundary_layer_height", "var159"), 0.0, 10e3),
    "zust": Field(("zust", "friction_velocity", "var3228003"), -0.01, 10.0),
    "tcc": Field(("tcc", "total_cloud_cover", "var164"), -0.01, 1.01),
    "lsm": Field(("lsm", "land_sea_mask", "var172"), -0.01, 1.01),
    "tp": Field(("tp", "total_precipitation", "var228"), -0.001, 1.0),
    "e": Field(("e", "evaporation", "var182"), -0.1, 0.1),
    "ssrd": Field(("ssrd", "surface_solar_radiation_downwards", "var169"), -1e4, 1e7),
    "sshf": Field(("sshf", "surface_sensible_heat_flux", "var146"), -1e7, 1e7),
}
"""Short name of the current ERA5 documentation -> field."""

NAME_OF_ALIAS: Mapping[str, str] = {alias: name for name, field in FIELDS.items() for alias in field.aliases}

DIMENSIONS: Mapping[str, str] = {
    "time": "time",
    "valid_time": "time",
    "latitude": "latitude",
    "lat": "latitude",
    "longitude": "longitude",
    "lon": "longitude",
    "level": "level",
    "lev": "level",
    "plev": "level",
    "pressure_level": "level",
    "isobaricInhPa": "level",
    "model_level": "level",
    "hybrid": "level",
    "ml": "level",
}
"""Dimension names of GRIB converters and of the Climate Data Store, old and new -> the reader's."""

MODEL_LEVEL_NAMES = frozenset({"model_level", "hybrid", "ml"})
PRESSURE_LEVEL_NAMES = frozenset({"pressure_level", "isobaricInhPa", "plev"})
PASCALS_PER_UNIT: Mapping[str, float] = {
    "pa": 1.0,
    "hpa": 100.0,
    "millibars": 100.0,
    "millibar": 100.0,
    "mbar": 100.0,
    "mb": 100.0,
}
