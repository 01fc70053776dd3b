"""Common names of chemical species, by which messages suggest the name that a mechanism uses."""

from collections.abc import Collection
from types import MappingProxyType
from typing import Final

COMMON_NAMES: Final = MappingProxyType(
    {
        "acetaldehyde": ("CH3CHO", "ALD2"),
        "ammonia": ("NH3",),
        "carbon monoxide": ("CO",),
        "dinitrogen pentoxide": ("N2O5",),
        "ethane": ("C2H6", "ETHA"),
        "ethene": ("C2H4", "ETH"),
        "formaldehyde": ("HCHO", "CH2O", "FORM"),
        "hydrogen": ("H2",),
        "hydrogen peroxide": ("H2O2",),
        "hydroperoxyl": ("HO2",),
        "hydroxyl": ("OH", "HO"),
        "isoprene": ("ISOPRE", "ISOP", "C5H8", "ISO"),
        "methane": ("CH4",),
        "methanol": ("CH3OH", "MEOH"),
        "nitric acid": ("HNO3",),
        "nitric oxide": ("NO",),
        "nitrogen dioxide": ("NO2",),
        "nitrogen monoxide": ("NO",),
        "nitrogen oxides": ("NOx",),
        "nitrous acid": ("HONO",),
        "ozone": ("O3",),
        "peroxyacetyl nitrate": ("PAN",),
        "propene": ("C3H6",),
        "sulfate": ("SO4", "SA", "SULF"),
        "sulfur dioxide": ("SO2",),
        "sulfur oxides": ("SOx",),
        "sulfuric acid": ("H2SO4", "SA", "SULF"),
        "volatile organic compounds": ("NMVOC", "VOC"),
    }
)
"""Names of species in mechanisms and inventories by their common names, the most usual first."""


def formula_of(name: str, known: Collection[str]) -> str | None:
    """Return the known species that has a common name: O3 for "ozone"; None where there is none.

    Underscores and hyphens count as spaces, "sulphur" as "sulfur", and "radical" may follow.
    """
    plain = " ".join(name.casefold().replace("_", " ").replace("-", " ").split())
    plain = plain.replace("sulph", "sulf").removesuffix(" radical")
    return next((each for each in COMMON_NAMES.get(plain, ()) if each in known), None)
