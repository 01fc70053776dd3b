"""Units of air quality with the molar masses of common species; dates, hours, degrees and heights in words."""

import re
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from airshed.core.arrays import Array
from airshed.core.constants import GAS_CONSTANT

MIXING_RATIO_UNITS = frozenset({"mol mol-1", "mol/mol", "mole mole-1"})
"""Spellings of the unit of a mixing ratio in CF files."""


_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def mass_concentration(mixing_ratio: Array, molar_mass: float, pressure: Array, temperature: Array) -> Array:
    """Return the mass of a gas in a volume of air,  c = q M p / (R T)  [kg m-3].

    reads  mixing_ratio [mol/mol], molar_mass [kg/mol], pressure [Pa], temperature [K], of shapes that broadcast
    """
    return np.asarray(mixing_ratio * (molar_mass / GAS_CONSTANT) * pressure / temperature)


@dataclass(frozen=True)
class Unit:
    """Unit for display: its label, and the factor from SI values."""

    label: str
    factor: float


def written(unit: str) -> str:
    """Return a unit of a CF file as it is printed: "kg ha-1" as "kg ha⁻¹"."""
    return re.sub(r"(?<=[A-Za-zµ%])(-?\d+)\b", lambda power: power[1].translate(_RAISED), unit)


def mass_unit(largest: float) -> Unit:
    """Return µg/m³, or a neighbour of it where numbers [kg m-3] up to `largest` would have many zeros."""
    if largest >= 0.1:
        return Unit("g/m³", 1e3)
    if largest >= 1e-4:
        return Unit("mg/m³", 1e6)
    if largest >= 2e-11 or largest <= 0:
        return Unit("µg/m³", 1e9)
    return Unit("ng/m³", 1e12) if largest >= 2e-14 else Unit("pg/m³", 1e15)


def mixing_ratio_unit(largest: float) -> Unit:
    """Return ppb, or a neighbour of it where mixing ratios [mol/mol] up to `largest` would have many zeros."""
    if largest >= 1e-3:
        return Unit("mol/mol", 1.0)
    if largest >= 1e-5:
        return Unit("ppm", 1e6)
    return Unit("ppb", 1e9) if largest >= 2e-11 or largest <= 0 else Unit("ppt", 1e12)


@dataclass(frozen=True)
class Species:
    """A common species: its name in words, its formula as printed, and its molar mass [kg/mol]."""

    name: str
    formula: str
    molar_mass: float


COMMON = MappingProxyType(
    {
        "O3": Species("Ozone", "O₃", 47.998e-3),
        "NO2": Species("Nitrogen dioxide", "NO₂", 46.006e-3),
        "NO": Species("Nitric oxide", "NO", 30.006e-3),
        "CO": Species("Carbon monoxide", "CO", 28.010e-3),
        "SO2": Species("Sulphur dioxide", "SO₂", 64.064e-3),
        "NH3": Species("Ammonia", "NH₃", 17.031e-3),
        "HNO3": Species("Nitric acid", "HNO₃", 63.012e-3),
        "H2O2": Species("Hydrogen peroxide", "H₂O₂", 34.015e-3),
        "CH4": Species("Methane", "CH₄", 16.043e-3),
        "HCHO": Species("Formaldehyde", "HCHO", 30.026e-3),
        "C5H8": Species("Isoprene", "C₅H₈", 68.117e-3),
        "PAN": Species("Peroxyacetyl nitrate", "PAN", 121.048e-3),
        "OH": Species("Hydroxyl radical", "OH", 17.007e-3),
        "HO2": Species("Hydroperoxyl radical", "HO₂", 33.007e-3),
    }
)
"""By variable name; molar masses from the IUPAC 2021 standard atomic weights. A file's own `molar_mass` comes first."""


DAILY = frozenset(
    {"growth", "rain", "runoff", "drainage", "soil_evaporation", "transpiration", "tree_water_use", "detachment"}
)
"""Fields of pasture that are amounts of a day."""


def formula(name: str) -> str:
    """Return the formula of a species as it is printed: "O₃" for "O3"; another name unchanged."""
    return COMMON[name].formula if name in COMMON else name


# Dates, hours, degrees and heights in words, whatever the locale.


_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


def date(time: np.datetime64) -> str:
    """Return a date such as "31 August 2022"."""
    year, month, day = str(time.astype("datetime64[D]")).rsplit("-", 2)
    return f"{int(day)} {_MONTHS[int(month) - 1]} {year}"


def short_date(time: np.datetime64) -> str:
    """Return a date such as "31 Aug"."""
    day, month, _ = date(time).split(" ")
    return f"{day} {month[:3]}"


def clock(time: np.datetime64) -> str:
    """Return an hour such as "15:00"."""
    return str(time.astype("datetime64[m]")).split("T")[1]


def daily(times: NDArray[np.datetime64]) -> bool:
    """Return whether a run was written once a day or less often, so that hours and nights mean nothing."""
    return times.size > 1 and bool(np.diff(times).min() >= np.timedelta64(1, "D"))


def longitude(value: float) -> str:
    """Return a longitude such as "5°E", whatever turn it is counted in."""
    turned = (value + 180) % 360 - 180
    side = "" if turned in (0, -180) else "E" if turned > 0 else "W"
    return f"{abs(turned):.6g}°{side}"


def latitude(value: float) -> str:
    """Return a latitude such as "52.5°N"."""
    return f"{abs(value):.6g}°{'' if value == 0 else 'N' if value > 0 else 'S'}"


def height(metres: float) -> str:
    """Return a height such as "20 m" or "1.5 km"."""
    return f"{metres:.3g} m" if metres < 1000 else f"{metres / 1000:.3g} km"
