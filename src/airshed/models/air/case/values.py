"""The values that settings of an air case hold: quantities in their ranges, factors, places.

A range is what a case can mean at all: its ends lie beyond any weather, and before overflow and endless runs.
"""

from typing import Annotated, Final

from pydantic import AfterValidator, Field

from airshed.case.values import some
from airshed.core.settings import KEY, Number, Whole, measured, refuse
from airshed.core.units import Quantity

Pause = Annotated[Quantity, measured("s", least="1 s", most="10 year", or_zero=True)]
Moment = Annotated[Quantity, measured("s", least="-1000 year", most="1000 year")]
SpinUp = Annotated[Quantity, measured("s", least="1 s", most="10 year", or_zero=True)]
Step = Annotated[Quantity, measured("s", least="1 ms", most="1 day")]
Turn = Annotated[Quantity, measured("s", least="1 min", most="1000 year", or_negative=True)]
Height = Annotated[Quantity, measured("m", least="0.1 m", most="100 km")]
Release = Annotated[Quantity, measured("m", least=0.0, most="100 km")]
Angle = Annotated[Quantity, measured("deg", least="1e-5 deg", most="360 deg")]
Speed = Annotated[Quantity, measured("m/s", least="-1000 m/s", most="1000 m/s")]
Temperature = Annotated[Quantity, measured("K", least="150 K", most="500 K")]
Pressure = Annotated[Quantity, measured("Pa", least="200 hPa", most="1500 hPa")]
Diffusivity = Annotated[Quantity, measured("m2/s", least=0.0, most="5e4 m2/s")]
DepositionVelocity = Annotated[Quantity, measured("m/s", least=0.0, most="10 m/s")]
MixingRatio = Annotated[Quantity, measured("mol/mol", least=0.0, most=1.0)]
Vapour = Annotated[Quantity, measured("mol/mol", least=0.0, most="0.1 mol/mol")]
Rain = Annotated[Quantity, measured("m/s", least=0.0, most="1 m/h")]
CloudWater = Annotated[Quantity, measured("kg/kg", least=0.0, most="0.05 kg/kg")]
EmissionRate = Annotated[Quantity, measured("kg/s", "mol/s", least=0.0, most=("1e8 kg/s", "1e10 mol/s"))]
EmissionFlux = Annotated[Quantity, measured("kg/m2/s", "mol/m2/s", least=0.0, most=("1 kg/m2/s", "100 mol/m2/s"))]
Tolerance = Annotated[Quantity, measured("molecules/cm3", least="1e-30 molecules/cm3", most="1e20 molecules/cm3")]
Memory = Annotated[Quantity, measured("B", least="1 MiB", most="1e6 TiB")]
Disk = Annotated[Quantity, measured("B", least=0.0, most="1e6 TiB")]
Factor = Annotated[Number, Field(ge=0.0, le=1e6)]
Longitude = Annotated[Number, Field(ge=-180.0, le=540.0)]
"""A place has the same longitude a turn further; areas that cross 180 or 360 are 175 to 190 or 350 to 370."""
Latitude = Annotated[Number, Field(ge=-90.0, le=90.0)]
Layer = Annotated[Whole, Field(ge=0, le=999)]
Ranks = Annotated[Whole, Field(ge=0, le=1_000_000)]
Tiles = Annotated[Whole, Field(ge=1, le=1_000_000)]

MOST_CELLS: Final = 1e9
"""Cells of a grid: of 66 species they are half a terabyte, more than any machine holds."""


def _range(value: tuple[float, float]) -> tuple[float, float]:
    if value[0] >= value[1]:
        raise refuse(f"{KEY} = {list(value)} must run from the smaller to the larger: [west, east] or [south, north]")
    return value


Longitudes = Annotated[tuple[Longitude, Longitude], AfterValidator(_range)]
Latitudes = Annotated[tuple[Latitude, Latitude], AfterValidator(_range)]
Levels = Annotated[tuple[Layer, ...], AfterValidator(some)]
