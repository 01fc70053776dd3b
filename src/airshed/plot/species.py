"""How species are called and how much a mole of them weighs, for pictures of files that do not say so themselves."""

from dataclasses import dataclass
from types import MappingProxyType


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
