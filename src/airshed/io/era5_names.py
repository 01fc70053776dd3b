"""The names that ERA5 files use, and the values that their fields can take."""

import re
from collections.abc import Mapping
from typing import NamedTuple


class Field(NamedTuple):
    """A field of ERA5: what it is called, and the range that its values lie in, in its unit, that of ERA5."""

    aliases: tuple[str, ...]
    low: float
    high: float
    unit: str


FIELDS: Mapping[str, Field] = {
    "u": Field(("u", "u_component_of_wind", "var131"), -150.0, 150.0, "m s-1"),
    "v": Field(("v", "v_component_of_wind", "var132"), -150.0, 150.0, "m s-1"),
    "t": Field(("t", "temperature", "var130"), 150.0, 350.0, "K"),
    "q": Field(("q", "specific_humidity", "var133"), -0.001, 0.1, "kg kg-1"),
    "z": Field(("z", "geopotential", "var129"), -2e4, 8e5, "m2 s-2"),
    "cc": Field(("cc", "fraction_of_cloud_cover"), -0.01, 1.01, "1"),
    "clwc": Field(("clwc", "specific_cloud_liquid_water_content", "var246"), -1e-6, 0.05, "kg kg-1"),
    "sp": Field(("sp", "surface_pressure", "var134"), 30e3, 110e3, "Pa"),
    "lnsp": Field(("lnsp", "logarithm_of_surface_pressure", "var152"), 10.3, 11.7, "1"),
    "t2m": Field(("t2m", "2t", "2m_temperature", "var167"), 150.0, 350.0, "K"),
    "u10": Field(("u10", "10u", "10m_u_component_of_wind", "var165"), -150.0, 150.0, "m s-1"),
    "v10": Field(("v10", "10v", "10m_v_component_of_wind", "var166"), -150.0, 150.0, "m s-1"),
    "blh": Field(("blh", "boundary_layer_height", "var159"), 0.0, 10e3, "m"),
    "zust": Field(("zust", "friction_velocity", "var3228003"), -0.01, 10.0, "m s-1"),
    "tcc": Field(("tcc", "total_cloud_cover", "var164"), -0.01, 1.01, "1"),
    "lsm": Field(("lsm", "land_sea_mask", "var172"), -0.01, 1.01, "1"),
    "tp": Field(("tp", "total_precipitation", "var228"), -0.001, 1.0, "m"),
    "e": Field(("e", "evaporation", "var182"), -0.2, 0.1, "m"),
    "ssrd": Field(("ssrd", "surface_solar_radiation_downwards", "var169"), -1e5, 1e9, "J m-2"),
    "sshf": Field(("sshf", "surface_sensible_heat_flux", "var146"), -1e9, 1e9, "J m-2"),
}
"""Short name of the current ERA5 documentation -> field. Sums may grow over the ten days of a forecast."""

ALSO: Mapping[str, Mapping[str, float]] = {"tp": {"kg/m2": 1e-3}, "e": {"kg/m2": 1e-3}}
"""Units of another dimension that converters write -> what one of them is in the field's: 1 kg/m2 of water is 1 mm."""

NAME_OF_ALIAS: Mapping[str, str] = {alias: name for name, field in FIELDS.items() for alias in field.aliases}

DIMENSIONS: Mapping[str, str] = {
    "time": "time",
    "valid_time": "time",
    "step": "time",
    "latitude": "latitude",
    "lat": "latitude",
    "longitude": "longitude",
    "lon": "longitude",
    "level": "level",
    "lev": "level",
    "plev": "level",
    "pressure_level": "level",
    "isobaricInhPa": "level",
    "level_hPa": "level",
    "model_level": "level",
    "hybrid": "level",
    "ml": "level",
}
"""Dimension names of GRIB converters and of the Climate Data Store, old and new -> the reader's."""

MODEL_LEVEL_NAMES = frozenset({"model_level", "hybrid", "ml"})
PRESSURE_LEVEL_NAMES = frozenset({"pressure_level", "isobaricInhPa", "level_hPa", "plev"})

_NUMBERED = re.compile(r"(.+?)_[0-9]+")


def stem(name: str) -> str:
    """Return the name of a variable or dimension without the number that CDO puts behind the second of a name: u_2."""
    found = _NUMBERED.fullmatch(name)
    return found[1] if found else name


def dimension(name: str) -> str | None:
    """Return the reader's name of a dimension, None for one that ERA5 does not have."""
    return DIMENSIONS.get(name) or DIMENSIONS.get(stem(name))
